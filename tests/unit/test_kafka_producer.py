"""What the producer tells kafka-python about a record's size, held against kafka-python's own sum."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kafka import KafkaProducer
from kafka.record.default_records import DefaultRecordBatchBuilder
from support.properties import examples

from mnemolog.producers.kafka_producer import _Producer, most_bytes

keys = st.none() | st.binary(max_size=300)
values = st.none() | st.binary(max_size=300) | st.integers(0, 3_000_000).map(bytes)
headers = st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=300)), max_size=5)


@examples(200)
@given(keys, values, headers)
def test_the_bound_of_a_records_size_holds_and_is_close(
    key: bytes | None, value: bytes | None, found: list[tuple[str, bytes]]
) -> None:
    exact = DefaultRecordBatchBuilder.estimate_size_in_bytes(key, value, found)
    names = sum(len(name) for name, _ in found)
    assert exact <= most_bytes(key, value, found) <= exact + 100 + 10 * len(found) + 4 * names


def test_kafka_python_still_asks_for_the_size() -> None:
    """What is overridden is there in the pinned release, and its `send` uses it."""
    assert "_estimate_size_in_bytes" in KafkaProducer.send.__code__.co_names
    assert _Producer._estimate_size_in_bytes is not KafkaProducer._estimate_size_in_bytes
