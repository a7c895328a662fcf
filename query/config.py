"""The settings that hold for a namespace right now: its own over the global ones over the handle's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from mnemolog.query.scoring.presets import PRESETS, check_preset
from mnemolog.query.scoring.weights import Weights
from mnemolog.schemas.settings import WEIGHT, Settings, check_setting

Level: TypeAlias = Literal["global", "namespace"]


@dataclass(frozen=True, slots=True)
class Config:
    """What recall and the workers go by. `origins` says at which level a setting was made.

    `threshold` is the greatest cosine distance of a hit, `scoring` the preset that `weights` started from
    (None: the handle's own weights), `max_items_per_scope` how many memories the namespace keeps,
    `near_duplicate` the least cosine at which a new memory replaces an older one. None is no limit, or off.
    `lasting` are the kinds whose memories do not age.
    """

    threshold: float | None = None
    scoring: str | None = None
    weights: Weights = field(default_factory=Weights)
    max_items_per_scope: int | None = None
    near_duplicate: float | None = None
    lasting: frozenset[str] = frozenset()
    origins: Mapping[str, Level] = field(default_factory=dict)


def check_score_setting(name: str, value: Any) -> None:
    """Refuse a weight or a preset that the score does not know, and all that `check_setting` refuses.

    Raises:
        InvalidInputError: `field` names the setting.
    """
    check_setting(name, value)
    if name == "scoring" and value is not None:
        check_preset(value)
    if name.startswith(WEIGHT):
        Weights().updated({name.removeprefix(WEIGHT): 1.0 if value is None else value})


def resolve(own: Weights, everywhere: Settings, here: Settings) -> Config:
    """The settings of a namespace, from those `everywhere` and those `here`, over a handle's `own` weights.

    A preset replaces the weights of the levels below it; single weights change it. All are checked already.
    """
    if not everywhere and not here:
        return Config(weights=own)
    weights = _weights(_weights(own, everywhere), here)
    both: Settings = {**everywhere, **here}
    origins: dict[str, Level] = {**dict.fromkeys(everywhere, "global"), **dict.fromkeys(here, "namespace")}
    plain = ("threshold", "scoring", "max_items_per_scope", "near_duplicate")
    lasting = frozenset(both.get("lasting") or ())
    return Config(
        weights=weights, origins=origins, lasting=lasting, **{name: both.get(name) for name in plain}
    )


def _weights(below: Weights, settings: Settings) -> Weights:
    base = PRESETS[settings["scoring"]] if "scoring" in settings else below
    single = {name.removeprefix(WEIGHT): value for name, value in settings.items() if name.startswith(WEIGHT)}
    return base.updated(single)
