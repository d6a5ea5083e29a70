"""Connections to HTTPS targets that stay open between calls. A TLS handshake costs more than the rest of a call."""

from __future__ import annotations

import select
import socket
from dataclasses import dataclass, field
from threading import Lock

MAX_IDLE_SECONDS = 5
"""How long a connection is kept after a response, in seconds. Servers and load balancers close idle connections, and
connections of a frozen function end without notice.
"""

MAX_AGE_SECONDS = 60
"""The age from which a connection is not used again, in seconds. The host is resolved, and its addresses are checked,
at least this often.
"""

MAX_IDLE = 20
"""The maximum number of idle connections of a process."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An open connection to a host and port. `opened` and `used` are instants (UTC seconds)."""

    place: tuple[str, int]
    sock: socket.socket
    opened: float
    used: float

    def usable(self, now: float) -> bool:
        """Return whether the connection is young, was idle for a short time, and has nothing to read. A connection with
        something to read has ended, or the server sent more than its response.
        """
        if not (0 <= now - self.used <= MAX_IDLE_SECONDS and now - self.opened <= MAX_AGE_SECONDS):
            return False
        ready = select.poll()
        ready.register(self.sock, select.POLLIN)
        return not ready.poll(0)


@dataclass(slots=True)
class KeptConnections:
    """The idle connections of a process. Safe to share between threads: one thread at a time uses a connection."""

    _idle: list[Kept] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def take(self, place: tuple[str, int], now: float) -> Kept | None:
        """Return a connection to a host and port that can be used at `now` (UTC seconds), the last used one first.
        Connections to it that cannot be used are closed.
        """
        while True:
            with self._lock:
                found = next((kept for kept in reversed(self._idle) if kept.place == place), None)
                if found is None:
                    return None
                self._idle.remove(found)
            if found.usable(now):
                return found
            found.sock.close()

    def keep(self, kept: Kept) -> None:
        """Keep a connection after a complete response. The connection that was idle the longest makes room for it."""
        with self._lock:
            self._idle.append(kept)
            surplus = [self._idle.pop(0)] if len(self._idle) > MAX_IDLE else []
        for one in surplus:
            one.sock.close()

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for kept in idle:
            kept.sock.close()

    __del__ = close
