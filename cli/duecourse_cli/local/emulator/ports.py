"""Ports of the loopback interface."""

from __future__ import annotations

import random
import socket

from duecourse_cli.errors import UsageError

LOOPBACK = "127.0.0.1"
FOR_SERVERS = range(10_240, 32_768)
"""Systems take the ports of outgoing connections from above these (Linux from 32768, others from 49152): one of those
that is free now may be taken by any connection before a server listens on it, or at its next start.
"""


def free_port() -> int:
    """A port that nobody uses right now, and that no outgoing connection will use."""
    return next(port for port in random.sample(FOR_SERVERS, len(FOR_SERVERS)) if not is_taken(port))


def is_taken(port: int) -> bool:
    """Whether a server could not listen on this port now (one that was closed a moment ago is free)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
        return False


def require_free(port: int, remedy: str) -> int:
    """The same port, or one clear line when it is taken."""
    if is_taken(port):
        raise UsageError(f"port {port} is taken: {remedy}")
    return port
