"""The health of a stage: the age of the last tick."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from duecourse.domain.jobs.sharding import bucket_of, bucket_start
from duecourse.ports import Clock, TickMark
from duecourse.usecases.dispatch.dispatch import WATERMARK_LAG_SECONDS

LATE_SECONDS = 180
"""An older last tick is late: three were missed. Occurrences due within the lookahead (five minutes) are still
enqueued."""

FRESH_SECONDS = 5
"""How long the mark is cached, so that unauthenticated requests for the health cost no reads."""


class Status(StrEnum):
    """The health of the stage."""

    OK = "ok"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class ClockHealth:
    """When the last tick came (None: there was none yet), how long ago (s), and the status."""

    status: Status
    last: float | None
    age: float | None


@dataclass(frozen=True, slots=True)
class Dispatching:
    """`shards` is the highest count ever used; `behind` has for each shard how far (s) its watermark is behind its
    normal place: 0 if it is not, None if no round has ended yet.
    """

    shards: int
    behind: dict[int, int | None]


@dataclass(slots=True)
class _Seen:
    asked: float | None = None
    last: float | None = None
    first_asked: float | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """One instance per process, which caches the mark for some seconds."""

    mark: TickMark
    clock: Clock
    _seen: _Seen = field(default_factory=_Seen, repr=False)

    def pulse(self) -> ClockHealth:
        """Late when the last tick is older than LATE_SECONDS.

        Before the first tick the time counts from this instance's first call: a new stack is not late, and one whose
        rule never fires is late after three minutes.
        """
        seen, now = self._seen, self.clock.now()
        if seen.first_asked is None:
            seen.first_asked = now
        if seen.asked is None or not 0 <= now - seen.asked < FRESH_SECONDS:
            seen.last, seen.asked = self.mark.last(), now
        since = seen.first_asked if seen.last is None else seen.last
        status = Status.LATE if now - since > LATE_SECONDS else Status.OK
        return ClockHealth(status, seen.last, None if seen.last is None else max(now - seen.last, 0.0))

    def dispatching(self) -> Dispatching:
        """How far each shard is."""
        could = bucket_start(bucket_of(self.clock.now() - WATERMARK_LAG_SECONDS))
        found = self.mark.progress().watermarks
        behind = {
            shard: None if bucket is None else max(could - bucket_start(bucket), 0) for shard, bucket in found.items()
        }
        return Dispatching(len(found), behind)
