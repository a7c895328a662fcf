"""How hard properties are tried: the same few examples in every run, more of them on demand."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

EFFORT = int(os.environ.get("MNEMOLOG_TEST_EFFORT", "1"))
"""Multiplies the examples of every property; above 1 they are new ones in each run, and what fails is shrunk.

Shrinking a long history takes minutes, which a plain run does not have: it shows the history as it was found.
"""


def examples(count: int) -> settings:
    """Settings for a property that is tried with `count` examples."""
    return settings(
        max_examples=count * EFFORT,
        derandomize=EFFORT == 1,
        phases=[phase for phase in Phase if EFFORT > 1 or phase not in (Phase.shrink, Phase.explain)],
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
