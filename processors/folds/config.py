"""The config fold: the last value of each setting, a row each. A setting taken back is a tombstone."""

from __future__ import annotations

import json

from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas import topics
from mnemolog.schemas.events import Event
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import Row, Rows, config_pk


class ConfigFold:
    """One row a setting of a namespace; those for all stand under the namespace without parts.

    Its topic is compacted: a row follows from the last event of its setting alone.
    """

    name = "config"
    version = 1
    topic = topics.CONFIG

    def affects(self, event: Event, rows: Rows) -> Selection:  # noqa: ARG002 the port's signature
        """No row: what stood there before does not matter."""
        return Selection()

    def evolve(self, rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:  # noqa: ARG002 the port's
        """See `Fold.evolve`."""
        if not isinstance(event, ev.ConfigChanged):
            return {}
        pk = config_pk(event.namespace, event.setting)
        row: Row = {
            "pk": pk,
            "namespace": encode_namespace(event.namespace),
            "deleted": event.value is None,
            "setting": event.setting,
            "value": None if event.value is None else json.dumps(event.value, ensure_ascii=False),
            "agent_id": event.agent_id,
            "occurred_at": event.occurred_at,
            "_off": stamp.offset,
            "_fill": 0,
        }
        return {pk: row}
