"""The workers of a lane over whatever stores, queues and clock there are: AWS's (bootstrap), or those of
duecourse.testing.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from duecourse.usecases.worker.attempt import LaneWorker, Starter, TransitionWriter
from duecourse.usecases.worker.call import Calls
from duecourse.usecases.worker.coverage import Coverage
from duecourse.usecases.worker.effects import FailingJobs, SideEffects
from duecourse.usecases.worker.overlap import Line, Overlaps
from duecourse.usecases.worker.requeue import Requeue
from duecourse.usecases.worker.work_item import WorkerRules
from duecourse.usecases.workflows.payloads import Payloads
from duecourse.usecases.workflows.workflows import Workflows


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPorts:
    """What the writer of runs' records reads and writes, for workers and the dead-letter reconciler."""

    jobs: JobStore
    runs: RunStore
    timers: Timers
    lines: Lines
    inputs: Inputs
    workflows: WorkflowStore
    lanes: Lanes
    received: Received
    notices: Notices
    bus: Bus
    results: Results
    clock: Clock
    randomness: Randomness


def transitions_of(ports: WorkerPorts, lane: Lane | None) -> TransitionWriter:
    """The writer of records and their side effects; without a lane each message goes to the one that it names."""
    forwarder = Forwarder(ports.lanes, ports.received, ports.timers, ports.clock, lane)
    effects = SideEffects(
        jobs=ports.jobs,
        runs=ports.runs,
        notices=ports.notices,
        announcements=Announcements(ports.bus, ports.clock),
        failing=FailingJobs(ports.jobs, ports.runs, ports.clock),
        clock=ports.clock,
        randomness=ports.randomness,
        overlaps=Overlaps(ports.runs, ports.lines, ports.clock),
        line=Line(ports.lines, forwarder, ports.clock, ports.randomness),
        forwarder=forwarder,
        workflows=Workflows(ports.workflows, ports.jobs, ports.inputs, forwarder, ports.clock, ports.randomness),
    )
    return TransitionWriter(effects, ports.results)


def worker_of(ports: WorkerPorts, caller: Caller, rules: WorkerRules) -> LaneWorker:
    """The workers of a lane, which call targets by `caller`."""
    transitions, coverage = transitions_of(ports, rules.lane), Coverage(ports.runs)
    workflows = transitions.effects.workflows
    requeue = Requeue(ports.runs, ports.clock, ports.randomness, transitions.effects.forwarder, rules)
    payloads = Payloads(ports.workflows, ports.jobs, ports.inputs)
    starter = Starter(Calls(caller, payloads, ports.clock, ports.randomness, workflows), transitions, requeue, coverage)
    return LaneWorker(ports.jobs, starter, transitions, requeue, coverage, workflows)
