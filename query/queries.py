"""The queries of one namespace."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from mnemolog.query.asking import Asking, asked, unit_vector
from mnemolog.query.config import Config, resolve
from mnemolog.query.contexts import ContextQueries
from mnemolog.query.facts import FactQueries
from mnemolog.query.graph_queries import GraphQueries
from mnemolog.query.large_namespace import InView
from mnemolog.query.live import live_at
from mnemolog.query.models import Change, Hits, MemoryItem, to_change, to_item
from mnemolog.query.question import Question
from mnemolog.query.reader import ViewReader
from mnemolog.query.recall import Recalled, recall
from mnemolog.query.scoring.english import asks_of, take_out_names
from mnemolog.query.scoring.query_types import query_type
from mnemolog.query.scoring.usefulness import Link
from mnemolog.query.scoring.weights import Weights
from mnemolog.query.table_queries import TableQueries, selected
from mnemolog.schemas.analysis import analyze
from mnemolog.schemas.checks import check_string
from mnemolog.schemas.errors import InvalidInputError, NotFoundError, ViewMissingError
from mnemolog.schemas.filters import EVERYTHING, And, Compare
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import CONFIG, CONTEXT, FEEDBACK, MEMORIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mnemolog.schemas.ports import Clock, Embedder, Log, NewId
    from mnemolog.storage.table import LanceTable

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked query: its text, and what to look for."""

    text: str
    question: Question
    warnings: tuple[str, ...] = ()


class Queries:
    """Reads one namespace from the views. Needs no log; threads may share it."""

    def __init__(
        self,
        reader: ViewReader,
        namespace: Namespace,
        embedder: Embedder | None,
        clock: Clock,
        new_id: NewId,
        weights: Weights | None = None,
    ) -> None:
        self._reader = reader
        self._namespace = namespace
        self._embedder = embedder
        self._clock = clock
        self._new_id = new_id
        if not isinstance(weights, Weights | None):
            raise InvalidInputError(f"weights is a Weights, not {weights!r:.80}", field="weights")
        self._weights = Weights() if weights is None else Weights().updated(asdict(weights))
        self.graph = GraphQueries(reader.graphs, namespace, clock)
        self.contexts = ContextQueries(reader.contexts, namespace, clock)
        self.table = TableQueries(reader, namespace, clock)
        self.facts = FactQueries(reader, namespace)

    def at(self, namespace: Namespace) -> Queries:
        """The same reader, embedder and weights on another namespace."""
        return Queries(self._reader, namespace, self._embedder, self._clock, self._new_id, self._weights)

    def on(self, reader: ViewReader, clock: Clock) -> Queries:
        """The same namespace, embedder and weights on other views, at another time."""
        return Queries(reader, self._namespace, self._embedder, clock, self._new_id, self._weights)

    @property
    def embedder(self) -> Embedder | None:
        """What embeds queries."""
        return self._embedder

    @property
    def root(self) -> str:
        """Where the views are."""
        return self._reader.root

    def config(self) -> Config:
        """The settings that hold in the namespace right now."""
        return resolve(self._weights, *self._reader.configs.levels(self._namespace))

    def forget_config(self) -> None:
        """Look for settings anew: some were just changed."""
        self._reader.configs.forget()

    def question(self, query: str, **options: Unpack[Asking]) -> Asked:
        """A query, checked and embedded.

        Raises:
            InvalidInputError: a blank query, `k` out of 1…1000, an unknown weight, field or operator.
        """
        if not isinstance(query, str) or not query.strip():
            raise InvalidInputError("the query is empty or blank", field="query")
        query = query.encode(errors="replace").decode()  # half a surrogate pair, as of an emoji cut in two
        names = self._authors()
        named = take_out_names(query, names)
        vector, warnings = self._embed(named.sentence)
        question = Question(
            terms=analyze(named.keywords) if named.keywords.strip() else analyze(query),
            asks=asks_of(query),
            now=self._clock(),
            authors=tuple(names[number] for number in named.authors),
            vector=vector,
            query_type=query_type(query),
            knowledge=self._reader.learned.knowledge(self._namespace),
        )
        return Asked(query, asked(question, self.config(), **options), warnings)

    def question_of_vector(self, vector: Sequence[float], **options: Unpack[Asking]) -> Asked:
        """A vector to look for, checked.

        Raises:
            InvalidInputError: a vector of another length, or one that is not finite; see `question`.
        """
        try:
            dim = self._reader.manifest().dim
        except ViewMissingError:
            dim = len(vector)
        question = Question((), asks_of(""), self._clock(), vector=unit_vector(vector, dim))
        return Asked("", asked(question, self.config(), **options))

    def _authors(self) -> list[str]:
        try:
            with self._reader.recallable(self._namespace) as held:
                return list(held.authors if isinstance(held, InView) else held.authors.values)
        except ViewMissingError:
            return []

    def _embed(self, query: str) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
        if self._embedder is None:
            return None, ()
        try:
            self._reader.manifest().require_embedder(self._embedder.name)
        except ViewMissingError:
            return None, ()
        try:
            return self._embedder.embed([query])[0], ()
        except Exception as error:
            _logger.warning("the embedder failed on a query; keyword search alone", exc_info=True)
            return None, (f"keyword search alone: {type(error).__name__}: {error}",)

    def recall(self, ask: Asked) -> Hits:
        """The best memories for the query, best first; empty where nothing is known yet."""
        try:
            with self._reader.recallable(self._namespace) as held:
                if isinstance(held, InView):
                    found = held.recall(ask.question)
                else:
                    found = recall(held, live_at(held, ask.question.now.timestamp()), ask.question)
        except ViewMissingError:
            found = Recalled([])
        return Hits(
            tuple(found.hits),
            self._new_id(),
            ask.text,
            ask.question.now,
            found.candidates,
            ask.warnings,
            found.nearest_beyond,
            ask.question.threshold,
        )

    def links(self, *, everywhere: bool) -> list[Link]:
        """What feedback taught of the namespace, or of all, the strongest lifts first."""
        knowledge = self._reader.learned.knowledge(self._namespace)
        if knowledge is None:
            return []
        known = knowledge.pooled if everywhere else knowledge.own
        links = [knowledge.link(*key) for key in known]
        return sorted(links, key=lambda link: (-abs(math.log(link.lift)), link.query_type, link.shape))

    def usefulness_tables(self) -> list[LanceTable]:
        """The usefulness views of all shards."""
        try:
            return list(self._reader.shard_tables("usefulness")[1].values())
        except ViewMissingError:
            return []

    def recall_by_kind(self, ask: Asked) -> dict[str, Hits]:
        """The best memories of each kind that has any."""
        try:
            with self._reader.recallable(self._namespace) as held:
                if isinstance(held, InView):
                    kinds = held.kinds(ask.question)
                else:
                    every = selected(held, ask.question.where, self._clock(), superseded=True)
                    kinds = list(held.counts("kind", every))
        except ViewMissingError:
            return {}
        found = {}
        for kind in kinds:
            where = And((ask.question.where, Compare("kind", "eq", kind, "string")))
            hits = self.recall(replace(ask, question=replace(ask.question, where=where)))
            if hits:
                found[kind] = hits
        return found

    def get(self, memory_id: str) -> MemoryItem | None:
        """The memory; None if it is unknown, forgotten or expired."""
        check_string("id", memory_id)
        found = self._reader.live_row(self._namespace, memory_id)
        return None if found is None or self._expired(found[0]) else to_item(*found)

    def _expired(self, row: Row) -> bool:
        return row["expires_at"] is not None and bool(row["expires_at"] <= self._clock())

    def require(self, memory_id: str) -> MemoryItem:
        """The memory.

        Raises:
            NotFoundError: it is unknown, forgotten or expired.
        """
        item = self.get(memory_id)
        if item is None:
            raise NotFoundError(f"no memory {memory_id!r} in namespace {self._namespace!r}")
        return item

    def leads_to(self, item: MemoryItem, memory_id: str) -> bool:
        """Whether following what superseded `item` meets the memory `memory_id`."""
        seen: set[str] = set()
        at: MemoryItem | None = item
        while at is not None and at.id not in seen:
            if at.id == memory_id:
                return True
            seen.add(at.id)
            at = None if at.superseded_by is None else self.get(at.superseded_by)
        return False

    def history(self, memory_id: str) -> list[Change]:
        """The events that changed a memory, oldest first; empty for an unknown one."""
        check_string("id", memory_id)
        for row in self._reader.rows(self._namespace, [memory_id]):
            return [to_change(change) for change in row["history"]]
        return []

    def forgotten(self, ids: Collection[str]) -> set[str]:
        """Those of the memories `ids` that are forgotten, or were never there."""
        return set(ids) - {row["id"] for row in self._reader.rows(self._namespace, ids) if not row["deleted"]}

    def stats(self) -> dict[str, Any]:
        """Counts of the namespace and what its views were built with."""
        counts: dict[str, Any] = {"namespace": list(self._namespace), "memories": 0, "active": 0}
        counts |= {"kinds": {}, "evictions": {}, "consolidation": None}
        try:
            manifest = self._reader.manifest()
            with self._reader.namespace(self._namespace) as cache:
                every = selected(cache, EVERYTHING, self._clock(), superseded=True)
                counts["memories"] = int(every.size)
                counts["active"] = int((~cache.superseded[every]).sum())
                counts["kinds"] = cache.counts("kind", every)
                counts["lacking_vectors"] = int((~cache.has_vector[every]).sum()) if manifest.dim else 0
        except ViewMissingError:
            return counts
        counts["evictions"] = self._reader.evictions(self._namespace)
        counts["consolidation"] = self.facts.progress()
        return counts | {"generation": manifest.generation, "embedder": manifest.embedder}

    @property
    def partition(self) -> int | None:
        """The partition of the namespace; None where there are no views yet."""
        try:
            return self._reader.partition_of(self._namespace)
        except ViewMissingError:
            return None

    def lag(self, log: Log) -> dict[str, int]:
        """Topic → how many events of the namespace's partition are in the log and not in the views."""
        partition = self.partition
        if partition is None:
            return {}
        return {
            topic: log.end_offsets(topic).get(partition, 0) - self._reader.applied(topic, partition)
            for topic in (MEMORIES, FEEDBACK, CONTEXT, CONFIG)
        }
