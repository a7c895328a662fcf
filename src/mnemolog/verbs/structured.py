"""Remember what has structure: episodes, facts, procedures, reflections, rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from mnemolog.producers.arguments import (
    EpisodeFields,
    FactFields,
    ProcedureFields,
    ReflectionFields,
    RewardFields,
)
from mnemolog.producers.receipts import Receipt
from mnemolog.schemas.events import MemoryRemembered
from mnemolog.verbs.handle import Handle
from mnemolog.verbs.keywords import takes


class Structuring(Handle):
    """The verbs that write memories of the structured kinds.

    Each also takes the fields that `remember` takes for every kind, and raises NotFoundError, whose `field`
    names the argument, for a source that is not in this namespace. Then nothing was appended.
    """

    @takes(EpisodeFields)
    def remember_episode(self, content: str, **fields: Unpack[EpisodeFields]) -> Receipt:
        """Remember something that happened, as a memory of kind `episode`.

        `context` is a dict, `outcome` success, failure, neutral or unknown.
        """
        return self._written(self._commands.remember_episode(content, **fields))

    @takes(FactFields)
    def know_fact(
        self,
        subject: str,
        predicate: str,
        object: str,  # noqa: A002 the field's standard name
        **fields: Unpack[FactFields],
    ) -> Receipt:
        """Remember a triple, as a memory of kind `fact` and an edge of the graph.

        `confidence` is 0…1. With a `key`, a newer fact under it supersedes this one; `valid_from` and
        `valid_to` say when it holds in the world.
        """
        return self._written(self._commands.know_fact(subject, predicate, object, **fields))

    @takes(ProcedureFields)
    def learn_procedure(
        self, name: str, steps: Sequence[Mapping[str, Any]], **fields: Unpack[ProcedureFields]
    ) -> Receipt:
        """Remember how to do something, as a memory of kind `procedure`.

        A step is a dict with an `action`, and perhaps `parameters` (a dict) and an `expected_outcome`.
        """
        return self._written(self._commands.learn_procedure(name, steps, **fields))

    @takes(ReflectionFields)
    def reflect(self, content: str, lesson: str, **fields: Unpack[ReflectionFields]) -> Receipt:
        """Remember a thought and its lesson, as a memory of kind `reflection`.

        With a `source_episode_id` the graph knows where it comes from.
        """
        return self._written(self._commands.reflect(content, lesson, **fields))

    @takes(RewardFields)
    def record_reward(
        self, state: str, action: str, reward: float, **fields: Unpack[RewardFields]
    ) -> Receipt:
        """Remember what an action in a state was worth, as a memory of kind `reward`.

        With a `next_state` the graph has the transition.
        """
        return self._written(self._commands.record_reward(state, action, reward, **fields))

    def _written(self, event: MemoryRemembered) -> Receipt:
        self._check_references([event])
        return Receipt(event.memory_id, self._session.append([event])[0])
