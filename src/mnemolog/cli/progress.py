"""Progress bars on stderr: only where a person sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mnemolog.cli.output import is_watched

Advance = Callable[[int, int | None], None]
"""Is told (done so far, all there is to do if that is known)."""


@contextmanager
def progress(title: str, *, shown: bool = True) -> Iterator[Advance]:
    """A bar with counts and the time that is left; nothing where nobody watches."""
    if not shown or not is_watched():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
