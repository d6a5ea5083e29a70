"""The order in which a list of all runs of a tenant is read: newest occurrence first, without an index.

Only the records of a job show which runs it had. A walk therefore reads one slice of time after the other, newest
first, and in each slice one group of jobs after the other. If all jobs are in one group, the slice has no lower end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.documents import LATEST
from duecourse.domain.ids import RunName, to_basic
from duecourse.domain.instants import DAY_SECONDS

GROUP = 40
"""The maximum number of ids of jobs whose runs are read for one page. Each requires a query."""

FIRST_SECONDS = 60
"""The length of the first slice. Ten thousand jobs that run every minute fill it with as many runs."""

LONGEST_SECONDS = 30 * DAY_SECONDS
FACTOR = 16
"""The maximum factor by which a slice is longer or shorter than the previous slice."""

BEFORE_ALL = -1
"""An instant before every occurrence."""

_AFTER_SUFFIXES = "~"
"""Sorts after every suffix of a run's name."""


@dataclass(frozen=True, slots=True)
class Place:
    """The start of a page.

    - `before`: the start of the slice: a run, which precedes the runs of the slice in the list (occurrence, then id of
      the job), or an instant (UTC seconds), up to which the slice has occurrences. None: the newest run.
    - `low`: the first instant of the slice, which is `seconds` long.
    - `after`: the last job of the groups that were read in this slice.
    - `last`: the last run that was read of the current group.
    - `jobs`, `pages`, `runs`: the numbers of jobs, pages and runs that were read in this slice.
    - `older`: the latest occurrence before the slice among these jobs.
    """

    before: RunName | int | None
    low: int
    seconds: int = FIRST_SECONDS
    after: str | None = None
    last: RunName | None = None
    jobs: int = 0
    pages: int = 0
    runs: int = 0
    older: int | None = None

    @property
    def complete_from(self) -> int | None:
        """The earlier pages contain all runs from this instant on (UTC seconds)."""
        match self.before:
            case None:
                return None
            case int(until):
                return min(until + 1, LATEST)
            case RunName() as run:
                return min(run.occurrence + 1, LATEST)

    def name_before(self, job_id: str) -> str | None:
        """Return the local name that precedes the runs of this id of a job."""
        match self.last or self.before:
            case None:
                return None
            case int(until):
                return to_basic(until) + _AFTER_SUFFIXES
            case RunName() as run:
                return run.local if job_id <= run.job_id else f"{run.local}\0"  # or also the run of this name


def first_place(now: int, until: int | None) -> Place:
    """Return the start of a list of all occurrences, or of those before `until`, at `now` (UTC seconds)."""
    before = None if until is None else max(until - 1, BEFORE_ALL)
    newest = now if before is None else min(now, before)
    return Place(before, newest - FIRST_SECONDS + 1)


def place_after(run: RunName) -> Place:
    """Return the start of the list after this run."""
    return Place(run, run.occurrence - FIRST_SECONDS + 1)


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a page: `runs` records up to `last`. `ended`: it read all of the group's runs of the slice,
    and the group's latest earlier occurrence is `older`.
    """

    runs: int
    last: RunName | None
    ended: bool
    older: int | None


def next_place(
    place: Place, reading: Reading, *, jobs: int, group_end: str | None, limit: int, since: int | None
) -> Place | None:
    """Return the start of the page after `place`; None at the end of the list.

    `jobs` is the number of jobs in the group, and `group_end` the last of them, if there are more jobs. `limit` is the
    number of runs of a page, and `since` the first occurrence of the list.
    """
    pages, runs = place.pages + 1, place.runs + reading.runs
    if not reading.ended:
        return replace(place, last=reading.last or place.last, pages=pages, runs=runs)
    older = max((at for at in (place.older, reading.older) if at is not None), default=None)
    if group_end is not None:
        whole = place.jobs + jobs
        return replace(place, after=group_end, last=None, jobs=whole, pages=pages, runs=runs, older=older)
    if older is None or (since is not None and older < since):
        return None
    seconds = slice_seconds(place.seconds, pages=pages, runs=runs, limit=limit)
    return Place(older, older - seconds + 1, seconds)


def slice_seconds(seconds: int, *, pages: int, runs: int, limit: int) -> int:
    """Return the length of the next slice, so that its pages are about half full. Emptier pages cost as much as full
    ones, but with a longer slice, it takes longer until the order of its runs is known.
    """
    wanted = max(limit, pages * limit // 2)
    fitting = seconds * wanted // max(runs, 1)
    return max(1, seconds // FACTOR, min(fitting, seconds * FACTOR, LONGEST_SECONDS))
