"""The topics, and the one rule that routes a namespace to its partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mnemolog.schemas.errors import InvalidInputError

MEMORIES = "mnemolog.memories"
FEEDBACK = "mnemolog.feedback"
CONTEXT = "mnemolog.context"
CONFIG = "mnemolog.config"
DEADLETTERS = "mnemolog.deadletters"

DEFAULT_PARTITIONS = 4


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """How a topic is created: `compacted` keeps the last record of each key, the others keep everything."""

    name: str
    compacted: bool = False

    @property
    def config(self) -> dict[str, str]:
        """The broker's settings for this topic: kept for ever, never timed out."""
        policy = "compact" if self.compacted else "delete"
        return {"cleanup.policy": policy, "retention.ms": "-1", "retention.bytes": "-1"}


TOPICS: tuple[TopicSpec, ...] = (
    TopicSpec(MEMORIES),
    TopicSpec(FEEDBACK),
    TopicSpec(CONTEXT, compacted=True),
    TopicSpec(CONFIG, compacted=True),
    TopicSpec(DEADLETTERS),
)
TOPIC_NAMES = frozenset(spec.name for spec in TOPICS)


def check_topic(topic: str) -> str:
    """`topic`, if it is one of ours.

    Raises:
        InvalidInputError: an unknown topic.
    """
    if topic not in TOPIC_NAMES:
        raise InvalidInputError(f"unknown topic {topic!r}; there are {sorted(TOPIC_NAMES)}", field="topic")
    return topic


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a record key, by what stands before its first `|` alone: the encoded namespace.

    So a namespace has one partition and a total order, also in a compacted topic, whose keys go on to say
    what compaction keeps one record of. An encoded namespace has no `|`.
    """
    return _partition_of(key.partition(b"|")[0], partitions)


@lru_cache(maxsize=65_536)
def _partition_of(namespace: bytes, partitions: int) -> int:
    """Kafka's default partitioner, `toPositive(murmur2(key)) % partitions`.

    Source: org.apache.kafka.common.utils.Utils.murmur2.
    """
    return (murmur2(namespace) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 of `data`, as an unsigned integer."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if len(data) != whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15
