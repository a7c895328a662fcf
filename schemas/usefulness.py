"""What those who fit the usefulness model and those who use it must agree on."""

from __future__ import annotations

FEATURE_SET = "2"
"""Names the meaning of the features; a model of another set is not used."""

PRIOR = 8.0
"""The weight of log relevance, the first feature, before anything was learned; that of every other is 0."""

ANY = "*"
"""The shape that every memory has: its link is the base rate of a query type."""
