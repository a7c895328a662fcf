"""LanceDB, imported without the HTTP client of remote catalogs.

`lancedb` needs the request models of `lance_namespace_urllib3_client`. That package's own code builds an HTTP
client beside them, which takes a second of processor time, more than all the rest of LanceDB, and which
nothing here talks to. It is put off until somebody uses it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

_CLIENT = "lance_namespace_urllib3_client"
_LOCAL_READS = 2


def put_off(name: str) -> None:
    """Let the package `name` count as imported, and run its code once somebody asks for what that defines.

    Its submodules can be imported at once. A package that is imported already, or not there, stays as it is.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    package, loader = module_from_spec(spec), spec.loader

    def run(attribute: str) -> Any:
        if vars(package).pop("__getattr__", None) is not None:
            loader.exec_module(package)
        return getattr(package, attribute)

    vars(package)["__getattr__"] = run
    sys.modules[name] = package


def read_little_at_once(root: str | Path) -> None:
    """Let this process read fewer pieces of local tables at once: 65 MiB less for a worker, and no slower.

    To be called before any table is opened. Lance's own number is 8; in an object store, where each piece
    takes long, it is 64 and stays so. With 1 Lance stands still for ever.
    """
    if "://" not in str(root):
        os.environ.setdefault("LANCE_IO_THREADS", str(_LOCAL_READS))


put_off(_CLIENT)
lancedb: Any = import_module("lancedb")
