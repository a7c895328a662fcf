"""Events, topics, rows and ports: what producers, processors and query share.

Pure by contract: nothing here does I/O, reads a clock or imports a broker, a database or an event loop.
"""
