"""Computes when a worker extends the visibility timeout of its message and the lease of its run. Pure; times are
seconds of any steady clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MIN_BEAT = 1.0
MAX_HEARTBEAT_SECONDS = 60.0
"""A job that asks for no heartbeats gets one a minute all the same: that is how its worker learns that it is over."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When the message must be hidden for longer, and when the next heartbeat is due (None: this run has none)."""

    extend_at: float
    beat_at: float | None

    @classmethod
    def starting(cls, now: float, visibility_seconds: float, *, beats: bool) -> Rhythm:
        """Of a message that was received at `now`."""
        return cls(now + extension_after(visibility_seconds), now if beats else None)

    def extended(self, now: float, visibility_seconds: float) -> Rhythm:
        """After an attempt to extend the visibility timeout of the message."""
        return replace(self, extend_at=now + extension_after(visibility_seconds))

    def beaten(self, now: float, seconds_left: float | None) -> Rhythm:
        """After a successful heartbeat; the next one is due in `seconds_left` (None: no deadline)."""
        return replace(self, beat_at=now + beat_after(seconds_left))

    def unheard(self, now: float, retry_after: float | None = None) -> Rhythm:
        """After a heartbeat that was not accepted: retry soon, because the remaining time is unknown, but not earlier
        than the API requests (seconds).
        """
        return replace(self, beat_at=now + min(max(retry_after or 0.0, MIN_BEAT), MAX_HEARTBEAT_SECONDS))

    def silent(self) -> Rhythm:
        """After the API reported that the attempt is over."""
        return replace(self, beat_at=None)

    def seconds_to_next(self, now: float) -> float:
        """The number of seconds until the next action."""
        due = self.extend_at if self.beat_at is None else min(self.extend_at, self.beat_at)
        return max(due - now, 0.0)


def extension_after(visibility_seconds: float) -> float:
    """A third of the time that a message is hidden: two extensions may fail before it shows again."""
    return visibility_seconds / 3


def beat_after(seconds_left: float | None) -> float:
    """A third of the time that is left, at least a second."""
    if seconds_left is None:
        return MAX_HEARTBEAT_SECONDS
    return min(max(seconds_left / 3, MIN_BEAT), MAX_HEARTBEAT_SECONDS)
