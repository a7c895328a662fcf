"""An adapter whose package is not installed says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ADAPTERS = [
    ("mcp_server", "mcp", "mcp"),
    ("langgraph_store", "langgraph", "langgraph"),
    ("langgraph_saver", "langgraph", "langgraph"),
    ("langchain_cache", "langchain_core", "langchain"),
    ("openai_agents", "agents", "openai-agents"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ("llamaindex_block", "llama_index", "llamaindex"),
]
FRAMEWORKS = {"langchain_core", "langgraph", "agents", "openai", "pydantic_ai", "llama_index", "mcp"}


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


def test_the_facade_loads_no_framework(tmp_path: Path) -> None:
    code = f"""
import sys
import mnemolog, mnemolog.async_memory, mnemolog.adapters
with mnemolog.open({str(tmp_path)!r}, embedder="none") as memory:
    memory.cache.llm.store({{"model": "m"}}, "x")
print(*{{name.split(".")[0] for name in sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "mnemolog" in done.stdout.split()
    assert not FRAMEWORKS & set(done.stdout.split())
