"""Recall on LoCoMo (Maharana et al., ACL 2024). Run: python -m benchmarks.locomo --data DIR

Each turn is a memory, each conversation a namespace; nothing is tuned on the run. The data is no part of
this project: CC BY-NC 4.0, for evaluation only.
"""

from __future__ import annotations

import argparse
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.evaluation import Asked, Collection, compare, default_once, evaluate, show
from benchmarks.evaluation_peers import heapdb
from benchmarks.learning import NOISES, learn_and_ask

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TURN = timedelta(seconds=30)


def collection_of(path: Path) -> Collection:
    """One conversation."""
    document = json.loads(path.read_text())
    sessions = sorted((key for key in document if re.fullmatch(r"session_\d+", key)), key=_number)
    memories = [
        memory for key in sessions for memory in _session(document[key], document[f"{key}_date_time"])
    ]
    known = {memory["id"] for memory in memories}
    questions = [
        Asked(asked["question"], evidence, CATEGORIES[asked["category"]])
        for asked in document["qa"]
        if (evidence := _evidence(asked, known))
    ]
    return Collection(path.stem, memories, questions)


def _number(key: str) -> int:
    return int(key.split("_")[1])


def _session(turns: list[dict[str, Any]], when: str) -> list[dict[str, Any]]:
    start = datetime.strptime(" ".join(when.split()), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    return [
        {
            "id": turn["dia_id"],
            "text": _text(turn),
            "author": turn["speaker"],
            "thread_id": "chat",
            "occurred_at": start + place * TURN,
        }
        for place, turn in enumerate(turns)
    ]


def _text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shared {caption}]".strip() if caption else str(turn["text"])


def _evidence(asked: dict[str, Any], known: set[str]) -> frozenset[str]:
    named = re.findall(r"D:?(\d+):0*(\d+)", " ".join(asked.get("evidence") or []))
    return frozenset(f"D{session}:{turn}" for session, turn in named) & known


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of conversations, one JSON each")
    parser.add_argument("--heapdb", metavar="PYTHON", help="an interpreter that has heapdb-memory")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument(
        "--noise", choices=list(NOISES), action="append", help="learn from feedback that errs so"
    )
    arguments = parser.parse_args()
    collections = [collection_of(path) for path in sorted(arguments.data.glob("*.json"))]
    embedder = default_once()
    runs = {
        "defaults": evaluate(collections, embedder),
        "keywords only": evaluate(collections, "none"),
    }
    learned = {name: learn_and_ask(collections, embedder, NOISES[name]) for name in arguments.noise or ()}
    if arguments.heapdb:
        runs["heapdb-memory"] = heapdb(arguments.heapdb, collections)
    show("LoCoMo", runs | {f"learned, {name}": scores for name, scores in learned.items()}, arguments.json)
    for name, scores in learned.items():
        print(f"learned, {name}, against no feedback: {compare(runs['defaults'], scores)}")


if __name__ == "__main__":
    main()
