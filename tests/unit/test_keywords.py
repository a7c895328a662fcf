"""A keyword that a verb does not have is told by the verb's own name, with the one that was perhaps meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mnemolog

WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "remember": (("text",), {"ttl": 5}, "ttl_seconds"),
    "remember_many": ((["text"],), {"tag": ["a"]}, "tags"),
    "update": (("id",), {"txt": "new"}, "text"),
    "remember_episode": (("text",), {"outcom": "success"}, "outcome"),
    "know_fact": (("a", "is", "b"), {"confidance": 1.0}, "confidence"),
    "learn_procedure": (("name", [{"action": "go"}]), {"descripton": "how"}, "description"),
    "reflect": (("text", "lesson"), {"source_episode": "id"}, "source_episode_id"),
    "record_reward": (("s", "a", 1.0), {"nextstate": "t"}, "next_state"),
    "recall": (("query",), {"filter": {}}, "filters"),
    "recall_by_vector": (([1.0],), {"top_k": 3}, "k"),
    "list": ((), {"where": {}}, "filters"),
    "aggregate": ((), {"filter": {}}, "filters"),
    "to_arrow": ((), {"column": ["id"]}, "columns"),
}


@pytest.mark.parametrize("verb", list(WRONG))
def test_the_argument_that_was_meant_is_named(tmp_path: Path, verb: str) -> None:
    arguments, keywords, meant = WRONG[verb]
    with mnemolog.open(tmp_path, namespace="n", embedder=None) as memory:
        (wrong,) = keywords
        with pytest.raises(
            TypeError, match=rf"^{verb}\(\) has no argument '{wrong}'\. Did you mean '{meant}'\?"
        ):
            getattr(memory, verb)(*arguments, **keywords)
        assert len(memory) == 0


def test_nothing_is_guessed_where_nothing_is_near(tmp_path: Path) -> None:
    told = r"recall\(\) has no argument 'zzz'\. It takes query, "
    with (
        mnemolog.open(tmp_path, namespace="n", embedder=None) as memory,
        pytest.raises(TypeError, match=told),
    ):
        memory.recall("query", zzz=1)  # type: ignore[call-overload]
