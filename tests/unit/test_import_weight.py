"""Parts that stand alone stay light: what they import, and how long it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

PROBE = """
import json, sys, time
start = time.process_time()
{code}
spent = time.process_time() - start
print(json.dumps([spent, sorted(name.split('.')[0] for name in sys.modules)]))
"""
MOST_SECONDS = 0.3
HEAVY = {"lancedb", "lance", "faust", "numpy", "pyarrow", "onnxruntime", "tokenizers", "kafka"}


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Bytecode is kept for the next run, as it is where programs are installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


def probe(code: str) -> tuple[float, set[str]]:
    """Run `code` in a fresh interpreter: processor seconds, and the top modules loaded."""
    command = [sys.executable, "-c", PROBE.format(code=code)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    spent, modules = json.loads(found.stdout)
    return spent, set(modules)


def test_a_program_that_only_writes_stays_light() -> None:
    runs = [probe("from mnemolog.producers import MemoryProducer") for _ in range(7)]
    assert not runs[0][1] & HEAVY
    assert min(spent for spent, _ in runs) <= MOST_SECONDS


def test_writing_to_the_embedded_log_stays_light(tmp_path: object) -> None:
    code = f"""
from mnemolog.producers import MemoryProducer
with MemoryProducer.open({str(tmp_path)!r}) as producer:
    producer.remember("text")
"""
    assert not probe(code)[1] & HEAVY


def test_the_query_library_needs_no_broker() -> None:
    assert not probe("import mnemolog.query.queries, mnemolog.query.reader")[1] & {
        "kafka",
        "aiokafka",
        "faust",
    }


def test_the_facade_opens_without_kafka(tmp_path: object) -> None:
    code = f"""
import mnemolog
with mnemolog.open({str(tmp_path)!r}, embedder="none") as memory:
    memory.recall("x")
"""
    assert not probe(code)[1] & {"kafka", "aiokafka", "faust", "onnxruntime"}
