"""Graphs of real tables: over flips, with more namespaces than fit, read by many threads while written."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stores import at_once

import mnemolog
from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.replay import replay
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.memory_producer import MemoryProducer
from mnemolog.query.graph_cache import GraphCache
from mnemolog.query.reader import ViewReader
from mnemolog.storage.layout import Views

HASHING = "hashing:16"


def names(memory: mnemolog.Memory) -> list[str]:
    return [entity.name for entity in memory.entities().items]


def test_a_graph_follows_a_flip_and_is_the_same_after_it(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, "a", embedder=HASHING) as memory:
        memory.know_fact("Al", "likes", "tea", id="m")
        memory.forget(memory.know_fact("Al", "likes", "rum").id)
        before = memory.neighbours("al")
        with EmbeddedLog(tmp_path / "log.sqlite") as log:
            replay(log, Views(tmp_path / "views"), HashingEmbedder(16))
        assert memory.neighbours("al") == before
        memory.know_fact("Al", "likes", "mate")
        assert names(memory) == ["Al", "mate", "tea"]


def test_more_graphs_than_fit_are_read_all_the_same(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, "a", embedder=HASHING) as memory:
        for number in range(6):
            memory.at(f"n{number}").know_fact("Al", "likes", f"drink {number}")
            assert memory.at(f"n{number}").entities().total == 2
        cache = GraphCache(ViewReader(Views(tmp_path / "views")).shard_table, max_bytes=500)
        for _ in range(2):
            for number in range(6):
                with cache.open((f"n{number}",)) as graph:
                    assert list(graph.entities("d")) == [f"drink {number}"]
        assert len(cache._entries) == 1


def test_threads_that_read_and_write_see_their_own_facts(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, "a", embedder=HASHING) as memory:

        def write(number: int) -> bool:
            memory.know_fact(f"s{number}", "p", "hub")
            return [one.node.name for one in memory.neighbours(f"s{number}")] == ["hub"]

        assert all(at_once([lambda number=number: write(number) for number in range(24)], threads=6))  # type: ignore[misc]
        assert len(memory.neighbours("hub")) == 24


@pytest.mark.parametrize("detail", [None, "line"])
def test_what_a_producer_writes_is_in_the_graph(tmp_path: Path, detail: str | None) -> None:
    with MemoryProducer.open(tmp_path, "a") as producer:
        if detail:
            lines = tmp_path / "lines.jsonl"
            triple = '{"form":"triple","subject":"Al","predicate":"likes","object":"tea"}'
            lines.write_text(f'{{"text":"Al likes tea","kind":"fact","id":"m","detail":{triple}}}\n')
            assert producer.write_jsonl(lines, strict=True).written == 1
        else:
            producer.know_fact("Al", "likes", "tea", id="m")
        producer.remember_episode("it rained", id="e")
        producer.reflect("wet", "umbrella", source_episode_id="e", id="r")
        producer.learn_procedure("p", [{"action": "a"}], id="p")
        producer.record_reward("s", "a", 1, next_state="t", id="w")
        producer.link("m", "e")
        producer.link("m", "r")
        producer.unlink("m", "r")
        producer.link("m", "never there")
    with mnemolog.open(tmp_path, "a", embedder=HASHING) as memory:
        assert names(memory) == ["Al", "tea"]
        assert [edge.target.name for edge in memory.links("m").outgoing] == ["e"]
        assert [one.node.name for one in memory.provenance("r").upstream] == ["e"]
        assert memory.list().total == 5
