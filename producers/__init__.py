"""The write side: validate, turn into an event, append to a log. Knows nothing of views or of recall."""

from mnemolog.producers.memory_producer import MemoryProducer

__all__ = ["MemoryProducer"]
