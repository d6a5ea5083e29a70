"""Workers put together as `bootstrap.execute` does, from whatever stores, queues and clocks a test has."""

from __future__ import annotations

from dataclasses import dataclass, field

from duecourse.domain.job import Lane
from duecourse.ports import (
    Bus,
    Caller,
    Clock,
    Inputs,
    JobStore,
    Lanes,
    Lines,
    Notices,
    Randomness,
    Received,
    Results,
    RunStore,
    Wakes,
)
from duecourse.usecases.aftermath import Aftermath
from duecourse.usecases.announce import Announcements
from duecourse.usecases.attempt import Attempts
from duecourse.usecases.begin import Beginner
from duecourse.usecases.copies import Copies
from duecourse.usecases.coverage import Coverage
from duecourse.usecases.execute import Execute
from duecourse.usecases.failing_jobs import FailingJobs
from duecourse.usecases.hand import Forwarder, WorkerRules
from duecourse.usecases.keep_result import KeepResult
from duecourse.usecases.line import Line
from duecourse.usecases.overlap import Overlaps
from duecourse.usecases.settle import Settler
from tests.support.inputs import MemoryInputs


@dataclass(frozen=True)
class Workshop:
    """Everything that a worker works with."""

    jobs: JobStore
    runs: RunStore
    wakes: Wakes
    lines: Lines
    lanes: Lanes
    received: Received
    caller: Caller
    notices: Notices
    bus: Bus
    results: Results
    clock: Clock
    randomness: Randomness
    inputs: Inputs = field(default_factory=MemoryInputs)

    def worker(self, lane: Lane = Lane.NORMAL, max_receive_count: int = 5) -> Execute:
        """A worker of a lane."""
        rules = WorkerRules(lane, max_receive_count, 90)
        forwarder = self._forwarder(lane)
        settler = self.settler(lane)
        copies = Copies(self.runs, self.clock, self.randomness, forwarder, rules)
        overlaps, coverage = Overlaps(self.runs, self.lines, self.clock), Coverage(self.runs)
        line = Line(self.lines, forwarder, self.clock, self.randomness)
        beginner = Beginner(
            self.caller,
            self.inputs,
            self.clock,
            self.randomness,
            overlaps,
            line,
            forwarder,
            settler,
            copies,
            coverage,
            rules,
        )
        attempts = Attempts(
            self.jobs, self.runs, self.clock, self.randomness, forwarder, beginner, settler, copies, coverage, rules
        )
        return Execute(attempts)

    def settler(self, lane: Lane | None) -> Settler:
        """What writes records and follows them, for a worker or (without a lane) for the dead-letter reconciler."""
        forwarder = self._forwarder(lane)
        aftermath = Aftermath(
            self.jobs,
            self.runs,
            self.notices,
            Announcements(self.bus, self.clock),
            FailingJobs(self.jobs, self.runs, self.clock),
            self.clock,
            self.randomness,
            Overlaps(self.runs, self.lines, self.clock),
            Line(self.lines, forwarder, self.clock, self.randomness),
            forwarder,
        )
        return Settler(self.runs, aftermath, KeepResult(self.results))

    def _forwarder(self, lane: Lane | None) -> Forwarder:
        return Forwarder(self.lanes, self.received, self.wakes, self.clock, lane)
