"""What holds of every view, whatever history made it."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from support.histories import NAMESPACES, START, Step, histories, quarrels_over_a_key
from support.properties import examples
from support.shards import after_each, one_by_one

from mnemolog.schemas import events as ev
from mnemolog.schemas.namespaces import decode_namespace
from mnemolog.schemas.rows import Row, memory_pk

Rows = dict[str, Row]
MAY_STAY = {"pk", "namespace", "id", "history", "repeats", "deleted", "connected", "_off", "_fill"}


def views(steps: list[Step]) -> tuple[Rows, Rows]:
    snapshot = one_by_one(steps).snapshot()
    return snapshot["memories"], snapshot["usage"]


def live(rows: Rows) -> Rows:
    return {pk: row for pk, row in rows.items() if not row["deleted"]}


@examples(150)
@given(steps=histories(30) | quarrels_over_a_key())
def test_a_key_has_one_active_memory_and_successors_lead_to_an_end(steps: list[Step]) -> None:
    for shard in after_each(steps):
        memories = live(shard.snapshot()["memories"])
        slots = Counter(row["slot"] for row in memories.values() if "slot" in row)
        assert not slots or max(slots.values()) == 1
        for row in memories.values():
            check_place(row, memories)


def check_place(row: Row, memories: Rows) -> None:
    active = "successor" not in row
    assert active == ("superseded_by" not in row)
    assert row.get("slot") == (f"{row['namespace']}|{row['key']}" if active and "key" in row else None)
    if not active:
        assert memories[row["successor"]]["id"] == row["superseded_by"]
        assert memories[row["successor"]]["namespace"] == row["namespace"]
    assert end_of(memories, row["pk"]) is not None


def end_of(memories: Rows, pk: str) -> str | None:
    """The active memory at the end of a chain; None where the chain is a circle."""
    for _ in memories:
        if "successor" not in memories[pk]:
            return pk
        pk = memories[pk]["successor"]
    return None


@examples(150)
@given(steps=histories(30, bad=False))
def test_no_sound_event_is_refused_by_a_fold(steps: list[Step]) -> None:
    assert one_by_one(steps).deadletters == []


@examples(50)
@given(steps=histories(30))
def test_every_edge_is_of_a_live_memory_that_states_it(steps: list[Step]) -> None:
    """And none that a memory states is missing: expected values computed apart."""
    snapshot = one_by_one(steps).snapshot()
    memories, edges = live(snapshot["memories"]), live(snapshot["edges"])
    stated = {pk: count_edges(row) for pk, row in memories.items() if count_edges(row)}
    assert {pk: len(row["edges"]) for pk, row in edges.items()} == stated
    for pk, row in edges.items():
        assert (row["id"], row["_off"]) == (memories[pk]["id"], memories[pk]["_off"])
        assert row.get("expires_at") == memories[pk].get("expires_at")
        assert row["superseded"] == ("superseded_by" in memories[pk])


def count_edges(row: Row) -> int:
    detail = json.loads(row.get("detail", "{}"))
    own = sum(detail.get(name) is not None for name in ("object", "next_state", "source_episode"))
    return own + len(row["sources"]) + len(row["links"])


@examples(50)
@given(steps=histories(30))
def test_tombstones_have_no_content_and_rows_know_their_last_change(steps: list[Step]) -> None:
    memories, _ = views(steps)
    for pk, row in memories.items():
        offsets = [change["offset"] for change in row["history"]]
        assert offsets == sorted(offsets)
        assert row["_off"] == offsets[-1] or (row["_off"] > offsets[-1] and row["repeats"])
        ids = [change["event_id"] for change in row["history"]] + row["repeats"]
        assert len(set(ids)) == len(ids)
        if row["deleted"]:
            assert row.keys() <= MAY_STAY
        else:
            assert pk == memory_pk(decode_namespace(row["namespace"]), row["id"])
            assert row["vector"] and row["terms"]


@examples(50)
@given(steps=histories(30))
def test_counts_are_the_sums_of_what_was_said(steps: list[Step]) -> None:
    """E1: expected values computed apart."""
    usage = live(views(steps)[1])
    outcomes = [row for row in usage.values() if "outcome" in row]
    said = Counter((row["memory_pk"], row["outcome"]) for row in outcomes)
    counts = {pk: row for pk, row in usage.items() if pk == row["memory_pk"]}
    assert {pk for pk, _ in said} <= counts.keys()
    for pk, row in counts.items():
        assert (row["use_count"], row["ignore_count"]) == (said[pk, "used"], said[pk, "ignored"])


@examples(30)
@given(steps=histories(30))
def test_forgetting_everything_leaves_nothing_but_tombstones(steps: list[Step]) -> None:

    everything: list[Step] = [
        ev.ScopeForgotten(event_id=f"all{at}", namespace=namespace, occurred_at=START)
        for at, namespace in enumerate(NAMESPACES)
    ]
    memories, usage = views([*steps, *everything])
    assert live(memories) == live(usage) == {}
