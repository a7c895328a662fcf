"""Links from one memory to others, kept in its row."""

from __future__ import annotations

from mnemolog.processors.folds.memory_rows import seen, stamped
from mnemolog.processors.folds.port import Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas.rows import Row, Rows, memory_pk

Relinked = ev.MemoriesLinked | ev.MemoriesUnlinked


def relink(rows: Rows, event: Relinked, stamp: Stamp) -> dict[str, Row]:
    """The memory's row with the link added or taken away."""
    pk = memory_pk(event.namespace, event.memory_id)
    known = rows.get(pk)
    if known is None or known["deleted"] or seen(known, event):
        return {}
    links = known["links"] or []
    if isinstance(event, ev.MemoriesLinked):
        new = {"target": event.target_id, "relation": event.relation}
        links = links if new in links else [*links, new]
    else:
        links = [link for link in links if not _is_meant(link, event)]
    return {pk: stamped({**known, "links": links}, event, stamp)}


def _is_meant(link: Row, event: ev.MemoriesUnlinked) -> bool:
    return link["target"] == event.target_id and event.relation in (None, link["relation"])
