"""The settings that may change while programs run, and what they must be.

Precedence: a call's argument, the namespace's setting, the global setting, the handle's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mnemolog.schemas.checks import check_count, check_finite
from mnemolog.schemas.errors import InvalidInputError

Settings: TypeAlias = dict[str, Any]
"""Setting → value; None takes it back, so that what stands below it shows again."""

MAX_ITEMS = 10**9
WEIGHT = "weights."
_PRESET_CHARS = 64
_ALIASES = {"half_life": "weights.half_life", "recency_floor": "weights.recency_floor"}


def _threshold(field: str, value: Any) -> None:
    check_finite(field, value)
    if not 0 <= value <= 2:
        raise InvalidInputError(f"{field} is a cosine distance from 0 to 2, not {value!r}", field=field)


def _capacity(field: str, value: Any) -> None:
    check_count(field, value, 1, MAX_ITEMS)


def _similarity(field: str, value: Any) -> None:
    check_finite(field, value)
    if not 0 < value <= 1:
        raise InvalidInputError(f"{field} is a cosine over 0, at most 1, not {value!r}", field=field)


def _preset(field: str, value: Any) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= _PRESET_CHARS:
        raise InvalidInputError(f"{field} is the name of a preset, not {value!r:.80}", field=field)


def _kinds(field: str, value: Any) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(kind, str) and kind for kind in value):
        raise InvalidInputError(f"{field} is a list of kinds, not {value!r:.80}", field=field)


def _weight(field: str, value: Any) -> None:
    name = field.removeprefix(WEIGHT)
    check_finite(name, value)
    if value < 0 or (name == "half_life" and value == 0) or (name == "recency_floor" and value > 1):
        raise InvalidInputError(f"{name} can't be {value!r}", field=name)


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "threshold": _threshold,
    "scoring": _preset,
    "max_items_per_scope": _capacity,
    "near_duplicate": _similarity,
    "lasting": _kinds,
}

NAMES = (*_CHECKS, "weights", *_ALIASES)
"""What `set_config` takes. `threshold`: the greatest cosine distance of a hit. `scoring`: a preset of
weights. `weights`: single ones. `max_items_per_scope`: how many memories a namespace keeps. `near_duplicate`:
the least cosine at which a new memory replaces an older one. `lasting`: the kinds that recency leaves
alone."""


def check_setting(name: str, value: Any) -> None:
    """Refuse a setting that there is not, or a value that it can't have; None is always good.

    Which weights and presets there are is for the score to say.

    Raises:
        InvalidInputError: `field` names the setting.
    """
    check = _weight if name.startswith(WEIGHT) and name != WEIGHT else _CHECKS.get(name)
    if check is None:
        raise InvalidInputError(f"unknown setting {name!r:.80}; there are {', '.join(NAMES)}", field=name)
    if value is not None:
        check(name, value)


def flatten(given: Mapping[str, Any]) -> Settings:
    """The arguments of `set_config` as single settings, each checked.

    Raises:
        InvalidInputError: nothing given, an unknown setting, or a value out of range.
    """
    flat: Settings = {}
    for name, value in given.items():
        if name != "weights":
            flat[_ALIASES.get(name, name)] = value
        elif isinstance(value, Mapping) and all(isinstance(weight, str) for weight in value):
            flat |= {f"{WEIGHT}{weight}": exponent for weight, exponent in value.items()}
        else:
            raise InvalidInputError(f"weights is a dict of numbers, not {value!r:.80}", field="weights")
    if not flat:
        raise InvalidInputError(f"name a setting: {', '.join(NAMES)}")
    for name, value in flat.items():
        check_setting(name, value)
    return flat


def sound(settings: Settings, check: Callable[[str, Any], None]) -> tuple[Settings, list[str]]:
    """The settings that pass `check`, and what is wrong with the others: a later release may know more."""
    good: Settings = {}
    problems = []
    for name, value in settings.items():
        try:
            check(name, value)
        except InvalidInputError as error:
            problems.append(f"{name} = {value!r:.80}: {error}")
        else:
            good[name] = value
    return good, problems
