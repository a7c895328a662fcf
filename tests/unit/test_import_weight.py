"""Parts that stand alone stay light: what they import, and how long it takes."""

from __future__ import annotations

import json
import subprocess
import sys

PROBE = """
import json, sys, time
start = time.perf_counter()
{code}
spent = time.perf_counter() - start
print(json.dumps([spent, sorted(name.split('.')[0] for name in sys.modules)]))
"""
MOST_SECONDS = 0.3
HEAVY = {"lancedb", "lance", "faust", "numpy", "pyarrow", "onnxruntime", "tokenizers", "kafka"}


def probe(code: str) -> tuple[float, set[str]]:
    command = [sys.executable, "-c", PROBE.format(code=code)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    spent, modules = json.loads(found.stdout)
    return spent, set(modules)


def test_a_program_that_only_writes_stays_light() -> None:
    runs = [probe("from mnemolog.producers import MemoryProducer") for _ in range(7)]
    assert not runs[0][1] & {
        "lancedb",
        "lance",
        "faust",
        "numpy",
        "pyarrow",
        "onnxruntime",
        "tokenizers",
        "kafka",
    }
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
