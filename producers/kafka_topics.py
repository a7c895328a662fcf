"""The topics on the brokers: made once, on purpose, with explicit settings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import NoError, TopicAlreadyExistsError, for_code

from mnemolog.producers.kafka_client import ClientSettings
from mnemolog.schemas.errors import LogError
from mnemolog.schemas.topics import DEFAULT_PARTITIONS, MEMORIES, TOPIC_NAMES, TOPICS, TopicSpec

_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class TopicsReport:
    """What `create_topics` made and found.

    `other_partitions` names topics with another number of partitions than asked, `other_settings` those whose
    settings could lose events (topic → setting → what it is now).
    """

    created: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    other_partitions: Mapping[str, int] = field(default_factory=dict)
    other_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether mnemolog can use the topics as they are."""
        return not self.other_partitions and not self.other_settings


def create_topics(
    bootstrap: str | Sequence[str],
    partitions: int = DEFAULT_PARTITIONS,
    replication: int = 1,
    *,
    timeout_seconds: float = 30.0,
    options: Mapping[str, Any] | None = None,
) -> TopicsReport:
    """Make the topics that are missing; change nothing that is there.

    Raises:
        LogUnavailableError: no broker answers.
        LogError: a broker refused a topic.
    """
    settings = ClientSettings(bootstrap, timeout_seconds, options or {})
    admin = settings.make(KafkaAdminClient, request_timeout_ms=settings.timeout_ms)
    try:
        with settings.translated():
            created = _create(admin, partitions, replication)
            return _report(admin, created, partitions)
    finally:
        admin.close()


def recreate_topics(
    bootstrap: str | Sequence[str], partitions: int, *, timeout_seconds: float = 30.0
) -> TopicsReport:
    """Throw all topics away with what is in them, and make them anew, with the copies and settings they had.

    Raises:
        LogUnavailableError: no broker answers.
        LogError: a broker refused, or did not finish in time.
    """
    settings = ClientSettings(bootstrap, timeout_seconds, {})
    admin = settings.make(KafkaAdminClient, request_timeout_ms=settings.timeout_ms)
    try:
        with settings.translated():
            found = sorted(_describe(admin, TOPIC_NAMES))
            copies = len(admin.describe_topics([MEMORIES])[0]["partitions"][0]["replica_nodes"])
            kept = _settings(admin, "modified")
            admin.delete_topics(found)
            _wait_until_gone(admin, timeout_seconds)
            return _report(admin, _create(admin, partitions, copies, kept), partitions)
    finally:
        admin.close()


def _wait_until_gone(admin: Any, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    while left := sorted(_describe(admin, TOPIC_NAMES)):
        if time.monotonic() > deadline:
            raise LogError(f"after {timeout_seconds:g} s the brokers still have {', '.join(left)}")
        time.sleep(_LOOK_SECONDS)


def describe_topics(settings: ClientSettings, topics: Iterable[str]) -> dict[str, int]:
    """Those of `topics` that exist, with their numbers of partitions."""
    admin = settings.make(KafkaAdminClient, request_timeout_ms=settings.timeout_ms)
    try:
        with settings.translated():
            return _describe(admin, topics)
    finally:
        admin.close()


def _describe(admin: Any, topics: Iterable[str]) -> dict[str, int]:
    found = admin.describe_topics(sorted(topics))
    return {
        topic["name"]: len(topic["partitions"]) for topic in found if for_code(topic["error_code"]) is NoError
    }


def _create(
    admin: Any, partitions: int, replication: int, kept: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[str, ...]:
    missing = sorted(TOPIC_NAMES - set(_describe(admin, TOPIC_NAMES)))
    if not missing:
        return ()
    own = kept or {}
    wanted = {
        spec.name: _creation(spec, partitions, replication, own.get(spec.name, {}))
        for spec in TOPICS
        if spec.name in missing
    }
    answer = admin.create_topics(wanted, raise_errors=False)
    admin.wait_for_topics([name for name in missing if _was_made(answer, name)])
    return tuple(name for name in missing if _was_made(answer, name))


def _creation(spec: TopicSpec, partitions: int, replication: int, own: Mapping[str, str]) -> dict[str, Any]:
    safe = {"min.insync.replicas": "2"} if replication > 2 else {}
    return {
        "num_partitions": partitions,
        "replication_factor": replication,
        "configs": {**safe, **own, **spec.config},
    }


def _was_made(answer: Mapping[str, Any], name: str) -> bool:
    (topic,) = (topic for topic in answer["topics"] if topic["name"] == name)
    error = for_code(topic["error_code"])
    if error not in (NoError, TopicAlreadyExistsError):
        raise LogError(f"the broker refused the topic {name}: {topic['error_message'] or error.__name__}")
    return error is NoError


def _report(admin: Any, created: tuple[str, ...], partitions: int) -> TopicsReport:
    counts = _describe(admin, TOPIC_NAMES)
    return TopicsReport(
        created=created,
        found=tuple(sorted(TOPIC_NAMES - set(created))),
        other_partitions={name: count for name, count in sorted(counts.items()) if count != partitions},
        other_settings=_other_settings(admin),
    )


def _other_settings(admin: Any) -> dict[str, dict[str, str]]:
    described = _settings(admin, "all")
    differences = {spec.name: _difference(described[spec.name], spec) for spec in TOPICS}
    return {name: found for name, found in differences.items() if found}


def _settings(admin: Any, which: str) -> dict[str, dict[str, str]]:
    """Topic → setting → value."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, spec.name) for spec in TOPICS]
    described = admin.describe_configs(resources, config_filter=which)["topic"]
    return {
        topic: {key: one["value"] for key, one in settings.items()} for topic, settings in described.items()
    }


def _difference(described: Mapping[str, str], spec: TopicSpec) -> dict[str, str]:
    return {key: described[key] for key, value in spec.config.items() if described[key] != value}
