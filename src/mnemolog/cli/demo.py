"""`mnemolog demo`: the main job from end to end, and whether all it shows holds."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mnemolog.cli import demo_conversation as talk
from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import print_json, say
from mnemolog.cli.session import LOG_FILE, VIEWS_FOLDER

if TYPE_CHECKING:
    from mnemolog.memory import Memory
    from mnemolog.processors.generations import Contents
    from mnemolog.processors.replay import ReplayReport
    from mnemolog.query.models import Hits
    from mnemolog.schemas.ports import Embedder

_SHOWN = 2
_REPLAYS = 5


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(demo)


class Report:
    """Tells what happens as it happens, and keeps whether each claim held.

    An answer has to be among the best `places`: first with the default model, third with any other.
    """

    def __init__(self, *, silent: bool, places: int) -> None:
        self._silent = silent
        self.places = places
        self.claims: dict[str, bool] = {}

    @property
    def holds(self) -> bool:
        """Whether every claim held."""
        return all(self.claims.values())

    def tell(self, line: str) -> None:
        """A line of the story."""
        if not self._silent:
            say(line)

    def claim(self, claim: str, held: bool) -> None:
        """A claim, and whether it held."""
        self.claims[claim] = held
        self.tell(f"  {'ok    ' if held else 'FAILED'} {claim}")


def demo(target: Target) -> int:
    """Remember a conversation, recall with reasons, supersede, forget, replay.

    Runs embedded: in a folder that is gone afterwards, or in --path. Exits 0 if all that it shows holds.
    """
    from mnemolog.embedders import resolve

    is_default = target.embedder in (None, "minilm")
    report, started = Report(silent=target.json, places=1 if is_default else 3), time.monotonic()
    with _home(target) as home:
        _run(home, resolve(target.embedder), report)
    seconds = time.monotonic() - started
    if target.json:
        print_json({"ok": report.holds, "seconds": round(seconds, 2), "claims": report.claims})
    else:
        failed = sum(not held for held in report.claims.values())
        say(f"\n{len(report.claims)} claims, {failed or 'none'} failed, {seconds:.1f} s")
    return ExitCode.OK if report.holds else ExitCode.INCOMPLETE


@contextmanager
def _home(target: Target) -> Iterator[Path]:
    with ExitStack() as stack:
        if target.path is None or not target.typed_path:
            yield Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mnemolog-demo-")))
        else:
            yield target.path


def _run(home: Path, embedder: Embedder | None, report: Report) -> None:
    from mnemolog.opening import open as open_embedded

    namespace = ("demo", f"mara-{time.time_ns()}")
    report.tell(f"a memory in {home}, namespace {'/'.join(namespace)}")
    with open_embedded(home, namespace, embedder=embedder or "none") as memory:
        _remember(memory, report)
        hits = _recall(memory, report)
        _give_feedback(memory, hits, report)
        _supersede(memory, report)
        _forget(memory, report)
        _replay(memory, home, embedder, report)


def _remember(memory: Memory, report: Report) -> None:
    messages = talk.messages()
    report.tell(f"\nRemember a conversation of {len(messages)} messages: each is an event in the log")
    started = time.monotonic()
    receipts = memory.remember_many(messages)
    durable = time.monotonic() - started
    memory.wait(receipts[-1].position)
    visible = time.monotonic() - started
    report.tell(
        f"  last event at {receipts[-1].position}; durable in {durable:.3f} s, visible in {visible:.3f} s"
    )
    report.claim("every message is in the view", memory.list().total == len(messages))
    memory.remember_many(messages)
    report.claim("the same writes once more change nothing", memory.list().total == len(messages))


def _recall(memory: Memory, report: Report) -> Hits:
    report.tell("\nRecall, and why")
    for question, answer in talk.QUESTIONS:
        hits = memory.recall(question, k=3)
        report.tell(f"  ? {question}")
        _show(hits, report)
        _claim_found(report, answer, hits)
        report.claim(f"the factors multiply to the score of {answer}", _adds_up(hits))
    return hits


def _show(hits: Hits, report: Report) -> None:
    for hit in hits[:_SHOWN]:
        report.tell(f"    {hit.memory.id}: {hit.memory.text}")
        report.tell(f"        {hit.explain()}")


def _claim_found(report: Report, answer: str, hits: Hits) -> None:
    where = "comes first" if report.places == 1 else f"is among the best {report.places}"
    report.claim(f"{answer} {where}", answer in hits.ids[: report.places])


def _adds_up(hits: Hits) -> bool:
    return all(
        math.isclose(hit.score, math.prod(factor.value for factor in hit.factors.values()), rel_tol=1e-6)
        for hit in hits
    )


def _give_feedback(memory: Memory, hits: Hits, report: Report) -> None:
    used, *ignored = hits.ids
    report.tell(f"\nFeedback on that recall: {used} was used, {', '.join(ignored)} not")
    for _ in range(2):
        memory.feedback(hits.recall_id, used=used, ignored=ignored)
    counts = [(item.use_count, item.ignore_count) for item in map(memory.get, hits.ids) if item is not None]
    report.claim("given twice, it counts once", counts == [(1, 0)] + [(0, 1)] * len(ignored))


def _supersede(memory: Memory, report: Report) -> None:
    report.tell(f"\nSupersede: one memory at a time holds the key {talk.DIET_KEY}")
    for diet in (talk.OLD_DIET, talk.NEW_DIET):
        memory.remember(**diet)  # type: ignore[arg-type]
        report.tell(f"  + {diet['text']}")
    old, new = str(talk.OLD_DIET["id"]), str(talk.NEW_DIET["id"])
    hits = memory.recall(talk.DIET_QUESTION, k=50)
    report.tell(f"  ? {talk.DIET_QUESTION}")
    _show(hits, report)
    report.claim("recall gives the new one, and not the old one", new in hits.ids and old not in hits.ids)
    _claim_found(report, new, hits)
    both = memory.recall(talk.DIET_QUESTION, k=50, include_superseded=True).ids
    report.claim("asked for, the old one comes after it", old in both and both.index(new) < both.index(old))
    item = memory.get(old)
    report.claim("the old one names its successor", item is not None and item.superseded_by == new)
    _show_history(memory, old, report)


def _show_history(memory: Memory, memory_id: str, report: Report) -> None:
    report.tell(f"  history of {memory_id}:")
    for change in memory.history(memory_id):
        reason = f" ({change.reason})" if change.reason else ""
        report.tell(f"    offset {change.offset}: {change.type}{reason}")


def _forget(memory: Memory, report: Report) -> None:
    report.tell("\nForget the door code")
    before = memory.recall(talk.SECRET_QUESTION, k=3)
    _claim_found(report, talk.SECRET, before)
    memory.forget(talk.SECRET, reason="Mara moved out")
    after = memory.recall(talk.SECRET_QUESTION, k=50, include_superseded=True)
    report.tell(f"  ? {talk.SECRET_QUESTION}")
    _show(after, report)
    report.claim("afterwards it is in no recall", talk.SECRET not in after.ids)
    report.claim("nor is it listed or there by its id", memory.get(talk.SECRET) is None and _unlisted(memory))
    _show_history(memory, talk.SECRET, report)


def _unlisted(memory: Memory) -> bool:
    return memory.list(filters={"text": {"contains": "4711"}}, include_superseded=True).total == 0


def _replay(memory: Memory, home: Path, embedder: Embedder | None, report: Report) -> None:
    report.tell("\nReplay: fold the whole log once more, into a fresh view")
    done, kept, rebuilt = _replayed_beside(memory, home, embedder)
    report.tell(f"  {done.applied} events applied, {done.rejected} rejected")
    for name, digest in kept.digests.items():
        again = rebuilt.digests[name]
        rows = f"{digest.live} rows, {digest.tombstones} tombstones"
        report.tell(f"  {name}: {rows}, digest {digest.content[:16]} live, {again.content[:16]} replayed")
        report.claim(f"{name}: live and replayed are equal, vectors too", digest == again)


def _replayed_beside(
    memory: Memory, home: Path, embedder: Embedder | None
) -> tuple[ReplayReport, Contents, Contents]:
    """A replay, what is in the live view, and what is in the replayed one.

    Once more if only one of them had applied what came in between: recalls are logged about a second later.
    """
    from mnemolog.processors.generations import read_contents
    from mnemolog.processors.replay import replay
    from mnemolog.producers.embedded import EmbeddedLog
    from mnemolog.storage.layout import Views

    live = Views(home / VIEWS_FOLDER)
    for _ in range(_REPLAYS):
        memory.stats()  # returns once the live view shows everything
        with (
            tempfile.TemporaryDirectory(prefix="mnemolog-replay-") as folder,
            EmbeddedLog(home / LOG_FILE) as log,
        ):
            fresh = Views(folder)
            done = replay(log, fresh, embedder)
            rebuilt = read_contents(fresh, done.manifest.generation)
        kept = read_contents(live, live.current().generation)
        if kept.applied == rebuilt.applied:
            break
    return done, kept, rebuilt
