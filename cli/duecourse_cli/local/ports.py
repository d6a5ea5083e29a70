"""Ports of the loopback interface."""

from __future__ import annotations

import socket

from duecourse_cli.errors import UsageError

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port that nobody uses right now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


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
