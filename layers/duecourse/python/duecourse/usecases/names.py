"""The records of a job under all of its ids. A job that was not renamed has one id, and its records take one read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import islice

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run, RunState, state_since
from duecourse.ports import LastRun, RunStore, StateMark


def names_of(job: Job | None, job_id: str, now: float) -> tuple[str, ...]:
    """Return the ids of a job (None: it was deleted) whose id is `job_id`, its current id first."""
    return (job_id,) if job is None else job.names(now)


def page_of(runs: RunStore, tenant: str, names: Sequence[str], *, limit: int, before: str | None) -> list[Run]:
    """Return a page of the runs under these ids. See ports.RunStore.page."""
    parts = [runs.page(tenant, name, limit=limit, before=before) for name in names]
    return list(islice(merge(*parts, key=lambda run: run.name.local, reverse=True), limit))


def last_of(runs: RunStore, tenant: str, names: Sequence[str], *, limit: int, before: str) -> list[LastRun]:
    """Return the last runs under these ids. See ports.RunStore.last."""
    parts = [runs.last(tenant, name, limit=limit, before=before) for name in names]
    return list(islice(merge(*parts, key=lambda run: run.name.local, reverse=True), limit))


def by_state_of(
    runs: RunStore,
    tenant: str,
    states: Iterable[RunState],
    names: Sequence[str],
    *,
    limit: int,
    before: StateMark | None,
) -> list[Run]:
    """Return the runs under these ids in these states. See ports.RunStore.by_state."""
    wanted = tuple(states)
    parts = [runs.by_state(tenant, wanted, limit=limit, before=before, job_id=name) for name in names]
    return list(islice(merge(*parts, key=state_since, reverse=True), limit))
