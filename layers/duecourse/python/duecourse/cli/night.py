"""Explains the occurrences of a night: consecutive ones with the same outcome have one explanation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from duecourse.client import Client
from duecourse.client.models import Explained, Job, Occurrence, Run

PAGE = 100
"""The API's maximum number of occurrences and of runs in a response."""

MAX_OCCURRENCES = 10_000
"""The maximum number of occurrences that are explained: 200 requests. A job of every second has 50,400 in a night."""

MAX_GROUPS = 40
"""If there are more groups of consecutive occurrences, occurrences are grouped by their outcome alone."""

GroupKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Occurrences with the same outcome. `explained` is the explanation of the last one."""

    first: datetime
    last: datetime
    count: int
    explained: Explained


@dataclass(frozen=True, slots=True)
class Night:
    """The occurrences of a job in a night. `count` is their number.

    - `since`: the job's creation, if it was after the beginning of the night.
    - `consecutive`: whether the occurrences of each group are consecutive.
    - `left_out`: the first instant that is not included, because there are too many occurrences.
    """

    count: int
    groups: tuple[Group, ...]
    since: datetime | None
    consecutive: bool
    left_out: datetime | None


def explain_night(client: Client, job: Job, begin: datetime, end: datetime, *, most: int = MAX_OCCURRENCES) -> Night:
    """Explain the first `most` occurrences of a night. It reads up to a hundred occurrences or records at a time, and
    explains the last occurrence of each group. Raises the errors of the client.
    """
    since = job.created_at if job.created_at > begin else None
    planned = list(_occurrences(client, job, max(begin, job.created_at + timedelta(seconds=1)), end, most + 1))
    left_out = planned.pop() if len(planned) > most else None
    records = _records(client, job, begin, left_out or end)
    instants = sorted({*planned, *records})
    seen: dict[datetime, Explained] = {}

    def explain(at: datetime) -> Explained:
        if at not in seen:
            seen[at] = client.explain_job(job.id, at=at)
        return seen[at]

    outcomes = _outcomes(instants, records, explain)
    groups = [list(group) for _, group in groupby(instants, outcomes.__getitem__)]
    consecutive = len(groups) <= MAX_GROUPS
    if not consecutive:
        ordered = sorted(instants, key=lambda at: (outcomes[at], at))
        groups = sorted(list(group) for _, group in groupby(ordered, outcomes.__getitem__))
    found = tuple(Group(group[0], group[-1], len(group), explain(group[-1])) for group in groups)
    return Night(len(instants), found, since, consecutive, left_out)


def _occurrences(client: Client, job: Job, begin: datetime, end: datetime, most: int) -> Iterator[datetime]:
    """Yield the first occurrences of the job's schedule in a range."""
    after, count = begin.replace(microsecond=0) - timedelta(seconds=1), 0
    while job.schedule is not None:
        found = preview(client, job, after, PAGE)
        for at, _ in found:
            if at >= end or count == most:
                return
            yield at
            count += 1
        if not found:
            return
        after, _ = found[-1]


def exclusions_of(job: Job) -> tuple[str, ...]:
    """Return the job's exclusions and its planned pause, without the days of its calendars."""
    return (*(job.exclude or ()), *(() if job.planned_pause is None else (job.planned_pause,)))


def calendars_of(job: Job) -> tuple[str, ...]:
    """Return the ids of the job's calendars."""
    return job.calendar if isinstance(job.calendar, tuple) else () if job.calendar is None else (job.calendar,)


def preview(client: Client, job: Job, after: datetime, count: int) -> list[tuple[datetime, Occurrence]]:
    """Return the next occurrences of a job's schedule after an instant, 100 at most, and the excluded ones between
    them.
    """
    if job.schedule is None:
        return []
    shown = client.preview_schedule(
        job.schedule,
        timezone=job.timezone,
        dst_gap=job.dst_gap,
        dst_fold=job.dst_fold,
        anchor=job.anchor,
        start=job.start,
        end=job.end,
        exclude=exclusions_of(job),
        calendar=job.calendar,
        on_excluded=job.on_excluded,
        after=after,
        count=count,
    )
    return [(each.at, each) for each in shown.occurrences if each.at is not None and each.at > after]


def _records(client: Client, job: Job, begin: datetime, end: datetime) -> Mapping[datetime, Run]:
    """Return the runs of a range by their occurrences: the scheduled ones, or all runs of a job without a schedule."""
    found: dict[datetime, Run] = {}
    cursor: str | None = None
    while True:
        page = client.list_runs(job.id, from_=begin, to=end, limit=PAGE, cursor=cursor)
        for run in page.items:
            if job.schedule is None or run.id.count(".") == 1:
                found.setdefault(run.occurrence, run)
        cursor = page.next_cursor
        if cursor is None:
            return found


def _outcomes(
    instants: Sequence[datetime], records: Mapping[datetime, Run], explain: Callable[[datetime], Explained]
) -> dict[datetime, GroupKey]:
    """Return the outcome of each occurrence. If two of several consecutive occurrences without a record have the
    same verdict, those between them are assumed to have it too.
    """
    found = {at: (run.state, run.reason or "", run.code or "") for at, run in records.items()}
    outcomes: dict[datetime, GroupKey] = dict(found)
    for recorded, group in groupby(instants, records.__contains__):
        rest = [] if recorded else list(group)
        while rest:
            verdict, last = explain(rest[0]).verdict, explain(rest[-1]).verdict
            same = len(rest) if last == verdict else _changes(rest, lambda at: explain(at).verdict, verdict)
            outcomes |= dict.fromkeys(rest[:same], (verdict,))
            rest = rest[same:]
    return outcomes


def _changes(instants: Sequence[datetime], verdict_of: Callable[[datetime], str], verdict: str) -> int:
    """Return the number of the first instants with this verdict, by bisection."""
    return bisect_left(instants, True, key=lambda at: verdict_of(at) != verdict)
