"""Routing: Kafka's own partitioner, and namespaces that never meet."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_murmur2

from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.events import FeedbackGiven
from mnemolog.schemas.namespaces import decode_namespace, encode_namespace, make_namespace
from mnemolog.schemas.positions import Position, parse_position
from mnemolog.schemas.rows import event_pk, memory_pk, outcome_pk
from mnemolog.schemas.topics import TOPICS, check_topic, murmur2, partition_of

part = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(str.strip)
namespaces = st.lists(part, min_size=1, max_size=4).map(tuple)
quick = settings(max_examples=200, deadline=None, derandomize=True)


@quick
@given(st.binary(max_size=64))
def test_murmur2_is_kafkas(data: bytes) -> None:
    assert murmur2(data) == kafka_murmur2(data) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_the_values_of_kafkas_own_tests(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected & 0xFFFFFFFF


def test_partitions_are_in_range_and_stable() -> None:
    chosen = [partition_of(f"acme/{number}".encode(), 7) for number in range(500)]
    assert set(chosen) == set(range(7))
    assert chosen == [partition_of(f"acme/{number}".encode(), 7) for number in range(500)]


@quick
@given(namespaces, st.binary(max_size=16), st.integers(1, 64))
def test_the_namespace_alone_chooses_the_partition(
    namespace: tuple[str, ...], within: bytes, partitions: int
) -> None:
    key = encode_namespace(namespace).encode()
    assert partition_of(key + b"|" + within, partitions) == partition_of(key, partitions)


@quick
@given(namespaces, namespaces)
def test_two_namespaces_never_meet(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (encode_namespace(one) == encode_namespace(other)) == (one == other)
    assert decode_namespace(encode_namespace(one)) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("john_doe",), ("john-doe",)),
        (("a", "b/c"), ("a/b", "c")),
        (("a%2Fb",), ("a/b",)),
        (("a*",), ("ab",)),
        (("a", "b"), ("a/b",)),
        (("É",), ("E\u0301",)),
    ],
)
def test_namespaces_that_met_elsewhere(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert encode_namespace(one) != encode_namespace(other)


@quick
@given(namespaces, part, part)
def test_keys_of_rows_of_different_sorts_never_meet(namespace: tuple[str, ...], one: str, other: str) -> None:
    event = FeedbackGiven(event_id=other, namespace=namespace, occurred_at=datetime.now(UTC))
    keys = {memory_pk(namespace, one), outcome_pk(namespace, one, other), event_pk(event)}
    assert len(keys) == 3


@pytest.mark.parametrize(
    "bad", [(), ("",), ("  ",), ("a\n",), ("a\x00",), ("x" * 257,), tuple("a" * 17), (1,), ("\ud800",)]
)
def test_bad_namespaces_are_refused(bad: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make_namespace(bad)
    assert caught.value.field == "namespace"


def test_one_string_is_one_part() -> None:
    assert make_namespace("acme/alice") == ("acme/alice",)
    assert decode_namespace("acme/alice") == ("acme", "alice")


@pytest.mark.parametrize("token", ["", "x", "t/1", "t/a/1", "t/1/-1", "t/1/2/3", "/1/2"])
def test_bad_tokens_are_refused(token: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_position(token)


def test_a_position_is_its_token() -> None:
    at = Position("mnemolog.memories", 3, 42)
    assert parse_position(str(at)) == at == parse_position(at)


def test_topics_keep_everything() -> None:
    assert all(spec.config["retention.ms"] == "-1" for spec in TOPICS)
    assert {spec.name for spec in TOPICS if spec.compacted} == {"mnemolog.context", "mnemolog.config"}
    with pytest.raises(InvalidInputError, match="unknown topic"):
        check_topic("nope")
