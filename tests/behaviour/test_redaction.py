"""Redaction on a handle and on a producer: what was taken out is in no view and not in the log."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
from support.stores import OpenMemory, Store, texts

from mnemolog import Memory
from mnemolog.producers.commands import Commands
from mnemolog.producers.memory_producer import MemoryProducer
from mnemolog.producers.redaction import Redactor
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.topics import TOPICS

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA3"


def logged(store: Store, mem: Memory) -> Iterator[bytes]:
    """All that the log holds of the memory's namespace."""
    log = store.log()
    try:
        for topic in TOPICS:
            for partition, end in log.end_offsets(topic.name).items():
                for record in log.read(topic.name, partition, max(end - 500, 0), 500):
                    if mem.namespace[0].encode() in (record.key or b""):
                        yield record.value or b""
    finally:
        log.close()


def test_a_secret_enters_neither_the_log_nor_a_view(store: Store) -> None:
    mem = store.open(redact="secrets")
    receipt = mem.remember(f"the token is {TOKEN}", metadata={"token": TOKEN}, id="m")
    mem.update("m", metadata={"again": [TOKEN]}, reason=f"replaced {TOKEN}")
    mem.remember_many([f"one {TOKEN}", {"text": "two", "source": f"mail with {TOKEN}"}])
    mem.set_context("token", {"value": TOKEN})
    item = mem.get("m")
    assert item is not None
    assert (item.text, item.metadata) == (
        "the token is [REDACTED:github-pat]",
        {"again": ["[REDACTED:github-pat]"]},
    )
    assert mem.get_context("token") == {"value": "[REDACTED:github-pat]"}
    found = mem.recall(f"what is {TOKEN}?", k=9)
    assert not any(TOKEN in text for text in texts(found))
    assert mem.stats()["redacted"]["github-pat"] >= 7
    mem.forget(receipt.id, reason=f"held {TOKEN}")
    mem.close()
    assert not any(TOKEN.encode() in value for value in logged(store, mem))


def test_without_it_a_text_is_kept_as_it_is(open_memory: OpenMemory) -> None:
    mem = open_memory()
    mem.remember(f"the token is {TOKEN}", id="m")
    item = mem.get("m")
    assert item is not None
    assert item.text == f"the token is {TOKEN}"
    assert mem.stats()["redacted"] == {}


def test_a_function_that_fails_appends_nothing(folder_store: Store) -> None:
    def broken(text: str) -> str:
        raise RuntimeError("no detector")

    mem = folder_store.open(redact=broken)
    before = folder_store.ends()
    with pytest.raises(InvalidInputError, match="nothing was appended"):
        mem.remember_many(["a", "b"])
    assert folder_store.ends() == before


def test_handles_on_other_namespaces_redact_too(store: Store) -> None:
    mem = store.open(redact={"pin": r"\b\d{4}\b"})
    other = mem.at((*mem.namespace, "deeper"))
    other.remember("pin 1234")
    assert texts(other.list().items) == ["pin [REDACTED:pin]"]


def test_a_producer_redacts_single_writes_batches_and_files(store: Store) -> None:
    mem = store.open()
    redactor = Redactor({"pin": r"\b\d{4}\b"})
    with MemoryProducer(store.log(), Commands(mem.namespace), redactor) as producer:
        producer.remember("single 1234")
        commands = Commands(mem.namespace)
        producer.write_batch([commands.remember("batch 1234"), commands.remember("batch 12345")])
        lines = [json.dumps({"text": "line 1234"}), commands.remember("event 1234").model_dump_json()]
        report = producer.write_jsonl(io.BytesIO("\n".join(lines).encode()))
        assert report.written == 2
        assert producer.redacted == {"pin": 4}
    for position in report.positions:
        mem.wait(position, 60)
    assert sorted(texts(mem.list().items)) == [
        "batch 12345",
        "batch [REDACTED:pin]",
        "event [REDACTED:pin]",
        "line [REDACTED:pin]",
        "single [REDACTED:pin]",
    ]
