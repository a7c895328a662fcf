"""Events of the structured kinds, and of links: from a call's arguments, as in `commands`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Unpack

from mnemolog.producers.arguments import GeneralFields
from mnemolog.producers.building import as_dict, as_tuple, build_detail, build_event
from mnemolog.schemas import events as ev
from mnemolog.schemas.details import (
    KINDS,
    Episode,
    Outcome,
    Procedure,
    Reflection,
    Reward,
    Structured,
    Triple,
    render,
)
from mnemolog.schemas.errors import InvalidInputError


class Maker(Protocol):
    """What these need of `Commands`."""

    @property
    def remember(self) -> Any:
        """Makes the event of a memory."""

    @property
    def _envelope(self) -> Any: ...


class StructuredCommands:
    """The part of `Commands` for kinds with structure. Each `detail` field is an argument of the same name.

    `fields` are those that `remember` takes for every kind.
    """

    __slots__ = ()

    def remember_episode(
        self: Maker,
        content: str,
        *,
        context: Mapping[str, Any] | None = None,
        outcome: Outcome | str = Outcome.UNKNOWN,
        **fields: Unpack[GeneralFields],
    ) -> ev.MemoryRemembered:
        """Something that happened, in which `context`, with which `outcome`. Its text is `content`."""
        detail = build_detail(Episode, context=_context(context), outcome=outcome)
        return _remember(self, content, detail, fields)

    def know_fact(
        self: Maker,
        subject: str,
        predicate: str,
        object: str,  # noqa: A002 the field's standard name
        *,
        content: str | None = None,
        confidence: float = 1.0,
        **fields: Unpack[GeneralFields],
    ) -> ev.MemoryRemembered:
        """A triple. Its text is "subject predicate object", and `content` where there is more to say."""
        detail = build_detail(
            Triple,
            subject=subject,
            predicate=predicate,
            object=object,
            content=content,
            confidence=confidence,
        )
        return _remember(self, render(detail), detail, fields)

    def learn_procedure(
        self: Maker,
        name: str,
        steps: Sequence[Mapping[str, Any]],
        *,
        description: str | None = None,
        trigger_conditions: Iterable[str] = (),
        **fields: Unpack[GeneralFields],
    ) -> ev.MemoryRemembered:
        """How to do something. A step has an `action`, and may have `parameters` and an `expected_outcome`.

        Its text is the name, the description and the steps, numbered.
        """
        detail = build_detail(
            Procedure,
            name=name,
            steps=steps,
            description=description,
            trigger_conditions=as_tuple("trigger_conditions", trigger_conditions),
        )
        return _remember(self, render(detail), detail, fields)

    def reflect(
        self: Maker,
        content: str,
        lesson: str,
        *,
        improvement: str | None = None,
        source_episode_id: str | None = None,
        confidence: float = 1.0,
        **fields: Unpack[GeneralFields],
    ) -> ev.MemoryRemembered:
        """A thought and the lesson drawn from it. Its text is the thought, the lesson and the improvement."""
        detail = build_detail(
            Reflection,
            content=content,
            lesson=lesson,
            improvement=improvement,
            source_episode=source_episode_id,
            confidence=confidence,
        )
        return _remember(self, render(detail), detail, fields)

    def record_reward(
        self: Maker,
        state: str,
        action: str,
        reward: float,
        *,
        outcome: str | None = None,
        policy: str = "default",
        next_state: str | None = None,
        context: Mapping[str, Any] | None = None,
        **fields: Unpack[GeneralFields],
    ) -> ev.MemoryRemembered:
        """What an action in a state was worth, any finite number. Its text is state, action and outcome."""
        detail = build_detail(
            Reward,
            state=state,
            action=action,
            reward=reward,
            outcome=outcome,
            policy=policy,
            next_state=next_state,
            context=_context(context),
        )
        return _remember(self, render(detail), detail, fields)

    def link(
        self: Maker,
        id: str,  # noqa: A002 the public name of the field
        target: str,
        relation: str = "related",
        *,
        event_id: str | None = None,
    ) -> ev.MemoriesLinked:
        """The memory `id` is linked to the memory `target`, as its `relation`."""
        if id == target:
            raise InvalidInputError(f"target: a memory can't be linked to itself, {id!r}", field="target")
        envelope = self._envelope(event_id)
        return build_event(ev.MemoriesLinked, **envelope, memory_id=id, target_id=target, relation=relation)

    def unlink(
        self: Maker,
        id: str,  # noqa: A002 the public name of the field
        target: str,
        relation: str | None = None,
        *,
        event_id: str | None = None,
    ) -> ev.MemoriesUnlinked:
        """The link is taken away; all links from `id` to `target` if no `relation` is named."""
        envelope = self._envelope(event_id)
        return build_event(ev.MemoriesUnlinked, **envelope, memory_id=id, target_id=target, relation=relation)


def _context(context: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if context is None else as_dict("context", context)


def _remember(
    commands: Maker, text: str | None, detail: Structured, fields: GeneralFields
) -> ev.MemoryRemembered:
    try:
        made: ev.MemoryRemembered = commands.remember(text, kind=KINDS[detail.form], detail=detail, **fields)
    except InvalidInputError as error:
        if error.field != "text" or not isinstance(detail, Episode):
            raise
        raise InvalidInputError(str(error).replace("text: ", "content: ", 1), field="content") from error
    return made
