"""LanceDB without the HTTP client of remote catalogs: put off, and whole once somebody wants it."""

from __future__ import annotations

import subprocess
import sys

AS_EVER = """
import lance_namespace_urllib3_client as client
names = sorted(name for name in vars(client) if not name.startswith("__"))
"""
PUT_OFF = """
import sys
import mnemolog.storage.table
assert "lance_namespace_urllib3_client.api.table_api" not in sys.modules
import lance_namespace_urllib3_client as client
client.TableApi
names = sorted(name for name in vars(client) if not name.startswith("__"))
"""
LATER = """
import mnemolog.storage.table
from lance_namespace_urllib3_client import ApiClient, TableApi
from lance_namespace_urllib3_client.api.table_api import TableApi as same
assert TableApi is same and TableApi(ApiClient()) is not None
"""
EARLIER = """
import lance_namespace_urllib3_client as before
import mnemolog.storage.table, sys
assert sys.modules["lance_namespace_urllib3_client"] is before
"""


def run(code: str) -> str:
    """What `code` prints in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_the_client_is_put_off_and_then_the_same_as_ever() -> None:
    assert run(PUT_OFF + "print(names)") == run(AS_EVER + "print(names)")


def test_other_programs_can_still_import_from_the_client() -> None:
    run(LATER)


def test_a_client_that_was_imported_before_stays() -> None:
    run(EARLIER)
