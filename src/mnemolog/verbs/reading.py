"""Read memories as they are: by id, in pages, with their history; and how far the views are."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

from mnemolog.query.models import Change, MemoryItem, Page
from mnemolog.schemas.checks import check_string
from mnemolog.schemas.filters import EVERYTHING
from mnemolog.schemas.moments import Moment
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.positions import Position
from mnemolog.schemas.scope import Scope
from mnemolog.session import DEFAULT_WAIT_SECONDS
from mnemolog.verbs.handle import Handle
from mnemolog.verbs.keywords import takes

Namespaces: TypeAlias = list[Namespace]


class Reading(Handle):
    """The verbs that read what there is."""

    def get(
        self,
        id: str,  # noqa: A002 the public name of the field
        *,
        as_of: Moment | None = None,
        after: Position | str | None = None,
    ) -> MemoryItem | None:
        """The memory, superseded ones too; None if it is unknown, forgotten or expired.

        `as_of` asks for the memory as it was then; see `recall`.
        """
        if as_of is not None:
            past = self._past(as_of, after)
            return past.queries.get(id)
        self._session.settle(after)
        return self._queries.get(id)

    def find_by_key(self, key: str, *, after: Position | str | None = None) -> MemoryItem | None:
        """The memory that holds `key`: the newest one remembered under it that was not forgotten.

        None if there is none, if it was superseded by a memory without the key, or if it has expired.
        """
        self._session.settle(after)
        found = self._queries.table.page(limit=1, filters={"key": {"eq": check_string("key", key)}})
        return found.items[0] if found.items else None

    @takes(Scope)
    def list(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        include_superseded: bool = False,
        as_of: Moment | None = None,
        after: Position | str | None = None,
        **scope: Unpack[Scope],
    ) -> Page:
        """A page of the memories in `scope`, newest first, and how many there are in all.

        `tags_mode` says how `tags` must fit: `all` of them there, `any` of them, `none` of them, or `exact`.
        `as_of` asks for the memories as they were then; see `recall`.
        """
        if as_of is not None:
            past = self._past(as_of, after)
            page = past.queries.table.page(
                limit=limit, offset=offset, include_superseded=include_superseded, **scope
            )
            return replace(page, as_of=past.as_of)
        self._session.settle(after)
        return self._queries.table.page(
            limit=limit, offset=offset, include_superseded=include_superseded, **scope
        )

    def __len__(self) -> int:
        """How many memories `list` would show in all."""
        return self.list(limit=0).total

    def __bool__(self) -> bool:
        """A handle is true, also on an empty namespace."""
        return True

    def __contains__(self, id: object) -> bool:  # noqa: A002
        """Whether `get` would find a memory of this id."""
        return isinstance(id, str) and self.get(id) is not None

    def __iter__(self) -> Iterator[MemoryItem]:
        """The memories that `list` would show at this moment, newest first."""
        self._session.settle()
        return reversed(self._queries.table.oldest(EVERYTHING))

    def namespaces(self, *, after: Position | str | None = None) -> Namespaces:
        """The namespaces that begin with the parts of this one and hold memories, itself too, sorted."""
        self._session.settle(after)
        return self._queries.table.namespaces()

    def history(self, id: str) -> builtins.list[Change]:  # noqa: A002 the public name of the field
        """What happened to a memory, oldest first: when, by whom and why; of a forgotten one too."""
        self._session.settle()
        return self._queries.history(id)

    def stats(self) -> dict[str, Any]:
        """Counts of this namespace, what the views were built with, and how far they lag behind the log.

        `evictions` counts what rules let go, by rule; `redacted` what this handle kept out of the log.
        """
        self._session.settle()
        redactor = self._session.redactor
        taken = {} if redactor is None else redactor.counts
        return self._queries.stats() | {"redacted": taken, "lag": self.lag()}

    def lag(self) -> dict[str, int]:
        """Topic → how many events of this namespace's partition the views have not applied yet."""
        return self._queries.lag(self._session.log)

    def wait(self, position: Position | str, timeout: float = DEFAULT_WAIT_SECONDS) -> None:
        """Wait until the views have applied `position`.

        Raises:
            WaitTimeoutError: they have not within `timeout` seconds. The event itself is safe in the log.
        """
        self._session.wait(position, timeout)
