"""What consolidation makes of memories, and what becomes of it when these are forgotten or changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from mnemolog.processors.folds.memory_content import new_row
from mnemolog.processors.folds.memory_rows import blank_memory, mark, stamped, tombstone
from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.processors.folds.timelines import in_order
from mnemolog.schemas import events as ev
from mnemolog.schemas.consolidation import consolidation_pk, dump_progress, progress_of
from mnemolog.schemas.details import Statement
from mnemolog.schemas.events import Event
from mnemolog.schemas.facts import digest_of, moment_of, timeline_of
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import Row, Rows, event_pk, memory_pk

_Forgetful = ev.MemoryForgotten | ev.ScopeForgotten | ev.MemoryEvicted


def also_affected(selection: Selection, event: Event, rows: Rows) -> Selection:
    """`selection` and what rests on it, with the whole timelines of the facts among these."""
    if not rows and isinstance(event, ev.MemoryRemembered):
        return selection  # what nearly all are, told in one step
    timelines = {row["timeline"] for row in rows.values()} | _stated(event)
    timelines.discard(None)
    more = {"pk": _named(event), "timeline": timelines, "rests_on": _may_be_lost(event, rows)}
    lookups = dict(selection.lookups)
    for column, values in more.items():
        if values:
            lookups[column] = lookups.get(column, frozenset()).union(values)
    return Selection(lookups, selection.scope)


def _named(event: Event) -> set[str]:
    match event:
        case ev.FactsAsserted():
            ids = [one.id for one in event.read] + [one.memory_id for one in event.facts]
            own = event_pk(event) if event.run is None else consolidation_pk(event.namespace)
        case ev.SummaryWritten():
            ids, own = [*(one.id for one in event.read), event.memory_id], event_pk(event)
        case ev.ConsolidationRequested():
            ids, own = list(event.memory_ids), event_pk(event)
        case _:
            return set()
    return {own, *(memory_pk(event.namespace, one) for one in ids)}


def _stated(event: Event) -> set[str]:
    if not isinstance(event, ev.FactsAsserted):
        return set()
    return {timeline_of(event.namespace, fact.subject) for fact in event.facts}


def _may_be_lost(event: Event, rows: Rows) -> set[str]:
    """The memories that may be forgotten, or say something else, once the event was applied."""
    match event:
        case ev.MemoryForgotten() | ev.MemoryEvicted():
            return {memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids}
        case ev.ScopeForgotten():
            return {pk for pk, row in rows.items() if not row["deleted"]}
        case ev.MemoryUpdated() if "text" in event.changes:
            return {memory_pk(event.namespace, event.memory_id)}
        case ev.MemoryRemembered():
            known = rows.get(memory_pk(event.namespace, event.memory_id))
            if known is not None and not known["deleted"] and known["text"] != event.text:
                return {known["pk"]}
    return set()


def derive(rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:
    """The rows that the result of a consolidation makes; none where the event has come already."""
    if event_pk(event) in rows:
        return {}
    match event:
        case ev.FactsAsserted():
            return _assert(rows, event, stamp)
        case ev.SummaryWritten():
            return {**_sum_up(rows, event, stamp), **mark(event, stamp)}
        case ev.ConsolidationRequested():
            named = (rows.get(memory_pk(event.namespace, one)) for one in event.memory_ids)
            live = [row for row in named if row is not None and not row["deleted"]]
            again = {row["pk"]: stamped(row, event, stamp, event.reason) for row in live}
            return {**again, **mark(event, stamp, event.reason)}
    return {}


def _assert(rows: Rows, event: ev.FactsAsserted, stamp: Stamp) -> dict[str, Row]:
    step = mark(event, stamp) if event.run is None else _step(rows, event, event.run, stamp)
    if not step:
        return {}
    alive, changed = _alive(rows, event.namespace, event.read), dict[str, Row]()
    for fact in event.facts:
        rests_on = sorted(alive[source] for source in fact.sources if source in alive)
        pk = memory_pk(event.namespace, fact.memory_id)
        row = rests_on and _asserted(changed.get(pk) or rows.get(pk), event, fact, rests_on, stamp)
        if row:
            changed[pk] = row
    return {**changed, **step}


def _alive(rows: Rows, namespace: Any, read: Iterable[ev.SourceRead]) -> dict[str, str]:
    """Memory → its pk, of those that are there and say what was read."""
    found = {}
    for one in read:
        row = rows.get(memory_pk(namespace, one.id))
        if row is not None and not row["deleted"] and digest_of(row["text"]) == one.digest:
            found[one.id] = row["pk"]
    return found


def _asserted(
    known: Row | None, event: ev.FactsAsserted, fact: ev.FactFound, rests_on: list[str], stamp: Stamp
) -> Row | None:
    timeline = timeline_of(event.namespace, fact.subject)
    if known is not None and known["timeline"] == timeline:
        return _resting_on_more(known, rests_on, event, stamp)
    if known is not None and not known["deleted"]:
        return None  # another memory has this id
    derived = {"timeline": timeline, "rank": fact.rank, "rests_on": rests_on}
    if fact.tombstone:
        pk = memory_pk(event.namespace, fact.memory_id)
        own = {
            "pk": pk,
            "namespace": encode_namespace(event.namespace),
            "id": fact.memory_id,
            "deleted": True,
        }
        kept = {name: known[name] if known else [] for name in ("history", "repeats")}
        return stamped({**blank_memory(), **own, **kept, **derived}, event, stamp)
    detail = Statement.model_construct(
        form="statement",
        subject=fact.subject,
        date=fact.date,
        said_at=fact.said_at,
        confidence=fact.confidence,
    )
    more = {"detail": detail, "occurred_at": moment_of(fact.rank), "kind": "fact", "source": "fact"}
    memory = _as_memory(event, fact.memory_id, str(fact.statement), rests_on, more)
    return new_row(known, memory, stamp, event.event_id, cause=event, derived=derived)


def _resting_on_more(known: Row, rests_on: list[str], event: Event, stamp: Stamp) -> Row | None:
    every = sorted({*known["rests_on"], *rests_on})
    if every == known["rests_on"]:
        return None
    return stamped({**known, **_resting_on(known, every)}, event, stamp)


def _resting_on(row: Row, pks: list[str]) -> Row:
    return {"rests_on": pks, "sources": None if row["deleted"] else _ids(pks)}


def _ids(pks: Iterable[str]) -> list[str]:
    return [pk.partition("|")[2] for pk in pks]


def _as_memory(
    event: ev.FactsAsserted | ev.SummaryWritten, memory_id: str, text: str, rests_on: list[str], more: Row
) -> ev.MemoryRemembered:
    """The memory that a result is, as if it had been remembered; its parts were validated with the event."""
    return ev.MemoryRemembered.model_construct(
        event_id=event.event_id,
        namespace=event.namespace,
        agent_id=event.agent_id,
        thread_id=event.thread_id,
        memory_id=memory_id,
        text=text,
        importance=event.importance,
        tags=event.tags,
        metadata={},
        sources=tuple(_ids(rests_on)),
        **more,
    )


def _sum_up(rows: Rows, event: ev.SummaryWritten, stamp: Stamp) -> dict[str, Row]:
    rests_on = sorted(_alive(rows, event.namespace, event.read).values())
    pk = memory_pk(event.namespace, event.memory_id)
    known = rows.get(pk)
    if not rests_on or (known is not None and not known["deleted"]):
        return {}
    happened = max(rows[source]["occurred_at"] for source in rests_on)
    more = {"occurred_at": happened, "kind": "summary", "source": "summary"}
    memory = _as_memory(event, event.memory_id, event.text, rests_on, more)
    derived = {"timeline": None, "rank": None, "rests_on": rests_on}
    return {pk: new_row(known, memory, stamp, event.event_id, cause=event, derived=derived)}


def _step(rows: Rows, event: ev.FactsAsserted, run: ev.Run, stamp: Stamp) -> dict[str, Row]:
    """The namespace's row of consolidation after this step; none if the step goes on from another one."""
    pk = consolidation_pk(event.namespace)
    before = progress_of(rows.get(pk))
    if run.previous != before.event_id:
        return {}
    progress = replace(
        before,
        through=max([before.through, *_ends(rows, event)]),
        runs=before.runs + 1,
        read=before.read + len(event.read),
        facts=before.facts + len(event.facts),
        failed=before.failed + len(run.failed),
        input_tokens=before.input_tokens + event.made_by.input_tokens,
        output_tokens=before.output_tokens + event.made_by.output_tokens,
        extractor=event.made_by.extractor,
    )
    row = blank_memory()
    row |= {"pk": pk, "namespace": encode_namespace(event.namespace), "deleted": True}
    row |= {"history": [], "repeats": []}
    return {pk: stamped(row, event, stamp, dump_progress(progress))}


def _ends(rows: Rows, event: ev.FactsAsserted) -> Iterator[int]:
    """The offsets after the changes that were read: found by the events' ids, as a copied log has others."""
    for one in event.read:
        row = rows.get(memory_pk(event.namespace, one.id))
        for change in row["history"] if row is not None else ():
            if change["event_id"] == one.change:
                yield change["offset"] + 1


def settle(rows: Rows, changed: dict[str, Row], event: Event, stamp: Stamp) -> dict[str, Row]:
    """`changed`, with what rests on them brought up to date: withdrawn facts, and timelines in order."""
    if not changed or (not rows and isinstance(event, ev.MemoryRemembered)):
        return changed  # nothing was there that the event could have changed
    if lost := _lost(rows, changed, event):
        changed = changed | _withdrawn(rows, changed, lost, event, stamp)
    both = [row for pk in changed for row in (rows.get(pk), changed[pk]) if row is not None]
    timelines = {row["timeline"] for row in both if row["timeline"] is not None}
    return changed | in_order(rows, changed, timelines, event, stamp) if timelines else changed


def _lost(rows: Rows, changed: dict[str, Row], event: Event) -> set[str]:
    """The memories that are gone, or say something else by now."""
    if isinstance(event, ev.MemoryForgotten):
        return set() if event.consolidated else _may_be_lost(event, rows)
    lost = set()
    for pk, row in changed.items():
        before = rows.get(pk)
        if before is not None and not before["deleted"] and (row["deleted"] or row["text"] != before["text"]):
            lost.add(pk)
    return lost


def _withdrawn(
    rows: Rows, changed: dict[str, Row], lost: Collection[str], event: Event, stamp: Stamp
) -> dict[str, Row]:
    """What rested on `lost`: forgotten where it rested on nothing else."""
    found = {}
    for pk, row in {**rows, **changed}.items():
        if row["rests_on"] is None or not any(source in lost for source in row["rests_on"]):
            continue
        left = [source for source in row["rests_on"] if source not in lost]
        row = _before(row, stamp)
        if left:
            found[pk] = stamped({**row, **_resting_on(row, left)}, event, stamp)
        elif row["deleted"]:
            emptied = {**row, "timeline": None, "rank": None, "rests_on": None}
            found[pk] = stamped(emptied, event, stamp)
        else:
            found[pk] = tombstone(row, event, stamp, _why(row["rests_on"], event))
    return found


def _before(row: Row, stamp: Stamp) -> Row:
    """`row` without what its history says of this event: it is told once."""
    history = [change for change in row["history"] if change["offset"] != stamp.offset]
    return {**row, "history": history}


def _why(sources: list[str], event: Event) -> str:
    happened = "forgotten" if isinstance(event, _Forgetful) else "changed"
    return f"what it rested on was {happened}: {', '.join(_ids(sources))}"[:2_000]
