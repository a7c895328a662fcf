"""Short-term caches on the context topic: answers of models and tools, and what a session keeps."""
