"""A tenant with jobs in all states, and the upcoming load as every stored cursor shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from duecourse.domain.jobs.calendars import PlannedPause
from duecourse.domain.jobs.cursor import Cursor, PlannedResume, cursor_for, plan
from duecourse.domain.jobs.job import Job, JobState, Spread
from duecourse.domain.jobs.pause import pause, resume
from duecourse.domain.jobs.upcoming import MAX_LARGEST_JOBS, Bucket, Histogram, Window, is_late
from duecourse.ports import Claim, ClaimResult
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import Stores
from duecourse.usecases.jobs.upcoming import Upcoming, UpcomingPage
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, job

TENANT = "default"
HOUR = 3600
HORIZON = 14 * 60

SCHEDULES = (
    *("", "* * * * *", "*/7 * * * *", "30 2 * * *", "0 12 29 2 *", "rate(10 minutes)", "rate(90 minutes)"),
    *("at(2026-11-21T11:00:00)", "at(2026-11-21T12:10:00)", "at(2026-11-21T13:00:00)", "at(2026-11-22T13:00:00)"),
)
EXCLUDED = ((), (), ("* 13 * * *",), (PlannedPause(None, int(NOON) + 4000, int(NOON) + 9000, catch_up=True),))


@dataclass
class Total:
    """What all pages count together."""

    runs: dict[int, int]
    jobs: dict[int, dict[str, int]]
    examined: int
    paused: int
    late: list[str]
    uncounted: list[str]


def counted(stores: Stores, clock: SettableClock, window: Window, jobs_read: int = 4) -> Total:
    """The counts of all pages."""
    jobs = stores.job_store(clock)
    use = Upcoming(jobs, stores.delayed_runs(), stores.tick_mark(), clock, jobs_read=jobs_read, few_jobs=0)
    pages, after = list[UpcomingPage](), None
    while not pages or after is not None:
        pages.append(use.page(TENANT, window, after=after, largest=MAX_LARGEST_JOBS))
        after = pages[-1].following
    return Total(
        *by_bucket([bucket for page in pages for bucket in page.buckets]),
        examined=sum(page.jobs for page in pages),
        paused=sum(page.paused for page in pages),
        late=[each for page in pages for each in page.late],
        uncounted=[each for page in pages for each in page.uncounted],
    )


def by_every_cursor(stores: Stores, clock: SettableClock, window: Window) -> Total:
    """The counts of the stored cursors."""
    jobs, histogram = stores.job_store(clock), Histogram(window)
    ids = jobs.page_ids(TENANT, None, limit=1000, after=None).items
    found = Total({}, {}, len(ids), 0, [], [])
    for job_id in ids:
        made, cursor = jobs.get_both(TENANT, job_id)
        assert made is not None
        if made.state is JobState.PAUSED:
            found.paused += 1
            if cursor is None or cursor.resume is None:
                continue
        if cursor is None or cursor.error is not None:
            found.uncounted.append(job_id)
            continue
        histogram.add(cursor)
        if cursor.resume is None and is_late(cursor, clock.now()):
            found.late.append(job_id)
    found.runs, found.jobs = by_bucket(histogram.buckets(MAX_LARGEST_JOBS))
    return found


def by_bucket(buckets: Sequence[Bucket]) -> tuple[dict[int, int], dict[int, dict[str, int]]]:
    """The numbers of runs, and those of each job, by bucket."""
    runs: dict[int, int] = {}
    jobs: dict[int, dict[str, int]] = {}
    for bucket in buckets:
        runs[bucket.at] = runs.get(bucket.at, 0) + bucket.runs
        jobs.setdefault(bucket.at, {}).update(bucket.jobs)
    return runs, jobs


@dataclass
class Tenant:
    """Jobs that are created, dispatched, paused, resumed, changed, quarantined and completed at random."""

    stores: Stores
    clock: SettableClock
    random: Random

    def __post_init__(self) -> None:
        self.jobs = self.stores.job_store(self.clock)
        self.cursors = self.stores.cursor_store(self.clock)
        self.ids: list[str] = []

    def live(self, steps: int) -> None:
        """Make this number of steps. Between them, time passes."""
        acts = (
            self.create,
            self.create,
            self.create,
            self.dispatch,
            self.pause,
            self.resume,
            self.edit,
            self.fail,
            self.complete,
        )
        for _ in range(steps):
            self.random.choice(acts)()
            self.clock.advance(self.random.choice((0, 1, 45, 400, 2000)))

    def create(self) -> None:
        """Create a job."""
        self.ids.append(f"job-{len(self.ids):03}")
        expression = self.random.choice(SCHEDULES)
        made = job(expression, id=self.ids[-1], at=self.clock.now(), **self.fields(expression))
        assert self.jobs.create(made, cursor_for(made, self.clock.now()))

    def fields(self, expression: str) -> dict[str, Any]:
        """Fields that determine when runs come due."""
        chosen = self.random.choice
        recurring = bool(expression) and not expression.startswith(("at", "* *"))
        return {
            "exclude": chosen(EXCLUDED),
            "jitter_seconds": chosen((0, 0, 30, 600)),
            "spread": chosen((None, Spread(30, 7))) if recurring else None,
            "max_runs": chosen((None, None, 1, 3, 100)),
        }

    def dispatch(self) -> None:
        """Claim every cursor of the due index, as a round does."""
        for job_id in self.ids:
            made, cursor = self.jobs.get_both(TENANT, job_id)
            if made is None or cursor is None or cursor.due is None or cursor.error is not None:
                continue
            if made.state is JobState.ACTIVE and cursor.due <= self.clock.now() + 300:
                moved = plan(cursor, now=self.clock.now(), horizon=HORIZON).cursor
                (claimed,) = self.cursors.claim([Claim(cursor, moved)], 1)
                assert claimed.result is ClaimResult.WON

    def pause(self) -> None:
        """Pause a job, perhaps until a planned end."""
        if (found := self.one(JobState.ACTIVE)) is not None:
            end = self.random.choice(
                (None, PlannedResume(int(self.clock.now()) + 2 * HOUR, self.random.random() < 0.5))
            )
            change = pause(*found, now=self.clock.now(), end=end)
            assert self.jobs.change(*found, change.job, change.cursor)

    def resume(self) -> None:
        """Resume a job."""
        if (found := self.one(JobState.PAUSED)) is not None:
            change = resume(*found, now=self.clock.now(), catch_up=self.random.random() < 0.5)
            assert self.jobs.change(*found, change.job, change.cursor)

    def edit(self) -> None:
        """Give a job another schedule."""
        if (found := self.one(JobState.ACTIVE)) is not None:
            made, standing = found
            expression = self.random.choice(SCHEDULES)
            later = replace(made.redefined(self.clock.now()), revision=made.revision + 1, **self.fields(expression))
            later = replace(later, schedule=ScheduleSpec(expression, "UTC", anchor=int(self.clock.now())))
            assert self.jobs.change(made, standing, later, cursor_for(later, self.clock.now()))

    def fail(self) -> None:
        """Quarantine a cursor."""
        if (found := self.one(JobState.ACTIVE)) is not None:
            self.cursors.quarantine(found[1], "cannot be planned")

    def complete(self) -> None:
        """Complete a job whose schedule is exhausted."""
        if (found := self.one(JobState.ACTIVE, self.is_over)) is not None:
            assert self.jobs.complete(found[0], at=self.clock.now())

    def is_over(self, cursor: Cursor) -> bool:
        """Whether the last run of the schedule has surely ended."""
        return cursor.occurrence is None and cursor.last is not None and cursor.last + HOUR < self.clock.now()

    def one(self, state: JobState, fits: Callable[[Cursor], bool] = lambda _: True) -> tuple[Job, Cursor] | None:
        """A job in this state, with its cursor."""
        both = [self.jobs.get_both(TENANT, job_id) for job_id in self.ids]
        fitting = [(made, cursor) for made, cursor in both if made and cursor and made.state is state and fits(cursor)]
        return self.random.choice(fitting) if fitting else None


def window_of(random: Random, now: float) -> Window:
    """A window that begins before, at or after now."""
    begin = int(now) + random.choice((-1800, 0, 700, 5 * HOUR))
    return Window(begin, begin + random.choice((2 * HOUR, 48 * HOUR)), random.choice((60, HOUR)), int(now))


def check(stores: Stores, seed: int, steps: int) -> tuple[Total, bool]:
    """Compare the counts with those of every cursor, after a random history. Return them, and whether the last tick
    found no overdue work.
    """
    random, clock = Random(seed), SettableClock(NOON)
    tenant = Tenant(stores, clock, random)
    tenant.live(steps)
    if random.random() < 0.7:
        tenant.dispatch()
    window = window_of(random, clock.now())
    truth = by_every_cursor(stores, clock, window)
    stores.tick_mark().mark(clock.now() - 60, frozenset({0}) if truth.late else frozenset())
    found = counted(stores, clock, window)
    assert found == truth, f"seed {seed}"
    return found, not truth.late
