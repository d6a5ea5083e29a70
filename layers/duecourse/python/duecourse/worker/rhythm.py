"""Computes when a worker extends the visibility timeout of its message and the lease of its run. Pure. Times are
seconds of any steady clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MIN_BEAT = 1.0
MAX_HEARTBEAT_SECONDS = 60.0
"""The longest time between heartbeats. A job without a heartbeat timeout also gets one a minute, by which its worker
learns that the run is over.
"""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The times at which the message must be hidden for longer and the next heartbeat is due (None: this run has no
    heartbeats).
    """

    extend_at: float
    beat_at: float | None

    @classmethod
    def starting(cls, now: float, visibility_seconds: float, *, beats: bool) -> Rhythm:
        """Return the times for a message that was received at `now`."""
        return cls(now + extension_after(visibility_seconds), now if beats else None)

    def extended(self, now: float, visibility_seconds: float) -> Rhythm:
        """Return the times after an attempt to extend the visibility timeout of the message."""
        return replace(self, extend_at=now + extension_after(visibility_seconds))

    def beaten(self, now: float, seconds_left: float | None) -> Rhythm:
        """Return the times after a successful heartbeat. The deadline of the next one is in `seconds_left` (None: no
        deadline).
        """
        return replace(self, beat_at=now + beat_after(seconds_left))

    def unheard(self, now: float, retry_after: float | None = None) -> Rhythm:
        """Return the times after a heartbeat that was not accepted: retry soon, because the remaining time is unknown,
        but not earlier than the API requests (seconds).
        """
        return replace(self, beat_at=now + min(max(retry_after or 0.0, MIN_BEAT), MAX_HEARTBEAT_SECONDS))

    def silent(self) -> Rhythm:
        """Return the times after the API reported that the attempt is over."""
        return replace(self, beat_at=None)

    def seconds_to_next(self, now: float) -> float:
        """Return the number of seconds until the next action."""
        due = self.extend_at if self.beat_at is None else min(self.extend_at, self.beat_at)
        return max(due - now, 0.0)


def extension_after(visibility_seconds: float) -> float:
    """Return a third of the time for which a message is hidden: two extensions may fail before it
    becomes visible again.
    """
    return visibility_seconds / 3


def beat_after(seconds_left: float | None) -> float:
    """Return a third of the remaining time, at least one second."""
    if seconds_left is None:
        return MAX_HEARTBEAT_SECONDS
    return min(max(seconds_left / 3, MIN_BEAT), MAX_HEARTBEAT_SECONDS)
