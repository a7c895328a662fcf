"""What became of a namespace's memories between two moments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from mnemolog.query.models import MemoryItem
from mnemolog.schemas.moments import AsOf

_USE = {"use_count", "ignore_count", "last_used_at", "touched_at", "updated_at", "recorded_at"}
_CONTENT = tuple(one.name for one in fields(MemoryItem) if one.name not in _USE)


@dataclass(frozen=True, slots=True)
class Changed:
    """A memory that was there before and after, and the names of the `fields` that differ."""

    before: MemoryItem
    after: MemoryItem
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """What lies between two moments, each part by the memories' ids.

    `learned` are the memories that only the later moment has; `forgotten` and `expired` those that only the
    earlier one has, as they were then; `changed` those whose content differs, a `superseded_by` among it. Use
    and repetition are no changes. What came and went between the two is not there.
    """

    a: AsOf
    b: AsOf
    learned: tuple[MemoryItem, ...]
    changed: tuple[Changed, ...]
    forgotten: tuple[MemoryItem, ...]
    expired: tuple[MemoryItem, ...]

    def __bool__(self) -> bool:
        return bool(self.learned or self.changed or self.forgotten or self.expired)


def diff_of(
    a: AsOf,
    b: AsOf,
    before: Mapping[str, MemoryItem],
    after: Mapping[str, MemoryItem],
    forgotten: Collection[str],
) -> Diff:
    """The difference of two states by memory id; of what is gone, `forgotten` are not just expired."""
    gone = [before[one] for one in sorted(before.keys() - after.keys())]
    both = [(before[one], after[one]) for one in sorted(before.keys() & after.keys())]
    return Diff(
        a,
        b,
        learned=tuple(after[one] for one in sorted(after.keys() - before.keys())),
        changed=tuple(Changed(old, new, names) for old, new in both if (names := _differing(old, new))),
        forgotten=tuple(one for one in gone if one.id in forgotten),
        expired=tuple(one for one in gone if one.id not in forgotten),
    )


def _differing(old: MemoryItem, new: MemoryItem) -> tuple[str, ...]:
    return tuple(name for name in _CONTENT if getattr(old, name) != getattr(new, name))
