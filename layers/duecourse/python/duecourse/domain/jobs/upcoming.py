"""The number of runs that come due in a period: those of cursors, and delayed runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.pause import after_pause
from duecourse_schedules.schedule import Occurrences

MAX_WINDOW_SECONDS = 48 * 3600
"""The longest window. A job that fires every second is walked second by second."""

MIN_STEP_SECONDS = 60
DEFAULT_STEP_SECONDS = 3600

LARGEST_JOBS = 3
"""How many jobs a bucket lists by default: the jobs with the most runs in it."""

MAX_LARGEST_JOBS = 1000
MAX_NAMED_JOBS = 10_000
"""The maximum number of jobs that all buckets of a page list in total: three for each minute of the longest window,
less than 1 MB.
"""

LATE_SECONDS = 60
"""A run that is not enqueued this long after it was due is late: at least one tick missed it. A run is normally
enqueued minutes before it is due, and the cursor may have been read some seconds ago.
"""


@dataclass(frozen=True, slots=True)
class Window:
    """The period from `begin` (inclusive) to `end` (exclusive), in buckets of `step` seconds. Nothing before `since`
    counts (UTC seconds).
    """

    begin: int
    end: int
    step: int
    since: int


def is_late(cursor: Cursor, now: float) -> bool:
    """Return whether the next run of an active job came due more than LATE_SECONDS before `now` (UTC seconds) and is
    not enqueued.
    """
    return cursor.due is not None and cursor.due + LATE_SECONDS < now


@dataclass(frozen=True, slots=True)
class Bucket:
    """The number of `runs` that come due in the bucket from `at` on (UTC seconds), and the jobs with the most runs,
    with their counts.
    """

    at: int
    runs: int
    jobs: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Histogram:
    """Adds up the runs of cursors, and delayed runs. `runs` is the total."""

    window: Window
    runs: int = 0
    _counts: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, cursor: Cursor) -> None:
        """Add the job's runs.

        Raises ScheduleError or ExclusionError for a cursor that cannot be compiled; then nothing is added.
        """
        self._count(cursor.job_id, dues(cursor, self.window))

    def add_run(self, job_id: str, due: int) -> None:
        """Add a delayed run of a job, which comes due in the window (UTC seconds)."""
        self._count(job_id, (due,))

    def _count(self, job_id: str, dues: Iterable[int]) -> None:
        window = self.window
        places = Counter((due - window.begin) // window.step for due in dues)
        for place, count in places.items():
            self._counts[place][job_id] += count
        self.runs += places.total()

    def buckets(self, largest: int = LARGEST_JOBS) -> tuple[Bucket, ...]:
        """Return the buckets with runs, in chronological order, each with its `largest` busiest jobs."""
        return tuple(
            Bucket(self.window.begin + place * self.window.step, counts.total(), tuple(_largest(counts, largest)))
            for place, counts in sorted(self._counts.items())
        )


def dues(cursor: Cursor, window: Window) -> Iterator[int]:
    """Yield the times at which a job's runs come due in the window. Runs before the cursor are already enqueued.
    `max_runs` bounds the runs from the cursor on. A paused job has only the runs from the planned end of its pause on.
    Raises ScheduleError or ExclusionError.
    """
    begin, cursor = _begin(cursor, window), after_pause(cursor, None)
    occurrences = cursor.occurrences()
    left = cursor.remaining
    at, _ = occurrences.due_after(begin - 1)
    while at is not None and at < window.end:
        if cursor.occurrence is None and (cursor.last is None or at > cursor.last):
            return
        if left is not None and cursor.occurrence is not None and at >= cursor.occurrence:
            if left <= 0:
                return
            left -= 1
        due = occurrences.due(at)
        if begin <= due < window.end:
            yield due
        at = occurrences.next(at)


def expected(cursor: Cursor, window: Window) -> int:
    """Return the approximate number of runs of a job that come due in the window (`estimated`). Raises ScheduleError or
    ExclusionError.
    """
    found = estimated(cursor.occurrences(), _begin(cursor, window), window.end)
    return found if cursor.remaining is None else min(found, cursor.remaining)


def estimated(occurrences: Occurrences, begin: int, end: int) -> int:
    """Return the approximate number of occurrences from `begin` up to, but not including, `end` (UTC seconds). The
    estimate uses the first two occurrences of each eighth of this time. Raises ScheduleError or ExclusionError.
    """
    found, part = 0, max((end - begin) // 8, 1)
    at = occurrences.next(begin - 1)
    while at is not None and at < end:
        stop = min(begin + ((at - begin) // part + 1) * part, end)
        following = occurrences.next(at)
        found += 1 if following is None else 1 + (stop - 1 - at) // (following - at)
        at = occurrences.next(stop - 1)
    return found


def _begin(cursor: Cursor, window: Window) -> int:
    """Return the start of the time for which a job's runs are counted (UTC seconds)."""
    begin = max(window.begin, window.since)
    return begin if cursor.resume is None else max(begin, cursor.resume.at)


def _largest(counts: Counter[str], largest: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:largest]
