"""TCP ports of this machine: free, taken, or answered by Kafka."""

from __future__ import annotations

import random
import socket
import struct
import time

HOST = "127.0.0.1"

# Below the range from which Linux and macOS take the source ports of outgoing connections. Inside it, a
# client that retries while the broker is down can connect to itself (TCP simultaneous open) and so hold the
# broker's port.
PORT_RANGE = range(20_000, 30_000)

_CORRELATION = 7
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, _CORRELATION, -1)


def is_taken(port: int) -> bool:
    """True if nobody can listen on the port now."""
    with socket.socket() as sock:
        # As the broker does: connections of a killed one that linger in TIME_WAIT are no obstacle.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((HOST, port))
            sock.listen()
        except OSError:
            return True
    return False


def wait_free(port: int, timeout: float) -> bool:
    """True once the port can be listened on; False if it is still taken after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while is_taken(port):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def free_port(avoid: int = 0) -> int:
    """A port on which nobody listens, other than `avoid`."""
    for port in random.sample(PORT_RANGE, len(PORT_RANGE)):
        if port != avoid and not is_taken(port):
            return port
    raise OSError(f"no free port in {PORT_RANGE}")


def answers(port: int, timeout: float = 2.0) -> bool:
    """True if a Kafka broker replies to an ApiVersions request (key 18, version 0) on the port.

    A KRaft broker serves requests only after its controller has let it into the cluster.
    """
    try:
        with socket.create_connection((HOST, port), timeout) as sock:
            sock.sendall(_API_VERSIONS)
            reply = sock.recv(8, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(reply) == 8 and struct.unpack(">i", reply[4:])[0] == _CORRELATION
