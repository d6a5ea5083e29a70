"""Lists the recorded runs of all jobs of a tenant, newest occurrence first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import TYPE_CHECKING

from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Run
from duecourse.domain.runs.walk import GROUP, Place, Reading, first_place, next_place, place_after
from duecourse.domain.tenants.rate import Charge, free
from duecourse.ports import Clock, Executor
from duecourse.usecases.runs.lists import EXAMINED

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.runs import RunStore

FIRST_PART = 4
"""The number of runs that the first query of a job reads: about one read unit."""

FURTHER_PART, FURTHER_PARTS = 100, 15
"""The number of runs that each further query reads, and the maximum number of further queries for one page."""


@dataclass(frozen=True, slots=True)
class AllRunsPage:
    """Runs, newest first. `start` is the start of this page, and `following` is the start of the next page (None: there
    is none). All runs from `complete` on (UTC seconds) are on this page or on earlier ones (None: not known). `single`:
    all jobs are in one group.
    """

    items: tuple[Run, ...]
    start: Place
    following: Place | None
    complete: int | None
    single: bool

    @property
    def jobs(self) -> int:
        """The number of jobs that were read in the slice of the next page."""
        return 0 if self.following is None else self.following.jobs

    def first(self, count: int) -> AllRunsPage:
        """Return the first runs of the page."""
        if count == len(self.items):
            return self
        last = self.items[count - 1].name
        following = place_after(last) if self.single else replace(self.start, last=last)
        return replace(self, items=self.items[:count], following=following, complete=following.complete_from)


@dataclass(frozen=True, slots=True)
class AllRuns:
    """Reads the runs of all jobs in the order of `domain.runs.walk`. A page takes at most GROUP + FURTHER_PARTS queries
    of runs, and one or two reads of ids. The reads may be stale.
    """

    jobs: JobStore
    runs: RunStore
    clock: Clock
    executor: Executor
    group: int = GROUP

    def page(
        self,
        tenant: str,
        wanted: RunFilter,
        *,
        limit: int,
        place: Place | None = None,
        tag: str | None = None,
        first: int | None = None,
        end: int | None = None,
        charge: Charge = free,
    ) -> AllRunsPage:
        """Return the page that starts at `place`, of all jobs or of those with the `tag`, for occurrences from `first`
        on and before `end` (UTC seconds). Raises the errors of `charge`.
        """
        if place is None:
            place = first_place(int(self.clock.now()), end)
        group = self.jobs.page_ids(tenant, tag, limit=self.group + 1, after=place.after)  # a full group may be the last
        ids = group.items[: self.group]
        last = ids[-1] if len(group.items) > self.group else group.following
        charge(1 + len(ids) // GROUP)
        single = place.after is None and last is None
        low = max((each for each in (first, None if single else place.low) if each is not None), default=None)
        found, reading = self._read(tenant, ids, place, low, wanted, limit)
        if single:
            following = None if reading.ended or reading.last is None else place_after(reading.last)
        else:
            following = next_place(place, reading, jobs=len(ids), group_end=last, limit=limit, since=first)
        complete = first if following is None else following.complete_from
        return AllRunsPage(tuple(found), place, following, complete, single)

    def _read(
        self, tenant: str, ids: Sequence[str], place: Place, low: int | None, wanted: RunFilter, limit: int
    ) -> tuple[list[Run], Reading]:
        """Return the matching runs of the jobs with these ids, and the result of reading them."""

        def begin(job_id: str) -> list[Run]:
            return self.runs.page(tenant, job_id, limit=FIRST_PART, before=place.name_before(job_id), strongly=False)

        reader = _Reader(self.runs, tenant, low)
        heads = self.executor.map(begin, ids)
        sources = [reader.runs_of(job_id, part) for job_id, part in zip(ids, heads, strict=True)]
        found: list[Run] = []
        count, most = 0, max(limit, EXAMINED) if wanted.sifts else limit
        last = None
        try:
            for run in merge(*sources, key=lambda run: run.name.local, reverse=True):
                if count == most or len(found) == limit:
                    return found, Reading(count, last, ended=False, older=None)
                count, last = count + 1, run.name
                found += [run] if wanted.passes(run) else []
        except _ReadEnoughError:
            return found, Reading(count, last, ended=False, older=None)
        return found, Reading(count, last, ended=True, older=reader.older)


class _ReadEnoughError(Exception):
    """Raised when a page has taken FURTHER_PARTS queries."""


@dataclass(slots=True)
class _Reader:
    """Reads the runs of some jobs from the occurrence `low` on. `older` is the latest occurrence before it."""

    store: RunStore
    tenant: str
    low: int | None
    older: int | None = None
    left: int = field(default=FURTHER_PARTS)

    def runs_of(self, job_id: str, part: list[Run]) -> Iterator[Run]:
        """Yield the runs of `part`, the first runs of a job, and then the further ones. Raises _ReadEnoughError."""
        size = FIRST_PART
        while part:
            for run in part:
                if self.low is not None and run.occurrence < self.low:
                    self.older = run.occurrence if self.older is None else max(self.older, run.occurrence)
                    return
                yield run
            if len(part) < size:
                return
            if not self.left:
                raise _ReadEnoughError
            self.left, size = self.left - 1, FURTHER_PART
            part = self.store.page(self.tenant, job_id, limit=size, before=part[-1].name.local, strongly=False)
