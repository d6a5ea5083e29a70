"""A whole scheduler on a settable clock: real tables on an emulator, real use cases, lanes as a timing wheel."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock as ThreadLock
from typing import Any

from duecourse.adapters.dynamodb.cursors.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.maintenance.repair_store import DynamoRepairStore
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.plan import plan
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.jobs.sharding import bucket_of
from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Outcome, Returned
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import (
    Call,
    Claim,
    Claimed,
    Clock,
    CursorStore,
    DeadLetterQueue,
    Lines,
    Outgoing,
    RepairStore,
    RunStore,
    WorkflowStore,
)
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.testing.outbox import Announced, RecordedEvents, StoredResults
from duecourse.usecases.announce import Announcements
from duecourse.usecases.dispatch.claiming import Claiming
from duecourse.usecases.dispatch.dispatch import Dispatch, DispatchRules
from duecourse.usecases.dispatch.enqueue import outgoing
from duecourse.usecases.dispatch.skipping import Skipping
from duecourse.usecases.maintenance.clean_up import CleanUp
from duecourse.usecases.maintenance.index_check import IndexCheck
from duecourse.usecases.maintenance.index_repair import IndexRepair
from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters
from duecourse.usecases.report import Report
from duecourse.usecases.runs.commands import CommandSender
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.work_item import WorkerRules
from duecourse.wiring import Wiring
from tests.support.jobs import NOON, cursor
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.wheel import Wheel

RULES = DispatchRules(shards=1, lookahead=300, horizon=840)
FUNCTION_SECONDS = 120


class Killed(BaseException):
    """The process is gone: nothing catches this, nothing is tidied up."""


@dataclass
class Dying:
    """A cursor store whose process is killed at its first claim: before it (nothing claimed) or after it."""

    store: CursorStore
    after: bool = False

    def __getattr__(self, name: str) -> object:
        return getattr(self.store, name)

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        if self.after:
            self.store.claim(claims, shards)
        raise Killed


@dataclass
class RecordedCalls:
    """ports.Caller: answers as told, and remembers who was called when."""

    clock: SettableClock
    answer: Callable[[Call], Outcome] = lambda _: Returned("fine")
    calls: list[tuple[str, int, float]] = field(default_factory=list)
    _lock: ThreadLock = field(default_factory=ThreadLock, repr=False)

    tokens: list[str | None] = field(default_factory=list)

    def call(self, call: Call) -> Outcome:
        with self._lock:
            self.calls.append((str(call.run.name), call.run.attempt, self.clock.now()))
            self.tokens.append(call.token)
        return self.answer(call)

    @property
    def runs(self) -> list[str]:
        """The run of each call, in order."""
        return [run for run, _, _ in self.calls]


class World:
    """Time is `clock`; `until` lets minutes pass: ticks at each full minute, workers whenever a message is visible."""

    def __init__(self, tables: Tables, *, at: float = NOON, rules: DispatchRules = RULES) -> None:
        self.tables = tables
        self.rules = rules
        self.clock = SettableClock(at)
        self.worker_clock: Clock = self.clock
        self.lease_seconds: int = FUNCTION_SECONDS
        self.wheel = Wheel(self.clock)
        self.randomness = Numbered()
        self.caller = RecordedCalls(self.clock)
        self.notices = Announced()
        self.bus = RecordedEvents()
        self.results = StoredResults()
        self.jobs = tables.job_store(self.clock, rules.shards)
        self.cursors: CursorStore = tables.cursor_store(self.clock)
        self.run_store: RunStore = tables.run_store()
        self.lines: Lines = tables.lines()
        self.timers = tables.timers(rules.shards)
        self.inputs = tables.inputs()
        self.workflows: WorkflowStore = tables.workflows(self.clock)
        self.round_id: str | None = None
        """What the dispatcher's invocations are called."""
        self.reports: list[Report] = []
        for shard in range(rules.shards):  # a system that has been running; a first round looks back further
            self.cursors.advance_watermark(shard, bucket_of(at - 2 * 3600))

    def add(self, job: Job) -> Job:
        """Write the job and send its first two minutes at once, as the API does."""
        standing = cursor(job)
        assert self.jobs.create(job, standing)
        made = plan(standing, now=self.clock.now(), horizon=120)
        self.wheel.send(outgoing(standing, made, now=self.clock.now(), nonce=self.randomness.nonce))
        return job

    def dispatch(self, cursors: CursorStore | None = None, shard: int = 0) -> Report:
        """One round, on this world's cursor store unless another one is given."""
        store = self.cursors if cursors is None else cursors
        skipping = Skipping(self.run_store, self.clock, 90)
        claiming = Claiming(self.jobs, skipping, self.clock, Announcements(self.bus, self.clock))
        round_ = Dispatch(store, self.wheel, self.clock, self.randomness, claiming, self.rules)
        report = round_(shard, self.clock.now() + 45, self.round_id)
        self.reports.append(report)
        return report

    def worker(self, lane: Lane = Lane.NORMAL) -> LaneWorker:
        """A worker of a lane."""
        rules = WorkerRules(lane, self.wheel.max_receive_count, 90)
        return self.wiring(self.worker_clock).worker(rules, self.wheel, self.caller)

    def reconcile(self, queue: DeadLetterQueue | None = None) -> Report:
        """A call of the dead-letter reconciler, on this world's queue unless another one is given."""
        wiring = self.wiring(self.clock)
        effects = wiring.effects(wiring.forwarder(self.wheel, None))
        reconciler = ReconcileDeadLetters(
            queue=queue or self.wheel.dead_letter_queue,
            jobs=self.jobs,
            runs=self.run_store,
            lanes=self.wheel,
            clock=self.clock,
            randomness=self.randomness,
            transitions=wiring.transitions(effects),
            effects=effects,
            run_retention_days=90,
        )
        report = reconciler(self.clock.now() + 60)
        self.reports.append(report)
        return report

    def repair(
        self, *, store: RepairStore | None = None, seconds: float = 600, every_seconds: int = DAY_SECONDS
    ) -> Report:
        """Index repair, on this world's store unless another one is given."""
        client, table = self.tables.client, self.tables.jobs
        store = store or DynamoRepairStore(client, table)
        marks = DynamoTickMark(client, table)
        index = IndexCheck(store, self.jobs, self.run_store, self.lines, self.timers, marks, self.clock)
        clean_up = CleanUp(self.jobs, self.run_store, self.clock, retention_days=90)
        repair = IndexRepair(store, (index, clean_up), self.clock, every_seconds)
        report = repair(self.clock.now() + seconds)
        self.reports.append(report)
        return report

    def wiring(self, clock: Clock) -> Wiring[Any]:
        """The product's own, over this world's present objects."""
        wiring = Wiring[Any](None)
        wiring.clock, wiring.randomness = clock, self.randomness
        wiring.jobs, wiring.runs, wiring.workflows = self.jobs, self.run_store, self.workflows
        wiring.timers, wiring.lines, wiring.inputs = self.timers, self.lines, self.inputs
        wiring.lanes, wiring.notices, wiring.bus, wiring.results = self.wheel, self.notices, self.bus, self.results
        return wiring

    def tell(self, message: RunMessage) -> None:
        """Put a message into its lane, as the API does, and let a worker have it."""
        self.wheel.send([Outgoing(message, 0)])
        self.work()

    def about(self, run: Run, kind: MessageKind, **fields: Any) -> RunMessage:
        """The message that the API sends about a run's present attempt."""
        return CommandSender(self.wheel, self.clock, self.randomness).message(kind, run, **fields)

    def work(self) -> None:
        """Hand every visible message to a worker of its lane, one at a time."""
        while (held := self.wheel.receive()) is not None:
            lane = Lane(json.loads(held.body)["lane"])  # read so, since a worker may be unable to read the message
            batch = self.worker(lane)([self.wheel.received(held)], self.clock.now() + self.lease_seconds)
            self.reports.append(batch.report)
            if batch.retained:
                self.wheel.put_back(held)

    def moved_to(self, message: RunMessage, second: int) -> RunMessage:
        """The same message about the occurrence that many seconds after NOON."""
        return varied(message, occurrence=int(NOON) + second, due=int(NOON) + second)

    def queued_about(self, job_id: str, second: int, kind: MessageKind, **fields: Any) -> RunMessage:
        """The message that the API sends about a run that is queued and has no record yet."""
        found = self.jobs.get("default", job_id)
        assert found is not None
        at = int(NOON) + second
        return RunMessage(
            RunIdentity(tenant="default", job_id=job_id, occurrence=at, due=at, generation=found.generation),
            lane=found.lane,
            not_before=self.clock.now(),
            nonce=self.randomness.nonce(),
            kind=kind,
            **fields,
        )

    def until(self, instant: float, *, ticking: bool = True) -> None:
        """Let time pass; nothing happens between a tick, a visible message and the end."""
        self.work()
        while True:
            tick = (int(self.clock.now()) // 60 + 1) * 60
            visible = self.wheel.next_visible
            following = min(tick, instant, *([] if visible is None else [visible]))
            self.clock.set(max(following, self.clock.now()))
            if ticking and following == tick:
                for shard in range(self.rules.shards):
                    self.dispatch(shard=shard)
            self.work()
            if following >= instant:
                return

    def runs(self, job_id: str) -> list[Run]:
        """The job's records, oldest first."""
        return self.run_store.page("default", job_id, limit=1000, before=None)[::-1]

    def states(self, job_id: str) -> list[tuple[int, RunState]]:
        """Seconds after NOON and state of each record, oldest first."""
        return [(run.occurrence - int(NOON), run.state) for run in self.runs(job_id)]

    def count(self, metric: str) -> int:
        """A metric over all reports so far."""
        return sum(report.counts[metric] for report in self.reports)
