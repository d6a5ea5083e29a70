"""A whole stage on a settable clock: the use cases of production over stores and lanes in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from duecourse.api.api import Api
from duecourse.checks.facts import Alarms
from duecourse.domain.jobs.policies import Lane, Precision
from duecourse.domain.jobs.sharding import bucket_of
from duecourse.domain.targets.allowed_targets import every_target
from duecourse.limits import DISPATCH_SECONDS, WORKER_SECONDS
from duecourse.ports import CloudWatchUnavailableError, InlineExecutor, RegisteredTask
from duecourse.settings import ApiSettings
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.testing.memory.metrics import MemoryMetrics
from duecourse.testing.memory.tables import MemoryTables
from duecourse.testing.outbox import Announced, RecordedEvents, StoredResults
from duecourse.testing.targets import Targets
from duecourse.testing.wheel import Held, Wheel
from duecourse.usecases.dispatch.dispatch import WATERMARK_LAG_SECONDS
from duecourse.usecases.report import Report
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.work_item import Disposition, WorkerRules
from duecourse.wiring import Wiring

MINUTE = 60
FAULTS = frozenset({"round_failed", "message_failed", "message_unreadable", "undecided"})
"""Actions of reports that say that Duecourse itself is at fault."""


def settings_of_a_test(actions: tuple[str, ...] = ()) -> ApiSettings:
    """Those of a stage that allows all targets (of kind `aws` those `actions`), but none at private addresses. Its
    limits are far, since a clock that stands refills no bucket.
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
        raise CloudWatchUnavailableError("a stage in memory has none")


class FaultError(RuntimeError):
    """Duecourse itself has failed: what it would have logged."""


@dataclass
class Stage:
    """Time is `clock`; `until` lets it pass. Nothing happens between a tick, a visible message and the end."""

    clock: SettableClock
    targets: Targets
    settings: ApiSettings
    tables: MemoryTables = field(default_factory=MemoryTables)
    randomness: Numbered = field(default_factory=Numbered)
    notices: Announced = field(default_factory=Announced)
    bus: RecordedEvents = field(default_factory=RecordedEvents)
    results: StoredResults = field(default_factory=StoredResults)

    def __post_init__(self) -> None:
        self.wheel = Wheel(self.clock)
        self._metrics = MemoryMetrics(self.clock)
        self._mark = self.tables.tick_mark()
        self._mark.mark(self.clock.now() // MINUTE * MINUTE)
        # As if it had been running for long: a first round looks back further.
        self.tables.cursor_store(self.clock).advance_watermark(0, bucket_of(self.clock.now() - WATERMARK_LAG_SECONDS))

    @cached_property
    def wiring(self) -> Wiring[Any]:
        """The stage's objects. Those that AWS would have are in memory."""
        wiring, tables, clock = Wiring[Any](self.settings), self.tables, self.clock
        wiring.clock, wiring.randomness, wiring.executor = clock, self.randomness, InlineExecutor()
        wiring.jobs, wiring.cursors = tables.job_store(clock), tables.cursor_store(clock)
        wiring.runs, wiring.lines, wiring.inputs = tables.run_store(), tables.lines(), tables.inputs()
        wiring.timers, wiring.workflows = tables.timers(), tables.workflows(clock)
        wiring.tenant_limits, wiring.tick_mark, wiring.metrics = tables.limits(), self._mark, self._metrics
        wiring.lanes = wiring.depths = self.wheel
        wiring.alarms, wiring.tasks = NoAlarms(), NoTasks()
        wiring.notices, wiring.bus, wiring.results = self.notices, self.bus, self.results
        return wiring

    @property
    def api(self) -> Api:
        """The API of the stage."""
        return self.wiring.api

    @cached_property
    def _workers(self) -> Mapping[Lane, LaneWorker]:
        kept_days, receives = self.settings.run_retention_days, self.wheel.max_receive_count
        return {
            lane: self.wiring.worker(WorkerRules(lane, receives, kept_days), self.wheel, self.targets) for lane in Lane
        }

    def until(self, instant: float) -> None:
        """Let time pass to an instant (UTC seconds), and do what is due then, too."""
        self.work()
        while True:
            tick, visible = self._next_tick(), self.wheel.next_visible
            following = min(at for at in (instant, tick, visible) if at is not None)
            self.clock.set(max(following, self.clock.now()))
            if following == tick:
                self._mark.mark(tick)
                self._checked(self.wiring.dispatch(0, tick + DISPATCH_SECONDS))
            self.work()
            if following >= instant:
                self._mark.mark(self.clock.now() // MINUTE * MINUTE)
                return

    def _next_tick(self) -> int | None:
        """The next minute whose round of dispatch would find something."""
        first = self.tables.items.index.first
        if first is None:
            return None
        due = -(-(first - self.settings.lookahead_seconds) // MINUTE) * MINUTE
        return max(due, (int(self.clock.now()) // MINUTE + 1) * MINUTE)

    def work(self) -> None:
        """Hand every visible message to a worker of its lane, one at a time."""
        while (held := self.wheel.receive()) is not None:
            self._handle(held)

    def _handle(self, held: Held) -> None:
        deadline = self.clock.now() + WORKER_SECONDS[held.lane]
        disposition, report = self._workers[held.lane].handle(self.wheel.received(held), deadline)
        self._metrics.note(report)
        if disposition is Disposition.RETAIN:
            self.wheel.put_back(held)
        if (broken := self.targets.broken) is not None:
            self.targets.broken = None
            raise broken
        self._checked(report)

    def _checked(self, report: Report) -> None:
        for event in report.events:
            if event.action in FAULTS:
                raise FaultError(f"{event.action}: {dict(event.facts)}")
