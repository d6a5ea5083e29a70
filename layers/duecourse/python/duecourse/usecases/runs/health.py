"""The health of a stage: the age of its last tick, and the other checks that the API can make.

`duecourse doctor` has more permissions, and makes the same checks and more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from duecourse.checks import verdicts
from duecourse.checks.check import Check, unknown
from duecourse.checks.facts import Alarms, Queue, Shards, Watermarks
from duecourse.domain.jobs.cursor import bucket_of, bucket_start
from duecourse.domain.jobs.job import Lane
from duecourse.ports import Clock, CloudWatchUnavailableError, Depths, StageAlarms
from duecourse.usecases.dispatch.round import WATERMARK_LAG_SECONDS

if TYPE_CHECKING:
    from duecourse.stores.tick_mark import TickMark

ASK_AGAIN = (
    "try again; if the problem continues, check that the role of the function Api has the permissions "
    "that its release needs"
)
RIGHTS = "docs/security.md#what-each-function-may-do"


@dataclass(frozen=True, slots=True)
class StageLook:
    """The results of the checks, in the order in which a run passes the checked parts. `alarms` is None if CloudWatch
    did not respond.
    """

    checks: tuple[Check, ...]
    alarms: Alarms | None


@dataclass(frozen=True, slots=True)
class StageChecks:
    """Checks the tick, shards, watermarks, lanes and alarms. A check that fails does not prevent the others."""

    health: Health
    depths: Depths
    stage_alarms: StageAlarms
    shards: int

    def look(self) -> StageLook:
        """Return the current state of the stage. It contains no data of any tenant."""
        checks = [*self._clock(), *(self._lane(lane) for lane in Lane)]
        try:
            alarms = self.stage_alarms.alarms()
        except CloudWatchUnavailableError as error:
            return StageLook((*checks, unknown("alarms", str(error), ASK_AGAIN, RIGHTS)), None)
        return StageLook((*checks, verdicts.alarms(alarms)), alarms)

    def _clock(self) -> Iterator[Check]:
        pulse, dispatching = self.health.pulse(), self.health.dispatching()
        # The API does not know when the stack was created. It treats the stack as new until a tick is overdue.
        age = 0.0 if pulse.last is None and pulse.status is Status.OK else math.inf
        yield verdicts.ticked(pulse.age, age)
        yield verdicts.shards(Shards(dispatching.shards or None, {"Api": self.shards}, age))
        yield verdicts.watermarks(Watermarks(dispatching.behind, age))

    def _lane(self, lane: Lane) -> Check:
        depth = self.depths.depth(lane)
        if depth is None:
            return unknown(f"lane {lane.value}", "SQS returned no depth of the queue", ASK_AGAIN, RIGHTS)
        return verdicts.lane(Queue(lane.value, depth.waiting, depth.delayed, depth.in_flight))


LATE_SECONDS = 180
"""If the last tick is older, it is late: three ticks were missed. Occurrences due within the lookahead (five minutes)
are already enqueued.
"""

FRESH_SECONDS = 5
"""How long the mark is cached (seconds), so that unauthenticated health requests do not cost reads."""


class Status(StrEnum):
    """The health of the stage."""

    OK = "ok"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class ClockHealth:
    """The time of the last tick (None: there has been no tick yet), its age (seconds), and the status."""

    status: Status
    last: float | None
    age: float | None


@dataclass(frozen=True, slots=True)
class Dispatching:
    """The progress of dispatching. `shards` is the highest count ever used. `behind` is, for each shard, how far its
    watermark is behind its normal position (seconds): 0 if it is not behind, None if no round has ended yet.
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
    """Reads the mark, and caches it for a few seconds. There is one instance per process."""

    mark: TickMark
    clock: Clock
    _seen: _Seen = field(default_factory=_Seen, repr=False)

    def pulse(self) -> ClockHealth:
        """Return the age of the last tick. The status is late if it is older than LATE_SECONDS.

        Before the first tick, the age counts from this instance's first call. So a new stack is not late, and a stack
        whose rule never fires is late after three minutes.
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
        """Return the progress of each shard."""
        could = bucket_start(bucket_of(self.clock.now() - WATERMARK_LAG_SECONDS))
        found = self.mark.progress()
        behind = {
            shard: None if bucket is None else max(could - bucket_start(bucket), 0) for shard, bucket in found.items()
        }
        return Dispatching(len(found), behind)
