"""How fast the default embedder is, against a bare loop of onnxruntime. Run: python -m benchmarks.embedding

Each round measures every way after the other, and medians over the rounds are printed, so that other load on
the machine falls on all alike. Unset OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, which slow numpy, before.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import lancedb  # noqa: F401 - a worker's memory holds both
import numpy as np
import onnxruntime

from mnemolog.embedders import MiniLMEmbedder
from mnemolog.embedders.minilm import MODEL_FILE, installed, load_tokenizer

Way = Callable[[Sequence[str]], object]

SENTENCE = (
    "we talked about the trip to lake and my sister wants a new camera for her birthday next month so I am "
    "looking forward to painting with kids again because last summer was really hard on everyone at work"
)
WORDS = SENTENCE.split()


def chat(count: int, seed: int = 1) -> list[str]:
    """Made-up messages of 5 to 60 words, most of them short, as in a chat."""
    chance = random.Random(seed)
    lengths = [min(60, 5 + int(chance.expovariate(1 / 20))) for _ in range(count)]
    return [" ".join(chance.choices(WORDS, k=length)) for length in lengths]


class Bare:
    """Tokens in, hidden states out, in the given order: what anyone would write first."""

    def __init__(self) -> None:
        self.tokenizer = load_tokenizer(256)
        self.tokenizer.enable_padding()
        self.session = onnxruntime.InferenceSession(str(installed(*MODEL_FILE)))

    def run(self, texts: Sequence[str]) -> Any:
        encodings = self.tokenizer.encode_batch(list(texts))
        ids = np.array([encoding.ids for encoding in encodings])
        mask = np.array([encoding.attention_mask for encoding in encodings])
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self.session.run(None, feeds)[0]

    def one_by_one(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.run([text])

    def by_32(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), 32):
            self.run(texts[start : start + 32])


def seconds(way: Way, texts: Sequence[str]) -> float:
    """How long `way` takes for `texts`, by the wall clock."""
    start = time.perf_counter()
    way(texts)
    return time.perf_counter() - start


def peak_mib() -> int:
    """The most memory this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    texts, long_texts = chat(options.texts), [" ".join(chat(10, seed)) for seed in range(40)]
    before, embedder = peak_mib(), MiniLMEmbedder()
    embedder.embed(long_texts)
    print(f"peak memory: {before} MiB with the libraries imported, {peak_mib()} MiB after 40 long texts")
    bare = Bare()
    ways: dict[str, Way] = {
        "MiniLMEmbedder": embedder.embed,
        "bare, one by one": bare.one_by_one,
        "bare, 32 at a time": bare.by_32,
    }
    rounds = [{name: seconds(way, texts) for name, way in ways.items()} for _ in range(options.rounds)]
    for name in ways:
        rate = median(len(texts) / took[name] for took in rounds)
        ratio = median(took[name] / took["MiniLMEmbedder"] for took in rounds)
        print(f"{name:20} {rate:6.0f} texts/s   MiniLMEmbedder is {ratio:.2f} times as fast")
    queries = [f"what did I say about {word} last week" for word in WORDS]
    print(f"one query: p50 {median(seconds(embedder.embed, [query]) for query in queries) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
