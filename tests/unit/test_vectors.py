"""Vectors that are kept in two bytes a number are as near to a question's as the exact ones, to five digits,
and what the search reads of them tells nearly as much."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.properties import examples

from mnemolog.query.vectors import Vectors

DIM = 48
OFF = 1e-4
NEARLY = 1e-2
WITHOUT = """
import sys
sys.modules["numkong"] = None
import numpy as np
from mnemolog.query.vectors import Vectors
made = np.random.default_rng(1).standard_normal((5_000, 8)).astype(np.float32)
kept = Vectors(8)
kept.reserve(5_000)
kept.put(0, made)
near, exact = kept.near(5_000, made[3]), kept.cosines(np.arange(5_000), made[3])
np.save(sys.argv[1], np.stack([near, exact]))
"""


def unit(seed: int, count: int) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((count, DIM)) ** 3  # a few numbers are large
    rounded: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
        np.float32
    )
    return rounded


def kept(vectors: NDArray[np.float32], cuts: list[int]) -> Vectors:
    store = Vectors(vectors.shape[1])
    for start, end in zip([0, *cuts], [*cuts, len(vectors)], strict=True):
        store.reserve(end)
        store.put(start, vectors[start:end])
    return store


@examples(60)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 60), data=st.data())
def test_cosines_are_those_of_the_exact_vectors(seed: int, count: int, data: st.DataObject) -> None:
    vectors = unit(seed, count + 1)
    sought, vectors = vectors[0], vectors[1:]
    exact = vectors.astype(np.float64) @ sought.astype(np.float64)
    cuts = sorted(data.draw(st.lists(st.integers(0, count), max_size=3)))
    store = kept(vectors, cuts)
    found = store.cosines(np.arange(count), sought)
    assert found.dtype == np.float64
    assert np.abs(found - exact).max() < OFF
    assert np.abs(store.near(count, sought) - exact).max() < NEARLY
    assert np.allclose(store.at(np.arange(count)), vectors, rtol=0, atol=OFF)
    assert np.array_equal(found, kept(vectors, []).cosines(np.arange(count), sought))


def test_a_vector_is_as_near_to_itself_as_can_be() -> None:
    vectors = unit(3, 200)
    store = kept(vectors, [])
    itself = [store.cosines(np.array([at]), vector)[0] for at, vector in enumerate(vectors)]
    assert np.abs(np.array(itself) - 1).max() < 1e-6


def test_any_length_is_kept_and_none_is_near_to_nothing() -> None:
    vectors = unit(4, 4) * np.array([[1e9], [1e-9], [0.0], [1.0]], dtype=np.float32)
    store = kept(vectors, [])
    exact = vectors.astype(np.float64) @ unit(5, 1)[0].astype(np.float64)
    assert np.allclose(store.cosines(np.arange(4), unit(5, 1)[0]), exact, rtol=1e-3, atol=0)
    assert store.near(4, vectors[2]).tolist() == [0.0] * 4
    assert store.near(0, unit(5, 1)[0]).shape == store.cosines(np.arange(0), unit(5, 1)[0]).shape == (0,)


def test_where_numkong_has_no_wheel_numpy_says_the_same(tmp_path: Path) -> None:
    made = np.random.default_rng(1).standard_normal((5_000, 8)).astype(np.float32)
    subprocess.run([sys.executable, "-c", WITHOUT, str(tmp_path / "said.npy")], check=True)
    store = kept(made, [])
    near, exact = np.load(tmp_path / "said.npy")
    assert np.array_equal(near, store.near(5_000, made[3]))
    assert np.array_equal(exact, store.cosines(np.arange(5_000), made[3]))
