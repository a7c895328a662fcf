"""The same questions asked of heapdb-memory, which lives in an environment of its own."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.evaluation import DEPTH, Collection, Scores
from mnemolog.embedders import default_embedder

THEIRS = Path(__file__).with_name("evaluation_heapdb.py")


def heapdb(python: str, collections: Sequence[Collection]) -> Scores:
    """heapdb-memory's ranks with its default weights and the vectors of our default embedder; `python` is an
    interpreter that has it."""
    given = {
        "depth": DEPTH,
        "collections": [_plain(collection) for collection in collections],
        "vectors": _vectors(collections),
    }
    done = subprocess.run(
        [python, str(THEIRS)], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    scores = Scores()
    for collection, answers in zip(collections, json.loads(done.stdout), strict=True):
        for asked, ids in zip(collection.in_order(), answers, strict=True):
            scores.add(collection.name, asked, ids)
    return scores


def _plain(collection: Collection) -> dict[str, Any]:
    memories = [
        {"id": one["id"], "text": _said(one), "created_at": one["occurred_at"].isoformat()}
        for one in collection.memories
    ]
    questions = [{"text": asked.text, "before": collection.due(asked)} for asked in collection.in_order()]
    return {"name": collection.name, "memories": memories, "questions": questions}


def _said(memory: dict[str, Any]) -> str:
    """It has no author of its own: as with us, the author's name is part of what is searched."""
    return f"{memory['author']}: {memory['text']}" if "author" in memory else str(memory["text"])


def _vectors(collections: Sequence[Collection]) -> dict[str, str]:
    memories = [_said(one) for collection in collections for one in collection.memories]
    questions = [asked.text for collection in collections for asked in collection.questions]
    texts = list(dict.fromkeys(memories + questions))
    vectors = default_embedder().embed(texts)
    return {
        text: base64.b64encode(vector.tobytes()).decode() for text, vector in zip(texts, vectors, strict=True)
    }
