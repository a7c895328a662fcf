"""Scoring: small pure functions, one formula each, with its source."""
