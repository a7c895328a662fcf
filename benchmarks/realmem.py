"""Recall on RealMem's agent notes, through the library. Run: python -m benchmarks.realmem --data DIR

Notes without authors, each question asked when only the first so many notes exist.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.evaluation import Asked, Collection, compare, default_once, evaluate, show
from benchmarks.evaluation_peers import heapdb
from benchmarks.learning import NOISES, learn_and_ask
from mnemolog.query.scoring.weights import Weights

_NAMES = [field.name for field in fields(Weights)]
PLAIN = replace(Weights(), **dict.fromkeys(_NAMES[_NAMES.index("vector") + 1 :], 0.0))
"""The plain hybrid: both searches and nothing around them."""


def collection_of(path: Path) -> Collection:
    """The notes on one person."""
    document = json.loads(path.read_text())
    memories = [
        {
            "id": str(note["id"]),
            "text": note["text"],
            "kind": note["type"].lower(),
            "occurred_at": datetime.fromisoformat(note["date"]).replace(tzinfo=UTC)
            + timedelta(seconds=place),
        }
        for place, note in enumerate(document["notes"])
    ]
    questions = [
        Asked(asked["question"], frozenset(map(str, asked["evidence"])), before=asked["notes_before"])
        for asked in document["questions"]
        if asked["evidence"]
    ]
    return Collection(path.stem, memories, questions)


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of notes, one JSON a person")
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
        "plain hybrid": evaluate(collections, embedder, PLAIN),
        "keywords only": evaluate(collections, "none"),
    }
    if arguments.heapdb:
        runs["heapdb-memory"] = heapdb(arguments.heapdb, collections)
    learned = {name: learn_and_ask(collections, embedder, NOISES[name]) for name in arguments.noise or ()}
    named = {f"learned, {name}": scores for name, scores in learned.items()}
    show("RealMem notes", runs | named, arguments.json)
    for name, scores in list(runs.items())[1:]:
        print(f"defaults against {name}: {compare(scores, runs['defaults'])}")
    for name, scores in learned.items():
        print(f"learned, {name}, against no feedback: {compare(runs['defaults'], scores)}")


if __name__ == "__main__":
    main()
