"""A whole stage on a settable clock: the use cases of production, with lanes in memory and the given stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.api.api import Api
from duecourse.checks.facts import Alarms
from duecourse.domain.jobs.cursor import bucket_of
from duecourse.domain.jobs.job import Lane, Precision
from duecourse.domain.targets.allowed_targets import every_target
from duecourse.limits import DISPATCH_SECONDS, WORKER_SECONDS
from duecourse.ports import (
    Caller,
    Clock,
    CloudWatchUnavailableError,
    CursorStore,
    InlineExecutor,
    Inputs,
    JobStore,
    Progress,
    RegisteredTask,
    RunStore,
    TenantLimits,
    TickMark,
    Timers,
    WaitQueues,
    WorkflowStore,
)
from duecourse.settings import ApiSettings
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.testing.memory.metrics import MemoryMetrics
from duecourse.testing.memory.tables import MemoryTables
from duecourse.testing.outbox import Announced, RecordedEvents, StoredResults
from duecourse.testing.targets import Targets
from duecourse.testing.wheel import Held, Wheel
from duecourse.usecases.dispatch.round import WATERMARK_LAG_SECONDS, Dispatch
from duecourse.usecases.report import Report
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.work_item import Disposition, WorkerRules
from duecourse.wiring import Wiring

MINUTE = 60
FAULTS = frozenset({"round_failed", "message_failed", "message_unreadable", "undecided"})
"""Actions of reports that say that Duecourse itself is at fault."""


def settings_of_a_test(actions: tuple[str, ...] = ()) -> ApiSettings:
    """Those of a stage that allows all targets (of kind `aws` those `actions`), but none at private addresses. Its
    limits are far, since a stopped clock refills no bucket.
    """
    return ApiSettings(
        stage="testing",
        jobs_table="jobs",
        runs_table="runs",
        shards=1,
        lookahead_seconds=300,
        horizon_seconds=840,
        run_retention_days=90,
        queue_urls=dict.fromkeys(Lane, ""),
        bulk_urls=dict.fromkeys(Lane, ""),
        default_precision=Precision.SECOND,
        private_targets="refuse",
        allowed_targets=every_target(actions),
        results_bucket="results",
        region="eu-central-1",
        auth="none",
        tenant_claim="tenant",
        job_quota=100_000,
        requests_per_second=10_000_000,
        burst=10_000_000,
        smallest_interval_seconds=1,
        backfill_limit=10_000,
        delayed_runs_per_hour=1_000_000,
        seats=dict.fromkeys(Lane, 30),
    )


@dataclass
class NoTasks:
    """ports.Tasks of a stage whose operator has registered none."""

    def get(self, name: str) -> RegisteredTask | None:
        """See Tasks."""
        del name
        return None


@dataclass
class NoAlarms:
    """ports.StageAlarms of a stage without CloudWatch."""

    def alarms(self) -> Alarms:
        """See StageAlarms."""
        raise CloudWatchUnavailableError("a stage in memory does not have it")


@dataclass
class Ticked:
    """ports.TickMark of a stage that has been ticked at each full minute."""

    clock: Clock
    stored: TickMark

    def mark(self, at: float) -> None:
        """See TickMark."""
        self.stored.mark(at)

    def last(self) -> float:
        """See TickMark."""
        return self.clock.now() // MINUTE * MINUTE

    def progress(self) -> Progress:
        """See TickMark."""
        return self.stored.progress()


class FaultError(RuntimeError):
    """Duecourse itself has failed: what it would have logged."""


class Stores(Protocol):
    """Where a stage keeps what it stores: MemoryTables, or tables of DynamoDB."""

    def job_store(self, clock: Clock, shards: int = 1) -> JobStore:
        """Definitions; cursors are written by this clock."""

    def cursor_store(self, clock: Clock) -> CursorStore:
        """Cursors and watermarks."""

    def timers(self, shards: int = 1) -> Timers:
        """Messages that wait for long."""

    def wait_queues(self) -> WaitQueues:
        """Wait queues."""

    def inputs(self) -> Inputs:
        """Requests for runs."""

    def workflows(self, clock: Clock) -> WorkflowStore:
        """Graphs and ends."""

    def run_store(self) -> RunStore:
        """Records of runs."""

    def limits(self) -> TenantLimits:
        """A tenant's bucket and its count of jobs."""

    def tick_mark(self) -> TickMark:
        """The last tick."""


class Stage:
    """Time is `clock`; `until` lets it pass. Nothing happens between a tick, a visible message and the end.

    Every store, queue and outbox is an attribute, and is looked up at each request, round and message: put another one
    in its place, and it is used from then on.

    Attributes:
        caller: calls targets.
        wheel: the lanes.
        jobs, cursors, run_store, lines, timers, inputs, workflows, counters, mark: stores.
        notices, bus, results: the other output of the stage.

    """

    def __init__(
        self, clock: SettableClock, caller: Caller, settings: ApiSettings, tables: Stores | None = None
    ) -> None:
        """`tables` are in memory unless they are given. The stage is one that has been running for long."""
        self.clock = clock
        self.caller = caller
        self.settings = settings
        self.wheel = Wheel(clock)
        self.randomness = Numbered()
        self.notices = Announced()
        self.bus = RecordedEvents()
        self.results = StoredResults()
        stores: Stores = MemoryTables() if tables is None else tables
        self.jobs = stores.job_store(clock, settings.shards)
        self.cursors = stores.cursor_store(clock)
        self.run_store = stores.run_store()
        self.wait_queues = stores.wait_queues()
        self.timers = stores.timers(settings.shards)
        self.inputs = stores.inputs()
        self.workflows = stores.workflows(clock)
        self.counters = stores.limits()
        self.mark: TickMark = Ticked(clock, stores.tick_mark())
        self._items = stores.items if isinstance(stores, MemoryTables) else None
        self._metrics = MemoryMetrics(clock)
        for shard in range(settings.shards):  # a first round looks back further
            self.cursors.advance_watermark(shard, bucket_of(clock.now() - WATERMARK_LAG_SECONDS))

    @property
    def api(self) -> Api:
        """The API of the stage."""
        return self.api_at(self.clock)

    def api_at(self, clock: Clock) -> Api:
        """The API as a machine with this clock answers."""
        return self.wiring(clock).api

    def wiring(self, clock: Clock | None = None) -> Wiring[Any]:
        """The product's own over the stage's present objects, by the stage's clock unless another is given. What AWS
        would have is in memory.
        """
        wiring = Wiring[Any](self.settings)
        wiring.clock = self.clock if clock is None else clock
        wiring.randomness, wiring.executor = self.randomness, InlineExecutor()
        wiring.jobs, wiring.cursors, wiring.runs = self.jobs, self.cursors, self.run_store
        wiring.wait_queues, wiring.inputs, wiring.timers = self.wait_queues, self.inputs, self.timers
        wiring.workflows, wiring.tenant_limits, wiring.tick_mark = self.workflows, self.counters, self.mark
        wiring.lanes = wiring.depths = self.wheel
        wiring.alarms, wiring.tasks, wiring.metrics = NoAlarms(), NoTasks(), self._metrics
        wiring.notices, wiring.bus, wiring.results = self.notices, self.bus, self.results
        return wiring

    def round_of_dispatch(self, cursors: CursorStore | None = None) -> Dispatch:
        """The dispatcher, on the stage's cursors unless others are given."""
        wiring = self.wiring()
        if cursors is not None:
            wiring.cursors = cursors
        return wiring.dispatch

    def worker(self, lane: Lane = Lane.NORMAL, clock: Clock | None = None) -> LaneWorker:
        """A worker of a lane, by the stage's clock unless another one is given."""
        rules = WorkerRules(lane, self.wheel.max_receive_count, self.settings.run_retention_days)
        return self.wiring(clock).worker(rules, self.wheel, self.caller)

    def until(self, instant: float, *, ticking: bool = True) -> None:
        """Let time pass to an instant (UTC seconds), and do what is due then, too; without rounds of dispatch unless it
        is `ticking`.
        """
        self.work()
        while True:
            tick = self.next_tick() if ticking else None
            following = min(at for at in (instant, tick, self.wheel.next_visible) if at is not None)
            self.clock.set(max(following, self.clock.now()))
            if following == tick:
                self.tick(tick)
            self.work()
            if following >= instant:
                return

    def next_tick(self) -> int | None:
        """The next minute that has a round: over stores in memory the next one whose round would find something."""
        minute = (int(self.clock.now()) // MINUTE + 1) * MINUTE
        if self._items is None:
            return minute
        first = self._items.index.first
        return None if first is None else max(minute, -(-(first - self.settings.lookahead_seconds) // MINUTE) * MINUTE)

    def tick(self, minute: int) -> None:
        """A round of dispatch for each shard."""
        for shard in range(self.settings.shards):
            self.note(self.round_of_dispatch()(shard, minute + DISPATCH_SECONDS))

    def work(self) -> None:
        """Hand every visible message to a worker of its lane, one at a time."""
        while (held := self.wheel.receive()) is not None:
            self.handle(held)

    def handle(self, held: Held) -> None:
        """Hand a received message to a worker of its lane."""
        deadline = self.clock.now() + WORKER_SECONDS[held.lane]
        disposition, report = self.worker(held.lane).handle(self.wheel.received(held), deadline)
        if disposition is Disposition.RETAIN:
            self.wheel.put_back(held)
        self._metrics.note(report)
        self.note(report)

    def note(self, report: Report) -> None:
        """What a function reports. Raises what a target's handler raised, and FaultError for Duecourse's own faults."""
        if isinstance(self.caller, Targets) and (broken := self.caller.broken) is not None:
            self.caller.broken = None
            raise broken
        for event in report.events:
            if event.action in FAULTS:
                raise FaultError(f"{event.action}: {dict(event.facts)}")
