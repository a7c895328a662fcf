"""Settings that change while programs run: every reader and worker follows within a second or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from mnemolog.producers.receipts import Receipt
from mnemolog.query.config import Config, check_score_setting
from mnemolog.schemas.checks import check_bool
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.positions import Position
from mnemolog.schemas.settings import flatten
from mnemolog.verbs.handle import Handle


class SettingFields(TypedDict, total=False):
    """What `set_config` takes; None takes a setting back. See `schemas.settings.NAMES`."""

    threshold: float | None
    scoring: str | None
    weights: Mapping[str, float | None]
    half_life: float | None
    recency_floor: float | None
    max_items_per_scope: int | None
    near_duplicate: float | None
    lasting: Sequence[str] | None


class Configuring(Handle):
    """The verbs on settings."""

    def current_config(self, *, after: Position | str | None = None) -> Config:
        """The settings that hold in this namespace, and at which level each was made.

        A call's own argument beats the namespace's setting, that beats the global one, that the handle's.
        """
        self._session.settle(after)
        return self._queries.config()

    def set_config(self, *, globally: bool = False, **settings: Unpack[SettingFields]) -> Receipt:
        """Change settings of this namespace, or with `globally` of all that have none of their own.

        Settings that are not named stay. None takes one back. Readers and workers follow within about a
        second; what makes no sense to one of an older release, it ignores with a warning.

        Raises:
            InvalidInputError: an unknown setting, or a value out of range; `field` names it.
        """
        check_bool("globally", globally)
        flat = flatten(settings)
        for name, value in flat.items():
            check_score_setting(name, value)
        namespace = EVERYWHERE if globally else self.namespace
        events = [self._commands.configure(name, value, namespace) for name, value in flat.items()]
        positions = self._session.append(events)
        self._session.expect(positions if globally else ())
        self._queries.forget_config()
        return Receipt(events[-1].event_id, positions[-1])
