"""The config fold: the last value of each setting, whatever compaction left of those before."""

from __future__ import annotations

from typing import Any

from hypothesis import given as having
from hypothesis import strategies as st
from support.folding import ALICE, BOB, START, View
from support.properties import examples

from mnemolog.processors.folds.config import ConfigFold
from mnemolog.schemas import events as ev
from mnemolog.schemas.codec import decode, encode
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.rows import config_pk
from mnemolog.schemas.topics import CONFIG, partition_of


def changed(
    setting: str, value: Any, namespace: tuple[str, ...] = ALICE, number: int = 0
) -> ev.ConfigChanged:
    return ev.ConfigChanged(
        event_id=f"c{number}", namespace=namespace, occurred_at=START, setting=setting, value=value
    )


def values(view: View) -> dict[str, Any]:
    return {row["pk"]: row["value"] for row in view.table.scan() if not row["deleted"]}


def test_the_last_value_of_each_setting_stands() -> None:
    view = View(ConfigFold())
    view.when(changed("threshold", 0.5), changed("threshold", 0.7), changed("scoring", "ongoing"))
    view.when(changed("threshold", 0.9, BOB), changed("threshold", 1.0, EVERYWHERE))
    assert values(view) == {
        config_pk(ALICE, "threshold"): "0.7",
        config_pk(ALICE, "scoring"): '"ongoing"',
        config_pk(BOB, "threshold"): "0.9",
        config_pk(EVERYWHERE, "threshold"): "1.0",
    }
    view.when(changed("threshold", None))
    assert config_pk(ALICE, "threshold") not in values(view)


CHANGES = st.lists(
    st.builds(
        changed,
        st.sampled_from(["a", "b"]),
        st.sampled_from([None, 1, "x"]),
        st.sampled_from([ALICE, EVERYWHERE]),
    ),
    max_size=8,
)


@examples(60)
@having(events=CHANGES)
def test_what_compaction_keeps_gives_the_same_settings(events: list[ev.ConfigChanged]) -> None:
    whole, compacted = View(ConfigFold()), View(ConfigFold())
    last = {(event.namespace, event.compaction_key()): at for at, event in enumerate(events)}
    kept = [event for at, event in enumerate(events) if last[event.namespace, event.compaction_key()] == at]
    for view, given_events in ((whole, events), (compacted, kept)):
        if given_events:
            view.when(*given_events)
    assert values(whole) == values(compacted)


def test_a_setting_for_all_has_a_key_that_no_namespace_has() -> None:
    event = changed("threshold", 0.5, EVERYWHERE)
    (record,) = encode(event)
    assert (record.topic, record.key) == (CONFIG, b"|threshold")
    assert partition_of(record.key, 7) == partition_of(b"|scoring", 7) == partition_of(b"", 7)
    stored = StoredRecord(Position(CONFIG, 0, 0), 0, record.key, record.value, record.headers)
    assert decode(stored) == event
