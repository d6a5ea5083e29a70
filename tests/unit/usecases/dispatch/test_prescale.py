"""The part of the tick that raises capacity before a peak, over tables in memory: it survives repeated and missed
ticks, and processes that stop after any request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.maintenance.peaks import Peak, PrescalePlan, PrescaleRules, QueueRules, Raised, Throughput
from duecourse.ports import InlineExecutor, NoAnswerError, ServiceError
from duecourse.stores import cursor_item
from duecourse.stores.prescale import PrescaleStore
from duecourse.stores.table import Table
from duecourse.testing.clock import SettableClock
from duecourse.testing.table import MemoryTables
from duecourse.usecases.dispatch.prescale import COUNT_SECONDS, Prescale
from duecourse.usecases.report import Report
from duecourse_schedules import ScheduleSpec

MIDNIGHT = 1_795_305_600
"""2026-11-22T00:00:00Z"""

BULK = "normal bulk"
SHARDS = 2
RULES = PrescaleRules(
    dollars_per_day=15,
    table_quota=40_000,
    spare=1_000,
    list_successes=True,
    runs_table="runs",
    queues={
        "normal": QueueRules(source="normal-source", concurrent=2, batch=1),
        BULK: QueueRules(source="bulk-source", concurrent=2, batch=1),
    },
)
"""Small queues, which start 20 runs in ten seconds."""


@dataclass
class Pollers:
    """ports.QueuePollers. Lambda needs one more request until it shows what was set."""

    has: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fails: Exception | None = None

    def set(self, source: str, minimum: int, maximum: int) -> bool:
        return self._change(source, (minimum, maximum))

    def remove(self, source: str, concurrent: int | None) -> bool:
        assert concurrent == 2
        return self._change(source, None)

    def _change(self, source: str, wanted: tuple[int, int] | None) -> bool:
        self.asked.append(source)
        if self.fails is not None:
            raise self.fails
        had = self.has.get(source)
        self.has[source] = wanted
        return had == wanted


@dataclass
class Warmth:
    """ports.TableThroughput."""

    units: dict[str, int] = field(default_factory=dict)
    reads: int = 0
    fails: Exception | None = None

    def read(self) -> Throughput:
        self.reads += 1
        return Throughput(dict(self.units))

    def warm(self, table: str, units: Mapping[str, int]) -> None:
        if self.fails is not None:
            raise self.fails
        self.units |= units


class Counting(MemoryTables):
    """Tables in memory that count their writes."""

    writes = 0

    def write(self, *given: Any, **options: Any) -> Any:
        self.writes += 1
        return super().write(*given, **options)


@dataclass
class Ticks:
    """A stage whose tick raises capacity."""

    tables: MemoryTables = field(default_factory=MemoryTables)
    pollers: Pollers = field(default_factory=Pollers)
    warmth: Warmth = field(default_factory=Warmth)
    clock: SettableClock = field(default_factory=lambda: SettableClock(MIDNIGHT - 1_800.0 + 3))
    rules: PrescaleRules = RULES
    last: float | None = None

    @property
    def store(self) -> PrescaleStore:
        return PrescaleStore(self.tables)

    def tick(self, at: float | None = None) -> Report:
        """A tick at an instant, or now."""
        if at is not None:
            self.clock.set(at)
        report = Report()
        parts = (self.store, self.pollers, self.warmth, self.rules, self.clock, InlineExecutor())
        Prescale(*parts).after_tick(self.last, SHARDS, report)
        self.last = self.clock.now()
        return report

    def until(self, end: float, *, but: tuple[float, float] = (0, 0)) -> list[Report]:
        """A tick each minute until `end`, without those between the two instants of `but`."""
        reports = []
        while self.clock.now() < end:
            if not but[0] <= self.clock.now() < but[1]:
                reports.append(self.tick())
            self.clock.advance(60)
        return reports


def due(tables: MemoryTables, count: int, at: int = MIDNIGHT, *, bulk: bool = True) -> None:
    """Daily jobs that are due at an instant."""
    for number in range(count):
        name = f"job-{at}-{number}"
        cursor = Cursor("acme", name, 1, ScheduleSpec("0 0 * * *"), at, at, at - 86_400, bulk=bulk)
        tables.put_many(Table.JOBS, [cursor_item.to_item(cursor, SHARDS, now=at - 86_400)])


@pytest.fixture
def stage() -> Ticks:
    made = Ticks()
    due(made.tables, 100)
    return made


def test_prescale_tick_finds_a_peak_half_an_hour_ahead_and_its_queues(stage: Ticks) -> None:
    due(stage.tables, 100, bulk=False, at=MIDNIGHT + 20)
    stage.tick()
    (peak,) = stage.store.get().peaks
    assert (peak.at, peak.runs, peak.shares, peak.at_least) == (MIDNIGHT, 200, {"normal": 0.5, BULK: 0.5}, False)


def test_prescale_stage_without_a_peak_writes_nothing_and_reads_no_table_description() -> None:
    stage = Ticks(tables=Counting())
    due(stage.tables, 3)
    stage.until(MIDNIGHT + 600)
    assert isinstance(stage.tables, Counting)
    assert (stage.tables.writes, stage.warmth.reads, stage.pollers.asked) == (0, 0, [])


def test_prescale_night_raises_pollers_in_time_and_removes_them(stage: Ticks) -> None:
    stage.until(MIDNIGHT - 600)
    assert stage.pollers.has == {}
    stage.until(MIDNIGHT)
    assert stage.pollers.has == {"bulk-source": (2, 2)}
    reports = stage.until(MIDNIGHT + 600)
    assert stage.pollers.has == {"bulk-source": None}
    plan = stage.store.get()
    assert (plan.raised, plan.peaks) == ({}, ())
    assert [entry.says for entry in plan.history] == [
        f"{BULK}: 2 pollers until 2026-11-22T00:03:00Z (2 needed)",
        f"{BULK}: remove 2 pollers",
    ]
    said = [event.facts["decisions"] for report in reports for event in report.events if event.action == "prescaled"]
    assert said == [[f"{BULK}: remove 2 pollers"]]


def test_prescale_jobs_created_after_the_first_count_are_found_a_quarter_of_an_hour_ahead() -> None:
    stage = Ticks()
    stage.until(MIDNIGHT - 1_000)
    due(stage.tables, 100)
    stage.until(MIDNIGHT)
    assert stage.pollers.has == {"bulk-source": (2, 2)}


def test_prescale_missed_ticks_delay_the_removal_only(stage: Ticks) -> None:
    stage.until(MIDNIGHT + 4_000, but=(MIDNIGHT - 60, MIDNIGHT + 3_600))
    assert stage.pollers.has == {"bulk-source": None}
    assert stage.store.get().raised == {}


def test_prescale_doubled_tick_of_the_same_time_decides_once(stage: Ticks) -> None:
    stage.until(MIDNIGHT - 600)
    stage.tick(MIDNIGHT - 590)
    before = stage.store.get()
    stage.tick(MIDNIGHT - 590)
    assert stage.store.get() == before
    assert before.spent == pytest.approx(2 * 773 / 3_600 * 0.00925, abs=1e-3)


def test_prescale_tick_that_another_tick_overtakes_makes_no_request(stage: Ticks) -> None:
    stage.until(MIDNIGHT - 600)
    other = Ticks(stage.tables, clock=stage.clock, last=stage.last)

    class Overtaken(PrescaleStore):
        def put(self, plan: Any) -> Any:
            other.tick(MIDNIGHT - 590)
            return super().put(plan)

    stage.clock.set(MIDNIGHT - 590)
    parts = (Overtaken(stage.tables), stage.pollers, stage.warmth, RULES, stage.clock, InlineExecutor())
    Prescale(*parts).after_tick(stage.last, SHARDS, Report())
    assert stage.pollers.asked == []
    assert other.pollers.asked == ["bulk-source"]


def test_prescale_process_that_dies_before_its_request_leaves_it_to_the_next_tick(stage: Ticks) -> None:
    stage.until(MIDNIGHT - 600)
    stage.pollers.fails = NoAnswerError("the process died")
    stage.tick(MIDNIGHT - 590)
    assert stage.store.get().raised == {BULK: Raised(2, MIDNIGHT + 180)}
    stage.pollers.fails = None
    stage.tick(MIDNIGHT - 530)
    assert stage.pollers.has == {"bulk-source": (2, 2)}


class Died(BaseException):
    """The process has stopped."""


@dataclass
class Dying:
    """Stops the process before or after one of its requests."""

    at: int
    before: bool
    count: int = 0

    def around(self, request: Any) -> Any:
        """Return the request, with which the process may stop."""

        def asked(*given: Any) -> Any:
            self.count += 1
            if self.count == self.at and self.before:
                raise Died
            found = request(*given)
            if self.count == self.at:
                raise Died
            return found

        return asked


@pytest.mark.parametrize("before", [True, False])
def test_prescale_process_that_dies_at_any_request_never_leaves_pollers(before: bool) -> None:
    """Each request of the night in turn. Ticks go on after it, and remove what was raised."""
    at, requests = 1, 0
    while at == 1 or at <= requests:
        stage, dying = Ticks(), Dying(at, before)
        due(stage.tables, 30)
        parts: Any = stage.pollers
        parts.set, parts.remove = dying.around(parts.set), dying.around(parts.remove)
        tables: Any = stage.tables
        tables.write = dying.around(tables.write)
        while stage.clock.now() < MIDNIGHT + 900:
            try:
                stage.tick()
            except Died:
                stage.last = stage.clock.now()
            stage.clock.advance(60)
        assert stage.pollers.has == {"bulk-source": None}, at
        plan = stage.store.get()
        assert (plan.raised, plan.peaks) == ({}, ()), at
        assert stage.pollers.asked
        requests, at = dying.count, at + 1
    assert requests > 10


def test_prescale_error_of_a_request_is_counted_and_fails_no_tick(stage: Ticks) -> None:
    stage.until(MIDNIGHT - 600)
    stage.pollers.fails = ServiceError("AccessDeniedException", "not you")
    report = stage.tick(MIDNIGHT - 590)
    assert report.counts["PrescalesFailed"] == 1
    (told,) = (event for event in report.events if event.action == "prescale_failed")
    assert (told.alarming, told.facts) == (
        True,
        {"request": "SetPollers", "error": "ServiceError: AccessDeniedException: not you"},
    )


def test_prescale_removal_that_fails_is_tried_in_each_minute_until_it_succeeds(stage: Ticks) -> None:
    stage.until(MIDNIGHT + 170)
    stage.pollers.fails = ServiceError("TooManyRequestsException", status=429)
    reports = stage.until(MIDNIGHT + 600)
    assert sum(report.counts["PrescalesFailed"] for report in reports) == len(reports)
    stage.pollers.fails = None
    stage.until(MIDNIGHT + 800)
    assert stage.pollers.has == {"bulk-source": None}
    assert stage.store.get().raised == {}


def test_prescale_table_that_cannot_be_read_is_reported(stage: Ticks) -> None:
    class Broken(PrescaleStore):
        def get(self) -> Any:
            raise ServiceError("InternalServerError", status=500)

    report = Report()
    parts = (Broken(stage.tables), stage.pollers, stage.warmth, RULES, stage.clock, InlineExecutor())
    Prescale(*parts).after_tick(None, SHARDS, report)
    assert report.counts["PrescalesFailed"] == 1


def test_prescale_minute_that_cannot_be_counted_is_counted_again_later(stage: Ticks) -> None:
    class Throttled(PrescaleStore):
        def counts(self, *_: Any) -> Any:
            raise ServiceError("ThrottlingException")

    report = Report()
    parts = (Throttled(stage.tables), stage.pollers, stage.warmth, RULES, stage.clock, InlineExecutor())
    Prescale(*parts).after_tick(None, SHARDS, report)
    assert {event.action for event in report.events} == {"forecast_failed"}
    stage.until(MIDNIGHT)
    assert stage.pollers.has == {"bulk-source": (2, 2)}


def test_prescale_count_that_takes_too_long_is_a_lower_bound(stage: Ticks) -> None:
    class Slow(PrescaleStore):
        def counts(self, slot: str, since: int, until: int) -> Any:
            if since == MIDNIGHT:
                stage.clock.advance(COUNT_SECONDS)
            yield from super().counts(slot, since, until)

    parts = (Slow(stage.tables), stage.pollers, stage.warmth, RULES, stage.clock, InlineExecutor())
    Prescale(*parts).after_tick(None, SHARDS, Report())
    (peak,) = stage.store.get().peaks
    assert peak.at_least
    assert 20 < peak.runs < 100


def with_a_large_peak(**fails: Any) -> Ticks:
    """A stage that knows of 100,000 runs in 25 minutes."""
    queues = {BULK: QueueRules(source="bulk-source", concurrent=100, batch=10)}
    rules = replace(RULES, queues=queues, dollars_per_day=100, spare=10_000)
    stage = Ticks(rules=rules, warmth=Warmth(**fails))
    stage.store.put(PrescalePlan(peaks=(Peak(MIDNIGHT // 60, 100_000, 100_000, {BULK: 1.0}),)))
    stage.tick(MIDNIGHT - 1_500)
    return stage


def test_prescale_large_peak_gets_warm_throughput() -> None:
    stage = with_a_large_peak()
    assert stage.warmth.units["runs.writes"] == 38_000
    spent = stage.store.get().spent
    stage.until(MIDNIGHT - 960)
    assert (stage.store.get().asked, stage.store.get().spent) == ({}, spent)


def test_prescale_throughput_that_aws_refuses_is_not_charged() -> None:
    stage = with_a_large_peak(fails=ServiceError("LimitExceededException", "Subscriber limit exceeded"))
    plan = stage.store.get()
    assert (plan.spent, plan.asked) == (0, {})
    assert "was refused: ServiceError: LimitExceededException" in plan.history[-1].says
    assert stage.tick(MIDNIGHT - 1_440).counts["PrescalesFailed"] == 0


@pytest.mark.parametrize("code", ["ResourceInUseException", "ThrottlingException"])
def test_prescale_throughput_of_a_table_that_is_busy_is_requested_again(code: str) -> None:
    stage = with_a_large_peak(fails=ServiceError(code))
    stage.warmth.fails = None
    stage.tick(MIDNIGHT - 1_440)
    assert stage.warmth.units["runs.writes"] == 38_000


def test_prescale_throughput_without_an_answer_is_requested_again() -> None:
    stage = with_a_large_peak(fails=NoAnswerError("read timeout"))
    assert stage.store.get().spent > 0
    stage.warmth.fails = None
    stage.tick(MIDNIGHT - 1_440)
    assert stage.warmth.units["runs.writes"] == 38_000


def test_prescale_throughput_that_aws_refuses_after_a_request_without_an_answer_is_not_charged() -> None:
    stage = with_a_large_peak(fails=NoAnswerError("read timeout"))
    stage.warmth.fails = ServiceError("LimitExceededException", "Subscriber limit exceeded")
    stage.tick(MIDNIGHT - 1_440)
    plan = stage.store.get()
    assert (plan.spent, plan.asked) == (0, {})


def test_prescale_removal_that_fails_for_hours_is_told_once_and_charged(stage: Ticks) -> None:
    stage.until(MIDNIGHT + 170)
    stage.pollers.fails = ServiceError("AccessDeniedException", "not you")
    reports = stage.until(MIDNIGHT + 5 * 3_600)
    assert stage.store.get().spent == pytest.approx(2 * 5 * 0.00925, rel=0.05)
    said = [event.facts["decisions"] for report in reports for event in report.events if event.action == "prescaled"]
    assert said == [[f"{BULK}: remove 2 pollers"]]
