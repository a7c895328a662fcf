"""A graph of LangGraph that asks a person, and checkpoints made by hand, for tests and their programs."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict):
    """What the graph knows."""

    said: Annotated[list[str], operator.add]


def two_steps(checkpointer: BaseCheckpointSaver[Any]) -> Any:
    """A graph that greets, then asks a person."""
    builder = StateGraph(State)
    builder.add_node("greet", lambda state: {"said": ["hello"]})
    builder.add_node("ask", lambda state: {"said": [interrupt("your name?")]})
    builder.add_edge(START, "greet")
    builder.add_edge("greet", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=checkpointer)


def at(thread_id: str = "t", ns: str = "", id_: str | None = None) -> RunnableConfig:
    """The config of a place."""
    named = {} if id_ is None else {"checkpoint_id": id_}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, **named}}


def put(saver: BaseCheckpointSaver[Any], config: RunnableConfig, step: int, **values: Any) -> RunnableConfig:
    """Put a checkpoint with these values; where it is."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(values, step + 2)
    return saver.put(config, checkpoint, {"source": "loop", "step": step}, checkpoint["channel_versions"])


def ids(found: Iterator[CheckpointTuple]) -> list[str]:
    """The ids of checkpoints."""
    return [one.checkpoint["id"] for one in found]


def id_of(config: RunnableConfig) -> str:
    """The checkpoint that a config names."""
    return str(config["configurable"]["checkpoint_id"])
