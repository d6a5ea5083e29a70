"""The first look at the stage, as far as the API may look: what `duecourse doctor` says with fewer rights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from duecourse.checks import verdicts
from duecourse.checks.check import Check, unknown
from duecourse.checks.facts import Alarms, Queue, Shards, Watermarks
from duecourse.domain.jobs.policies import Lane
from duecourse.ports import CloudWatchUnavailableError, Depths, StageAlarms
from duecourse.usecases.runs.health import Health, Status

ASK_AGAIN = "ask again; if it stays so, see that the role of the function Api has the rights that its release asks for"
RIGHTS = "docs/security.md#what-each-function-may-do"


@dataclass(frozen=True, slots=True)
class StageLook:
    """What was found, in the order in which a run is made; `alarms` is None where CloudWatch did not tell."""

    checks: tuple[Check, ...]
    alarms: Alarms | None


@dataclass(frozen=True, slots=True)
class StageChecks:
    """Looks at tick, shards, watermarks, lanes and alarms. What cannot be looked at hides nothing else."""

    health: Health
    depths: Depths
    stage_alarms: StageAlarms
    shards: int

    def look(self) -> StageLook:
        """The present state of the stage. Nothing of any tenant is in it."""
        checks = [*self._clock(), *(self._lane(lane) for lane in Lane)]
        try:
            alarms = self.stage_alarms.alarms()
        except CloudWatchUnavailableError as error:
            return StageLook((*checks, unknown("alarms", str(error), ASK_AGAIN, RIGHTS)), None)
        return StageLook((*checks, verdicts.alarms(alarms)), alarms)

    def _clock(self) -> Iterator[Check]:
        pulse, dispatching = self.health.pulse(), self.health.dispatching()
        # The API does not know when the stack was made: it is young until it should have ticked.
        age = 0.0 if pulse.last is None and pulse.status is Status.OK else math.inf
        yield verdicts.ticked(pulse.age, age)
        yield verdicts.shards(Shards(dispatching.shards or None, {"Api": self.shards}, age))
        yield verdicts.watermarks(Watermarks(dispatching.behind, age))

    def _lane(self, lane: Lane) -> Check:
        depth = self.depths.depth(lane)
        if depth is None:
            return unknown(f"lane {lane.value}", "SQS did not say how full it is", ASK_AGAIN, RIGHTS)
        return verdicts.lane(Queue(lane.value, depth.waiting, depth.delayed, depth.in_flight))
