"""Benchmarks: each a module with one command, with its peers measured in the same run."""
