"""A whole stage with a simulated clock: the use cases of production, with lanes in memory and any stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from duecourse.api.api import Api
from duecourse.checks.facts import Alarms
from duecourse.domain.jobs.cursor import RARE_LOOKAHEADS, bucket_of
from duecourse.domain.jobs.job import Lane, Precision
from duecourse.domain.targets.allowed_targets import every_target
from duecourse.domain.targets.oidc import OidcIssuer
from duecourse.domain.targets.targets import Execution
from duecourse.limits import DISPATCH_SECONDS, WORKER_SECONDS
from duecourse.ports import Caller, Clock, CloudWatchUnavailableError, InlineExecutor, RegisteredTask
from duecourse.settings import ApiSettings
from duecourse.stores.cursors import CursorStore
from duecourse.stores.table import Tables
from duecourse.stores.tick_mark import Overdue, TickMark
from duecourse.testing.changes import OrderedChanges
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.testing.executions import MemoryExecutions, event_of
from duecourse.testing.faults import around
from duecourse.testing.metrics import MemoryMetrics
from duecourse.testing.outbox import Announced, RecordedEvents, RecordedPings, StoredLogs, StoredResults
from duecourse.testing.stores import MemoryStores, Stores
from duecourse.testing.targets import Targets
from duecourse.testing.wheel import Held, Wheel
from duecourse.usecases.dispatch.round import WATERMARK_LAG_SECONDS, Dispatch
from duecourse.usecases.report import Report
from duecourse.usecases.run_counts import RunCounts
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.trends import Trends
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage, WorkerRules
from duecourse.wiring import Wiring

MINUTE = 60
FAULTS = frozenset({"round_failed", "message_failed", "message_unreadable", "undecided", "report_failed"})
"""Actions in reports that indicate a fault of Duecourse itself."""


def settings_of_a_test(actions: tuple[str, ...] = ()) -> ApiSettings:
    """Return the settings of a stage that allows all targets except private addresses; `aws` targets can make only the
    calls in `actions`. The limits are high, because token buckets do not refill while the clock stops.
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
        result_buckets={"*": {"*": ""}},
        oidc=OidcIssuer("https://duecourse.example", ("key",)),
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
    """Implementation of ports.Tasks for a stage without registered tasks."""

    def get(self, name: str) -> RegisteredTask | None:
        """Return None, since no task is registered."""
        del name
        return None


@dataclass
class NoKeys:
    """Implementation of ports.PublicKeys for a stage whose tokens are not signed."""

    def public_keys(self) -> Sequence[tuple[str, bytes]]:
        """Return no keys."""
        return ()


@dataclass
class NoAlarms:
    """Implementation of ports.StageAlarms for a stage without CloudWatch."""

    def alarms(self) -> Alarms:
        """Raise CloudWatchUnavailableError."""
        raise CloudWatchUnavailableError("a stage in memory has no CloudWatch")


class Ticked(TickMark):
    """The marks of a stage whose last tick was at the last full minute."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        super().__init__(tables)
        self._clock = clock

    def state(self) -> tuple[Mapping[str, float], Overdue | None]:
        """Return the stored times, with the last full minute as that of the tick."""
        times, overdue = super().state()
        return {**times, "tick": self._clock.now() // MINUTE * MINUTE}, overdue


class FaultError(RuntimeError):
    """A fault of Duecourse itself. The message is the log entry that a function would have written."""


class Stage:
    """A stage whose time is `clock`, which `until` advances. Nothing happens except at ticks and when messages become
    visible.

    All stores, queues and outboxes are attributes, which are read at each request, round and message. An object that a
    test assigns to an attribute is used from then on.

    Attributes:
        caller: calls targets.
        wheel: the lanes.
        jobs, cursors, run_store, wait_queues, timers, inputs, delayed_runs, execution_store, workflows, counters,
            mark, tenant_reports, runs_in_progress, run_count_store: stores.
        executions: the executions that calls have started.
        run_counts: the counts of runs that are not yet written.
        notices, bus, results, logs, pinger: the other output of the stage.

    """

    def __init__(
        self, clock: SettableClock, caller: Caller, settings: ApiSettings, tables: Stores | None = None
    ) -> None:
        """`tables` are in memory by default. The watermarks are as in a stage that has been running for a while."""
        self.clock = clock
        self.caller = caller
        self.settings = settings
        self.wheel = Wheel(clock)
        self.randomness = Numbered()
        self.notices = Announced()
        self.bus = RecordedEvents()
        self.results = StoredResults()
        self.logs = StoredLogs(clock)
        self.pinger = RecordedPings()
        stores = MemoryStores(OrderedChanges()) if tables is None else tables
        self.jobs = stores.job_store(clock, settings.shards)
        self.cursors = stores.cursor_store(clock)
        self.run_store = stores.run_store()
        self.wait_queues = stores.wait_queues()
        self.timers = stores.timers(settings.shards)
        self.inputs = stores.inputs()
        self.delayed_runs = stores.delayed_runs()
        self.execution_store, self.executions = stores.executions(), MemoryExecutions()
        self.workflows = stores.workflows(clock)
        self.counters = stores.limits()
        self.tenant_reports, self.runs_in_progress = stores.tenant_reports(), stores.runs_in_progress()
        self.mark: TickMark = Ticked(stores.both(clock), clock)
        self.trends = Trends()
        self.run_count_store = stores.run_counts()
        self.run_counts = RunCounts(self.run_count_store, clock)
        self._memory = stores.tables if isinstance(stores, MemoryStores) else None
        self._metrics = MemoryMetrics(clock)
        if isinstance(caller, Targets):
            caller.reports = self.report
        for shard in range(settings.shards):  # otherwise the first round would read more slots of the past
            self.cursors.advance_watermark(shard, bucket_of(clock.now() - WATERMARK_LAG_SECONDS))

    @property
    def api(self) -> Api:
        """The API of the stage."""
        return self.api_at(self.clock)

    def api_at(self, clock: Clock) -> Api:
        """Return the API on a machine with this clock."""
        return self.wiring(clock).api

    def wiring(self, clock: Clock | None = None) -> Wiring[Any]:
        """Return the production wiring with the current objects of the stage, by default with the stage's clock. AWS
        services are replaced by objects in memory.
        """
        wiring = Wiring[Any](self.settings)
        wiring.clock = self.clock if clock is None else clock
        wiring.randomness, wiring.executor = self.randomness, InlineExecutor()
        wiring.jobs, wiring.cursors, wiring.runs = self.jobs, self.cursors, self.run_store
        wiring.wait_queues, wiring.inputs, wiring.timers = self.wait_queues, self.inputs, self.timers
        wiring.delayed_runs = self.delayed_runs
        wiring.executions, wiring.execution_services = self.execution_store, self.executions
        wiring.workflows, wiring.tenant_limits, wiring.tick_mark = self.workflows, self.counters, self.mark
        wiring.tenant_reports, wiring.runs_in_progress = self.tenant_reports, self.runs_in_progress
        wiring.lanes = wiring.depths = self.wheel
        wiring.alarms, wiring.tasks, wiring.metrics = NoAlarms(), NoTasks(), self._metrics
        wiring.public_keys = NoKeys()
        wiring.notices, wiring.bus, wiring.results = self.notices, self.bus, self.results
        wiring.log_store = self.logs
        wiring.trends, wiring.pinger = self.trends, self.pinger
        wiring.run_count_store, wiring.run_counts = self.run_count_store, self.run_counts
        return wiring

    @contextmanager
    def faulty(self, attribute: str, **instead: Callable[..., Any]) -> Iterator[None]:
        """Within a `with` block, replace methods of the object in an attribute (see duecourse.testing.faults)."""
        real = getattr(self, attribute)
        setattr(self, attribute, around(real, **instead))
        try:
            yield
        finally:
            setattr(self, attribute, real)

    def round_of_dispatch(self, cursors: CursorStore | None = None) -> Dispatch:
        """Return the dispatcher, by default with the stage's cursors."""
        wiring = self.wiring()
        if cursors is not None:
            wiring.cursors = cursors
        return wiring.dispatch

    def worker(self, lane: Lane = Lane.NORMAL, clock: Clock | None = None) -> LaneWorker:
        """Return a worker of a lane, by default with the stage's clock."""
        rules = WorkerRules(lane, self.wheel.max_receive_count, self.settings.run_retention_days)
        return self.wiring(clock).worker(rules, self.wheel, self.caller)

    def report(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response of the audit function to a request for a report."""
        report = Report()
        answer = self.wiring().reports(request, self.clock.now() + request["seconds"], report)
        self.note(report)
        return answer

    def report_end(self, execution: Execution, *, tries: int = 1) -> Disposition:
        """Pass the event about the end of an execution to a worker of the callbacks. Return what happens to it."""
        rules = WorkerRules(None, self.wheel.max_receive_count, self.settings.run_retention_days)
        event = ReceivedMessage(f"end-{execution.id}", "", tries, "ends", event_of(execution))
        deadline = self.clock.now() + WORKER_SECONDS[Lane.NORMAL]
        disposition, report = self.wiring().worker(rules, self.wheel, self.caller).handle(event, deadline)
        self.note(report)
        return disposition

    def until(self, instant: float, *, ticking: bool = True) -> None:
        """Advance the clock to an instant (UTC seconds) and do everything that is due up to and at it. Dispatch rounds
        run only if `ticking` is true.
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
        """Return the next minute with a dispatch round. With stores in memory, minutes whose round would find nothing
        are skipped.
        """
        minute = (int(self.clock.now()) // MINUTE + 1) * MINUTE
        if self._memory is None:
            return minute
        lookahead = self.settings.lookahead_seconds
        first = self._memory.first_read(lookahead, RARE_LOOKAHEADS * lookahead)
        return None if first is None else max(minute, -(-first // MINUTE) * MINUTE)

    def tick(self, minute: int) -> None:
        """Run a dispatch round for each shard. Expired items are removed first."""
        if self._memory is not None:
            self._memory.remove_expired(minute)
        for shard in range(self.settings.shards):
            self.note(self.round_of_dispatch()(shard, minute + DISPATCH_SECONDS))

    def work(self) -> None:
        """Pass all visible messages to workers of their lanes, one at a time."""
        while (held := self.wheel.receive()) is not None:
            self.handle(held)

    def handle(self, held: Held) -> None:
        """Pass a received message to a worker of its lane."""
        deadline = self.clock.now() + WORKER_SECONDS[held.lane]
        disposition, report = self.worker(held.lane).handle(self.wheel.received(held), deadline)
        if disposition is Disposition.RETAIN:
            self.wheel.put_back(held)
        self.run_counts.write(report, deadline)
        self._metrics.note(report)
        self.note(report)

    def note(self, report: Report) -> None:
        """Check the report of a function. Raises the exception of a target's handler, and FaultError for faults of
        Duecourse.
        """
        if isinstance(self.caller, Targets) and (broken := self.caller.broken) is not None:
            self.caller.broken = None
            raise broken
        for event in report.events:
            if event.action in FAULTS:
                raise FaultError(f"{event.action}: {dict(event.facts)}")
