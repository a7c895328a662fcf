"""`mnemolog cache stats|clear`: what the short-term caches were good for, and emptying them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, plain, print_json, print_table, say
from mnemolog.cli.session import open_memory
from mnemolog.cli.shell import UsageError

if TYPE_CHECKING:
    from mnemolog.caches.caches import Caches
    from mnemolog.caches.counting import CacheCounts

TIERS = ("llm", "tool", "session")

app = typer.Typer(
    help="The short-term caches of a namespace: answers of models and tools, and sessions.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def stats(target: Target) -> None:
    """Hits and misses by tier, tool and model, what they saved, and advice on each tool's time to live."""
    with open_memory(target) as memory:
        found, advice = memory.cache.stats(), memory.cache.effectiveness()
    if target.json:
        print_json({**plain(found), "effectiveness": advice})
        return
    rows = [(tier, "", *_numbers(getattr(found, tier)), "") for tier in TIERS]
    advised = {one.tool: one.recommendation for one in advice}
    for tier, by_name in (("llm", found.per_model), ("tool", found.per_tool)):
        rows += _named(tier, by_name, advised if tier == "tool" else {})
    print_table(("tier", "name", "hits", "misses", "hit rate", "saved", "advice"), rows)


def _named(
    tier: str, counts: Mapping[str, CacheCounts], advice: Mapping[str, str]
) -> list[tuple[object, ...]]:
    return [(tier, name, *_numbers(one), advice.get(name, "")) for name, one in counts.items()]


def _numbers(counts: CacheCounts) -> tuple[object, ...]:
    return counts.hits, counts.misses, counts.hit_rate, counts.saved_micros / 1_000_000


def clear(
    target: Target,
    tiers: Annotated[
        list[str] | None, typer.Argument(metavar="[llm|tool|session]…", help="By default all three.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Only answers of this model.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only answers of this tool.")] = None,
) -> None:
    """Drop what the caches hold. Policies and counts stay."""
    if unknown := set(tiers or ()) - set(TIERS):
        raise UsageError(f"there is no tier {min(unknown)!r}; there are {', '.join(TIERS)}")
    if (tiers and (model or tool)) or (model and tool):
        raise UsageError("give tiers, or --model, or --tool")
    with open_memory(target) as memory:
        dropped = _clear(memory.cache, tiers or TIERS, model, tool)
    if target.json:
        print_json({"dropped": dropped})
    else:
        say(f"dropped {dropped} entries" if dropped != 1 else "dropped 1 entry")
        if not dropped:
            note("nothing was there")


def _clear(cache: Caches, tiers: tuple[str, ...] | list[str], model: str | None, tool: str | None) -> int:
    if model is not None:
        return cache.llm.invalidate_by_model(model)
    if tool is not None:
        return cache.tool.invalidate_by_tool(tool)
    return sum(getattr(cache, tier).clear() for tier in sorted(set(tiers)))


command(app)(stats)
command(app)(clear)
