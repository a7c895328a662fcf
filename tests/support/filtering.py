"""Strategies for filters and for the rows that they select from, with what breaks other renderings."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from random import Random
from typing import Any

from hypothesis import strategies as st

from mnemolog.schemas.details import COLUMNS
from mnemolog.schemas.details import NUMBERS as DETAIL_NUMBERS
from mnemolog.schemas.filters import FIELDS, OPERATORS
from mnemolog.schemas.rows import MEMORY_FIELDS, Row

STRINGS = [
    "a",
    "A",
    "ab",
    "b",
    "x' OR '1'='1",
    "O'Brien",
    '"',
    "\\",
    "\\'",
    "%",
    "_",
    "é",
    "e\u0301",
    "ß",
    "中文",
]
STRINGS += ["🦊", "a\nb", "--", "acme/alice|m", "null", "true", "1", " "]
NUMBERS: list[float | int] = [
    0.0,
    0,
    1,
    1.0,
    0.5,
    0.1,
    0.30000000000000004,
    1e-7,
    1e-300,
    0.9999999999999999,
    1e30,
]
NUMBERS += [-1, -0.0, 2**53 + 1, 10**25, -1e308]
DAY = datetime(2024, 5, 1, tzinfo=UTC)
TIMES = [
    DAY,
    DAY + timedelta(hours=2),
    DAY - timedelta(microseconds=1),
    DAY + timedelta(days=1, microseconds=-1),
    DAY + timedelta(days=1),
    datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1600, 1, 1, tzinfo=UTC),
    datetime(2300, 6, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]
ZONES = [UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-11, minutes=-30))]
JSON: list[Any] = [*STRINGS[:6], "中文", 0, 1, 1.5, -2, True, False, 2**60, ""]
PATHS = ["city", "a.b", "a", "n", "list", "it's"]


def random_row(pick: Random, pk: str) -> Row:
    """A live row of the memories view under the key `pk`, with values out of the pools."""

    def maybe(pool: list[Any]) -> Any:
        return pick.choice([None, *pool]) if pick.random() < 0.7 else None

    unit = [float(number) for number in NUMBERS if 0 <= number <= 1]
    blank: Row = dict.fromkeys((field.name for field in MEMORY_FIELDS), None)
    blank |= {"pk": pk, "namespace": "acme", "deleted": False, "_off": 1, "_fill": 0, "vector": None}
    blank |= {name: pick.choice(STRINGS) for name in ("id", "text", "kind")}
    blank |= {name: maybe(STRINGS) for name in ("key", "agent_id", "thread_id", "author", "source")}
    blank |= {name: pick.choice(TIMES) for name in ("occurred_at", "recorded_at", "updated_at")}
    metadata = {path: _random_json(pick) for path in pick.sample(PATHS, pick.randint(0, 3))}
    return blank | {
        "importance": maybe(unit),
        "tags": pick.sample(STRINGS, pick.randint(0, 3)),
        "metadata": json.dumps(metadata, ensure_ascii=False),
        "pinned": pick.random() < 0.5,
        "expires_at": maybe(TIMES),
        "superseded_by": maybe(STRINGS),
        "valid_from": maybe(TIMES),
        "valid_to": maybe(TIMES),
        **{name: maybe(unit) if name in DETAIL_NUMBERS else maybe(STRINGS) for name in COLUMNS},
        "history": [],
    }


def _random_json(pick: Random) -> Any:
    plain = pick.choice([*JSON, None])
    return pick.choice([plain, [plain, pick.choice(JSON)], [], {"b": plain}, {"a": 1}])


def rows(pk: str = "pk") -> st.SearchStrategy[Row]:
    """Such a row."""
    return st.randoms(use_true_random=False).map(lambda pick: random_row(pick, pk))


def filters() -> st.SearchStrategy[dict[str, Any]]:
    """Any filter that parses, as a caller writes it."""
    return st.recursive(_conditions(), _nested, max_leaves=5)


def _conditions() -> st.SearchStrategy[dict[str, Any]]:
    fields = [*FIELDS, *(f"metadata.{path}" for path in PATHS)]
    return st.dictionaries(st.sampled_from(fields), st.none(), min_size=1, max_size=2).flatmap(
        lambda chosen: st.fixed_dictionaries({name: _condition(name) for name in chosen})
    )


def _nested(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    many = st.lists(children, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda them: {"AND": them}, many),
        st.builds(lambda them: {"or": them}, many),
        st.builds(lambda one: {"NOT": one}, children),
        st.builds(lambda one, them: {**one, "OR": them}, children, many),
    )


def _condition(name: str) -> st.SearchStrategy[Any]:
    kind = FIELDS.get(name, "json")
    operators = st.lists(st.sampled_from(sorted(OPERATORS[kind])), min_size=1, max_size=2, unique=True)
    return operators.flatmap(lambda chosen: st.fixed_dictionaries({op: _operand(kind, op) for op in chosen}))


def _operand(kind: str, op: str) -> st.SearchStrategy[Any]:
    values = VALUES[kind]
    if op == "exists":
        return st.booleans()
    if op in ("in", "nin") or (kind == "tags" and op in ("eq", "ne")):
        return st.lists(values, max_size=3)
    return st.none() | values if op in ("eq", "ne") else values


def _spellings(moment: datetime) -> list[Any]:
    """A time as callers write it: aware in any zone, naive, as text, and its day."""
    zoned: list[Any] = []
    for zone in ZONES:
        try:
            zoned.append(moment.astimezone(zone))
        except OverflowError:
            continue
    naive = moment.replace(tzinfo=None)
    days: list[Any] = [] if moment.date() == date.max else [moment.date(), moment.date().isoformat()]
    return [*zoned, naive, naive.isoformat(), *(one.isoformat() for one in zoned), *days]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from([*STRINGS, ""]),
    "tags": st.sampled_from(STRINGS),
    "number": st.sampled_from(NUMBERS),
    "bool": st.booleans(),
    "time": st.sampled_from([spelling for moment in TIMES for spelling in _spellings(moment)]),
    "json": st.sampled_from(JSON),
}
