"""Reactors decide what is not deterministic, once, from the views, and append it as events."""
