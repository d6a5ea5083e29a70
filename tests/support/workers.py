"""Workers put together as `bootstrap.execute` does, from whatever stores, queues and clocks a test has."""

from __future__ import annotations

from dataclasses import dataclass, field

from duecourse.domain.jobs.policies import Lane
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
    Timers,
    WorkflowStore,
)
from duecourse.usecases.announce import Announcements
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.worker.call import Calls
from duecourse.usecases.worker.coverage import Coverage
from duecourse.usecases.worker.failing_jobs import FailingJobs
from duecourse.usecases.worker.finish import TransitionWriter
from duecourse.usecases.worker.line import Line
from duecourse.usecases.worker.overlap import Overlaps
from duecourse.usecases.worker.receive import LaneWorker
from duecourse.usecases.worker.requeue import Requeue
from duecourse.usecases.worker.side_effects import SideEffects
from duecourse.usecases.worker.start import Starter
from duecourse.usecases.worker.work_item import WorkerRules
from duecourse.usecases.workflows.workflows import Workflows
from tests.support.inputs import MemoryInputs
from tests.support.workflows import NoWorkflows


@dataclass(frozen=True)
class Workshop:
    """Everything that a worker works with."""

    jobs: JobStore
    runs: RunStore
    timers: Timers
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
    workflows: WorkflowStore = field(default_factory=NoWorkflows)

    def worker(self, lane: Lane = Lane.NORMAL, max_receive_count: int = 5) -> LaneWorker:
        """A worker of a lane."""
        rules = WorkerRules(lane, max_receive_count, 90)
        transitions, coverage = self.transitions(lane), Coverage(self.runs)
        requeue = Requeue(self.runs, self.clock, self.randomness, transitions.effects.forwarder, rules)
        workflows = transitions.effects.workflows
        starter = Starter(Calls(self.caller, self.inputs, self.clock, workflows), transitions, requeue, coverage)
        return LaneWorker(self.jobs, starter, transitions, requeue, coverage, workflows)

    def transitions(self, lane: Lane | None) -> TransitionWriter:
        """What writes records, for a worker or (without a lane) for the dead-letter reconciler."""
        forwarder = Forwarder(self.lanes, self.received, self.timers, self.clock, lane)
        effects = SideEffects(
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
            Workflows(self.workflows, self.jobs, self.inputs, forwarder, self.clock, self.randomness),
        )
        return TransitionWriter(effects, self.results)
