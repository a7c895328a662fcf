"""The facade: one handle on one namespace, the same over the embedded log and over Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from mnemolog.schemas.namespaces import make_namespace
from mnemolog.verbs.analysing import Analysing
from mnemolog.verbs.comparing import Comparing
from mnemolog.verbs.configuring import Configuring
from mnemolog.verbs.consolidating import Consolidating
from mnemolog.verbs.context import Context
from mnemolog.verbs.forgetting import Forgetting
from mnemolog.verbs.graph import Graphing
from mnemolog.verbs.reading import Reading
from mnemolog.verbs.recalling import Recalling
from mnemolog.verbs.structured import Structuring
from mnemolog.verbs.writing import Writing


class Memory(
    Writing,
    Structuring,
    Consolidating,
    Forgetting,
    Recalling,
    Context,
    Reading,
    Graphing,
    Analysing,
    Configuring,
    Comparing,
):
    """Agent memory in one namespace. Made by `mnemolog.open` or `mnemolog.connect`; threads may share it.

    A write returns once its event is durable in the log; the views follow in the background. Every read of
    this handle waits first, up to `wait_seconds`, until the views show what this handle wrote.

    Every method raises only `MnemologError`s: InvalidInputError for bad arguments (nothing was appended),
    LogError when an event could not be made durable, WaitTimeoutError when the views lag too far behind.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def at(
        self, namespace: str | Iterable[str], *, agent_id: str | None = None, thread_id: str | None = None
    ) -> Memory:
        """A handle on another namespace of the same log and views, which costs next to nothing.

        It shares this handle's connections and caches, so it ends when this one is closed; closing it leaves
        this one open. All handles made so see each other's writes in the same namespace at once. `agent_id`
        and `thread_id` are this handle's unless given.
        """
        self._session.check_open()
        commands = self._commands.at(make_namespace(namespace), agent_id, thread_id)
        return Memory(self._session.at(commands.namespace), self._queries.at(commands.namespace), commands)

    def close(self) -> None:
        """Release the log and the views. What was written stays; the views follow at the next open."""
        self._close_caches()
        self._session.close()
