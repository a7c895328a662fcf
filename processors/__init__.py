"""Processors: fold the events of the log into views, in a worker, in a replay or inline."""
