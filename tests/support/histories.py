"""Histories: events of a few colliding ids, keys and texts in three namespaces, and bad records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeAlias

from hypothesis import strategies as st

from mnemolog.schemas import events as ev
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import Event
from mnemolog.schemas.facts import digest_of
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record, StoredRecord
from mnemolog.schemas.topics import FEEDBACK, MEMORIES

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NAMESPACES = [("acme", "alice"), ("acme", "bob"), ("acme",)]
IDS = ["a", "b", "c", "O'Brien"]
TEXTS = ["tea", "tea and coffee", "咖啡", "tea?"]
KEYS = [None, "k", "k", "k", "l"]
TAGS = ["x", "y"]
FILTERS: list[dict[str, Any]] = [
    {},
    {"superseded": True},
    {"tags": {"contains": "x"}},
    {"importance": {"gte": 0.5}},
    {"NOT": {"text": {"contains": "tea"}}},
    {"metadata.n": 1},
    {"key": {"exists": True}, "OR": [{"text": "tea"}, {"tags": []}]},
    {"expires_at": {"exists": True}},
    {"subject": "Al"},
    {"OR": [{"reward": {"lt": 0}}, {"confidence": {"lte": 0.5}}]},
]
DETAILS: list[dict[str, Any] | None] = [
    {"form": "triple", "subject": "Al", "predicate": "drinks", "object": "tea", "confidence": 0.5},
    {"form": "triple", "subject": "Al", "predicate": "drinks", "object": "咖啡"},
    {"form": "reflection", "content": "tea", "lesson": "ask", "source_episode": "a"},
    {"form": "reward", "state": "thirsty", "action": "drink", "reward": -1, "next_state": "awake"},
    {"form": "episode", "outcome": "success"},
    *[None] * 5,
]

TEA = digest_of("tea")
FITTED = {"feature_set": st.just("1"), "evidence": st.just(3), "gain": st.just(0.1)}


@dataclass(frozen=True)
class Bad:
    """A record in `topics` that no fold can apply."""

    value: bytes | None
    key: bytes | None = b"acme"
    topics: tuple[str, ...] = (MEMORIES, FEEDBACK)


BAD = [
    Bad(None),
    Bad(b"\xff not json"),
    Bad(b"[]"),
    Bad(b"{}", key=None),
    Bad(b'{"type":"FromTheFuture","event_id":"e","namespace":["acme"]}'),
    Bad(b'{"type":"MemoryForgotten","event_id":"e","namespace":["other"],"memory_ids":["a"]}'),
    Bad(
        b'{"type":"ScopeForgotten","event_id":"bad","schema_version":1,"namespace":["acme"],'
        b'"occurred_at":"2026-01-01T00:00:00Z","filter":{"nonsense":1}}'
    ),
]

Step: TypeAlias = "Event | Bad"


def _times() -> st.SearchStrategy[datetime]:
    return st.integers(-5, 60).map(lambda seconds: START + seconds * SECOND)


def _some(values: Sequence[str], least: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=2, unique=True)


def _drafts() -> st.SearchStrategy[tuple[type[ev.Envelope], dict[str, Any]]]:
    """An event's class and its fields but for its id."""
    relations = st.sampled_from(["related", "causes"])
    ids, recalls = st.sampled_from(IDS), st.sampled_from([None, "r", "q"])
    remembered = {
        "memory_id": ids,
        "text": st.sampled_from(TEXTS),
        "key": st.sampled_from(KEYS),
        "touch": st.booleans(),
        "tags": _some(TAGS),
        "importance": st.sampled_from([None, 0.2, 0.8]),
        "metadata": st.sampled_from([{}, {"n": 1}]),
        "expires_at": st.one_of(st.none(), st.none(), st.none(), _times()),
        "author": st.sampled_from([None, "Al"]),
        "detail": st.sampled_from(DETAILS),
        "sources": st.sampled_from([[], [], ["b", "c"]]),
        "valid_from": st.sampled_from([None, START]),
        "valid_to": st.sampled_from([None, START + SECOND]),
    }
    changes: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
        [
            {"text": "tea"},
            {"text": "mate"},
            {"tags": []},
            {"importance": None},
            {"author": None, "tags": ["y"]},
            {"detail": DETAILS[0], "valid_from": START},
            {"detail": None},
        ]
    )
    served = {
        "query_type": st.sampled_from(["when", "other"]),
        "shown": st.lists(_shown(), max_size=3, unique_by=lambda one: one["id"]),
    }
    derived = {"read": _read(), "made_by": st.just({"extractor": "x"})}
    runs = st.sampled_from([None, None, {"previous": None}, {"previous": "e1"}, {"failed": ["a"]}])
    asserted = {"facts": st.lists(_found(), max_size=2), "run": runs, **derived}
    graded = st.dictionaries(ids, st.sampled_from([0.0, 0.3, 1.0]), max_size=2)
    weights = st.lists(st.sampled_from([0.0, 1.5]), max_size=2)
    evicted = {
        "memory_ids": _some(IDS, 1),
        "rule": st.sampled_from(["capacity", "near_duplicate"]),
        "kept": ids,
        "previous": st.sampled_from(["last", "last", "e0"]),
        "revisions": st.just({}),
    }
    kinds: list[tuple[int, type[ev.Envelope], dict[str, Any]]] = [
        (9, ev.MemoryRemembered, remembered),
        (2, ev.MemoryUpdated, {"memory_id": ids, "changes": changes}),
        (4, ev.MemorySuperseded, {"memory_id": ids, "by": ids}),
        (3, ev.MemoriesLinked, {"memory_id": ids, "target_id": ids, "relation": relations}),
        (1, ev.MemoriesUnlinked, {"memory_id": ids, "target_id": ids, "relation": st.none() | relations}),
        (3, ev.MemoryForgotten, {"memory_ids": _some(IDS, 1)}),
        (3, ev.MemoryEvicted, evicted),
        (1, ev.MemoryForgotten, {"memory_ids": st.just(["a"]), "consolidated": st.just({"a": TEA})}),
        (1, ev.ScopeForgotten, {"filter": st.sampled_from(FILTERS)}),
        (5, ev.FactsAsserted, asserted),
        (2, ev.SummaryWritten, {"memory_id": st.sampled_from("sa"), "text": st.just("tea"), **derived}),
        (1, ev.ConsolidationRequested, {"memory_ids": _some(IDS, 1)}),
        (2, ev.RecallServed, {"recall_id": st.sampled_from("rq"), **served}),
        (3, ev.FeedbackGiven, {"recall_id": recalls, "used": _some(IDS), "ignored": _some(IDS)}),
        (1, ev.FeedbackGiven, {"recall_id": recalls, "ratings": graded}),
        (1, ev.ModelRefitted, {"weights": weights, "served": st.booleans()} | FITTED),
    ]
    return _weighted([(often, _draft(kind, fields)) for often, kind, fields in kinds])


def _read() -> st.SearchStrategy[list[dict[str, Any]]]:
    changes = st.sampled_from([None, "e0", "e1", "e2"])
    read = {"id": st.sampled_from(IDS), "digest": st.sampled_from([TEA, TEA, "other"]), "change": changes}
    return st.lists(st.fixed_dictionaries(read), min_size=1, max_size=2, unique_by=lambda one: one["id"])


def _found() -> st.SearchStrategy[dict[str, Any]]:
    """Facts about two subjects, under ids that collide; what no producer would write is among them."""
    found = {
        "memory_id": st.sampled_from(["f1", "f2", "f3", "b"]),
        "subject": st.sampled_from(["home", "Home", "pet"]),
        "statement": st.sampled_from(["Paris", "paris", "Rome"]),
        "said_at": _times(),
        "rank": _times().map(lambda at: f"{at.isoformat(timespec='microseconds')}|x"),
        "tombstone": st.sampled_from([False, False, True]),
        "sources": _some(IDS, 1),
    }
    return st.fixed_dictionaries(found)


def _shown() -> st.SearchStrategy[dict[str, Any]]:
    shapes = st.sampled_from([[], ["date:yes"], ["date:yes", "number:yes"]])
    features = st.sampled_from([[], [0.5, -1.0]])
    return st.fixed_dictionaries({"id": st.sampled_from(IDS), "shape": shapes, "features": features})


def _weighted(choices: Sequence[tuple[int, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
    """One of several strategies, each so often; `one_of` takes a strategy once, however often it is named."""
    numbers = [at for at, (often, _) in enumerate(choices) for _ in range(often)]
    return st.sampled_from(numbers).flatmap(lambda at: choices[at][1])


def _draft(
    kind: type[ev.Envelope], fields: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[tuple[type[ev.Envelope], dict[str, Any]]]:
    namespaces = st.sampled_from([NAMESPACES[0]] * 9 + NAMESPACES)  # most of it in one, so that it collides
    common = {"namespace": namespaces, "occurred_at": _times()}
    return st.tuples(st.just(kind), st.fixed_dictionaries({**common, **fields}))


def histories(max_size: int = 30, *, bad: bool = True) -> st.SearchStrategy[list[Step]]:
    """Events in the order of the log, each with an id of its own, and bad records between them."""
    step: st.SearchStrategy[Any] = _drafts()
    if bad:
        step = _weighted([(19, step), (1, st.sampled_from(BAD))])
    sizes = st.integers(0, max_size)  # lists alone would be of about five
    return sizes.flatmap(lambda size: st.lists(step, min_size=size, max_size=size)).map(
        lambda drafts: _decided([_finished(at, draft) for at, draft in enumerate(drafts)])
    )


def _decided(steps: list[Step]) -> list[Step]:
    """The history, its evictions decided on what the events before them said."""
    revisions: dict[tuple[Any, str], str] = {}
    last: dict[Any, str] = {}
    for at, step in enumerate(steps):
        if isinstance(step, ev.MemoryEvicted):
            known = {one: event for (name, one), event in revisions.items() if name == step.namespace}
            fits = step.previous == "last"
            previous = last.get(step.namespace) if fits else step.previous
            steps[at] = step = step.model_copy(update={"previous": previous, "revisions": known})
            if fits:
                last[step.namespace] = step.event_id
        if isinstance(memory_id := getattr(step, "memory_id", None), str):
            revisions[step.namespace, memory_id] = step.event_id  # type: ignore[union-attr]
    return steps


def quarrels_over_a_key() -> st.SearchStrategy[list[Step]]:
    """Four memories of one key, superseding each other and being forgotten."""
    ids = st.sampled_from(IDS)
    kinds = st.one_of(
        ids.map(lambda one: (ev.MemoryRemembered, {"memory_id": one, "text": one, "key": "k"})),
        st.tuples(ids, ids).map(lambda two: (ev.MemorySuperseded, {"memory_id": two[0], "by": two[1]})),
        _some(IDS, 1).map(lambda some: (ev.MemoryForgotten, {"memory_ids": some})),
    )
    common = {"namespace": NAMESPACES[0], "occurred_at": START}
    return (
        st.integers(4, 16)
        .flatmap(lambda size: st.lists(kinds, min_size=size, max_size=size))
        .map(lambda drafts: [_finished(at, (kind, common | own)) for at, (kind, own) in enumerate(drafts)])
    )


def _finished(at: int, draft: Any) -> Step:
    if isinstance(draft, Bad):
        return draft
    kind, fields = draft
    return kind(event_id=f"e{at}", **fields)  # type: ignore[no-any-return]


def to_records(steps: Sequence[Step]) -> list[Record]:
    """The records of a history, stamped a second apart; bad ones stand in both topics."""
    found: list[Record] = []
    for at, step in enumerate(steps):
        stamp = int((START + at * SECOND).timestamp() * 1000)
        if isinstance(step, Bad):
            found += [Record(topic, step.key or b"", step.value, (), stamp) for topic in step.topics]
        else:
            found += [Record(one.topic, one.key, one.value, one.headers, stamp) for one in encode(step)]
    return found


def to_stored(steps: Sequence[Step]) -> dict[str, list[StoredRecord]]:
    """Topic → the records of a history as a log of one partition has them."""
    logs: dict[str, list[StoredRecord]] = {MEMORIES: [], FEEDBACK: []}
    for record in to_records(steps):
        log = logs[record.topic]
        at = Position(record.topic, 0, len(log))
        log.append(StoredRecord(at, record.timestamp or 0, record.key or None, record.value, record.headers))
    return logs


def written(first: int) -> Iterator[tuple[str, int]]:
    """What a program does for ever: (verb, number of a memory), numbers from `first` on."""
    for number in count(first):
        yield "remember", number
        if number % 4 == 1:
            yield "update", number
        if number % 4 == 3:
            yield "forget", number - 1
