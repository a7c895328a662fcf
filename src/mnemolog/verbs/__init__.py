"""The verbs of a memory, by what they are for; `Memory` and `AsyncMemory` are made of them."""
