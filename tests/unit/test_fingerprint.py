"""What names a memory's content is the hash of its JSON, however that is put together."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.folding import START, remember
from support.properties import examples

from mnemolog.processors.folds.memory_content import content, fingerprint
from mnemolog.schemas.details import columns_of
from mnemolog.schemas.rows import Row

LABELS = st.text(min_size=1, max_size=8).filter(lambda value: value.isprintable() and value.strip() != "")
TIMES = st.integers(0, 10**6).map(
    lambda seconds: START + timedelta(seconds=seconds, microseconds=seconds % 7)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "kind": LABELS,
    "importance": st.floats(0, 1) | st.none(),
    "key": LABELS | st.none(),
    "author": LABELS | st.none(),
    "source": LABELS | st.none(),
    "pinned": st.booleans(),
    "expires_at": TIMES | st.none(),
    "valid_from": TIMES | st.none(),
    "tags": st.lists(LABELS, max_size=3),
    "sources": st.lists(LABELS, max_size=2),
    "metadata": st.dictionaries(LABELS, st.integers(0, 9) | LABELS | st.none(), max_size=3),
    "detail": st.none()
    | st.fixed_dictionaries(
        {"form": st.just("triple"), "subject": LABELS, "predicate": LABELS, "object": LABELS}
    ),
}


def as_json(told: Row) -> str:
    """All of a content but when it expires, as JSON that is the same for equal contents."""
    named = {**told, "expires_at": None}
    for name in ("valid_from", "valid_to"):
        named[name] = None if told[name] is None else told[name].isoformat()
    return json.dumps(named, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@examples(80)
@given(text=TEXTS, fields=st.fixed_dictionaries({}, optional=FIELDS))
def test_a_fingerprint_is_the_hash_of_the_content_as_json(text: str, fields: dict[str, Any]) -> None:
    event = remember("a", text, **fields)
    told = content(event)
    whole = as_json(told | columns_of(event.detail))
    assert fingerprint(event, told) == hashlib.sha256(whole.encode()).hexdigest()[:32]
