"""A tenant's runs that did not go well, across its jobs, and dead runs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from duecourse.domain.runs.run import Run, state_since
from duecourse.domain.runs.run_filter import RunFilter
from duecourse.ports import JobStore, RunStore, StateMark

EXAMINED = 500
"""Runs that are read for a page of those with a tag or an error; a page may therefore be short, or empty, and still
have a next one.
"""


@dataclass(frozen=True, slots=True)
class StatePage:
    """Runs, those that came into their state last first; `following` continues after the last that was examined."""

    items: tuple[Run, ...]
    following: StateMark | None


@dataclass(frozen=True, slots=True)
class RunSearch:
    """Finds runs by the index of unsuccessful states, which may lag a little. A run has no tags: its job's present ones
    count, so that runs that went well need not store any.
    """

    runs: RunStore
    jobs: JobStore

    def page(
        self,
        tenant: str,
        wanted: RunFilter,
        *,
        limit: int,
        before: StateMark | None = None,
        job_id: str | None = None,
        tag: str | None = None,
    ) -> StatePage:
        """One page of the runs in `wanted.states`, all in UNSUCCESSFUL: of one job, or of jobs that have the tag."""
        reading = limit if wanted.error is None and tag is None else max(limit, EXAMINED)
        until = None if wanted.until is None else StateMark(wanted.until, "")
        marks = [mark for mark in (until, before) if mark is not None]
        start = min(marks, key=lambda mark: mark.at, default=None)
        found = self.runs.by_state(tenant, wanted.states, limit=reading + 1, before=start, job_id=job_id)
        since = wanted.since
        if since is not None:
            found = list(takewhile(lambda run: state_since(run) >= since, found))
        examined = self._tagged(tenant, tag, [run for run in found[:reading] if wanted.passes(run)])
        if len(examined) > limit:
            return StatePage(tuple(examined[:limit]), mark_of(examined[limit - 1]))
        return StatePage(tuple(examined), mark_of(found[reading - 1]) if len(found) > reading else None)

    def _tagged(self, tenant: str, tag: str | None, runs: Sequence[Run]) -> Sequence[Run]:
        if tag is None or not runs:
            return runs
        having = self.jobs.tagged(tenant, tag, {run.job_id for run in runs})
        return [run for run in runs if run.job_id in having]


def mark_of(run: Run) -> StateMark:
    """The mark of a list that ends with this run."""
    return StateMark(state_since(run), str(run.name), run.state)
