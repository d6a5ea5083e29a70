"""Computes when a worker extends the visibility timeout of its message and the lease of its run. Pure. Times are
seconds of any steady clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MIN_BEAT = 1.0
REPORT_SECONDS = 10.0
"""The shortest time between a heartbeat and another one that is only sent to report progress. Each heartbeat costs a
write unit. It is longer than the API's shortest interval between written heartbeats (BEAT_SECONDS in
`domain.runs.callbacks`).
"""
MAX_HEARTBEAT_SECONDS = 60.0
"""The longest time between heartbeats. A job without a heartbeat timeout also gets one a minute, so that its worker
notices when the run is over.
"""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The times at which the message's visibility timeout must be extended and the next heartbeat is due (None: this
    run has no heartbeats). Unsent progress is not sent before `report_at`.
    """

    extend_at: float
    beat_at: float | None
    report_at: float

    @classmethod
    def starting(cls, now: float, visibility_seconds: float, *, beats: bool) -> Rhythm:
        """Return the times for a message that was received at `now`."""
        return cls(now + extension_after(visibility_seconds), now if beats else None, now)

    def extended(self, now: float, visibility_seconds: float) -> Rhythm:
        """Return the new times. Call this after each try to extend the visibility timeout of the message."""
        return replace(self, extend_at=now + extension_after(visibility_seconds))

    def beaten(self, now: float, seconds_left: float | None, *, reported: bool) -> Rhythm:
        """Return the new times. Call this after each successful heartbeat. The next heartbeat must arrive within
        `seconds_left` (None: no deadline). `reported` is true if the heartbeat contained progress.
        """
        report_at = now + REPORT_SECONDS if reported else self.report_at
        return replace(self, beat_at=now + beat_after(seconds_left), report_at=report_at)

    def progressed(self) -> Rhythm:
        """Return the new times. Call this when there is progress that was not sent."""
        return self if self.beat_at is None else replace(self, beat_at=min(self.beat_at, self.report_at))

    def unheard(self, now: float, retry_after: float | None = None) -> Rhythm:
        """Return the new times. Call this after a heartbeat that was not accepted. The worker tries again soon, but not
        before `retry_after` seconds, if the API has requested this.
        """
        again = now + min(max(retry_after or 0.0, MIN_BEAT), MAX_HEARTBEAT_SECONDS)
        return replace(self, beat_at=again, report_at=again)

    def silent(self) -> Rhythm:
        """Return the new times. Call this when the API has reported that the attempt is over: no heartbeat follows."""
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
