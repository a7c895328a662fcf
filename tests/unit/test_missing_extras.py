"""An adapter whose package is not installed says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

ADAPTERS = [("mcp_server", "mcp", "mcp"), ("langgraph_store", "langgraph", "langgraph")]


@pytest.mark.parametrize(("module", "package", "extra"), ADAPTERS)
def test_without_its_extra_an_adapter_says_what_to_install(module: str, package: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
from mnemolog import MnemologError
try:
    import mnemolog.adapters.{module}
except MnemologError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f'pip install "mnemolog[{extra}]"\n')
