"""Rehearsals: the definition of a job runs in memory, over days with outages, and each occurrence has a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duecourse.client.models import Run
    from duecourse.testing import Scheduler, TargetCall

ON_TIME = timedelta(seconds=5)
"""A run that starts later than this is late, as in the objective of a stage (docs/operations.md)."""

MOST_OCCURRENCES = 10_000
"""The maximum number of occurrences of a rehearsal: it takes a few milliseconds for each."""

AFTERWARDS = timedelta(hours=6)
"""How long the rehearsal continues after its last occurrence, so that late runs and retries can end."""

FAILED = 503
"""The status of a target that is down."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time from `begin` to before `end`."""

    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Scenario:
    """The days from `begin` to `end`. Duecourse does nothing during `outages` (ascending, not overlapping). The target
    fails for the time `target_down` after each run is due.
    """

    begin: datetime
    end: datetime
    outages: tuple[Window, ...] = ()
    target_down: timedelta = timedelta()


class Result(StrEnum):
    """What became of an occurrence."""

    ON_TIME = "on time"
    LATE = "late"
    COVERED = "covered"
    """The run of an earlier occurrence also covers this one (`missed`)."""
    NEVER = "never"
    """It was skipped or cancelled, or its run died."""
    UNFINISHED = "unfinished"
    """Its run had not ended when the rehearsal ended."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """An occurrence: the time of the first call (None: not called), the number of calls, the end of its run (None: it
    has not ended), and a reason or an error.
    """

    due: datetime
    result: Result
    called_at: datetime | None = None
    calls: int = 0
    ended_at: datetime | None = None
    why: str | None = None

    @property
    def late_by(self) -> timedelta:
        """How late the first call was."""
        return timedelta() if self.called_at is None else self.called_at - self.due


def daily(begins: str, ends: str, zone: tzinfo, scenario: Scenario) -> Iterator[Window]:
    """Yield the window between two times of day (`02:00`), in a time zone, on each day of a scenario. If it ends at or
    before its begin, it ends on the next day. On a day without these times (DST), there is none. Raises ValueError for
    other texts.
    """
    first, last = (datetime.strptime(text, "%H:%M").time() for text in (begins, ends))  # noqa: DTZ007 - local times
    day = scenario.begin.astimezone(zone).date() - timedelta(days=1)
    while day <= scenario.end.astimezone(zone).date():
        begin = max(datetime.combine(day, first, zone).astimezone(UTC), scenario.begin)
        end = min(datetime.combine(day + timedelta(days=last <= first), last, zone).astimezone(UTC), scenario.end)
        if begin < end:
            yield Window(begin, end)
        day += timedelta(days=1)


def merged(windows: Iterable[Window]) -> tuple[Window, ...]:
    """Return the windows in ascending order, with overlapping ones as one."""
    found: list[Window] = []
    for each in sorted(windows, key=lambda window: window.begin):
        if found and each.begin <= found[-1].end:
            found[-1] = Window(found[-1].begin, max(found[-1].end, each.end))
        else:
            found.append(each)
    return tuple(found)


def rehearse(scheduler: Scheduler, job_id: str, due: Sequence[datetime], scenario: Scenario) -> list[Rehearsed]:
    """Play the scenario with the job of this id, and return what became of the occurrences that are `due` (ascending).
    The clock of the scheduler is before the beginning.
    """
    down = scenario.target_down

    @scheduler.target
    def target(call: TargetCall) -> int:
        return FAILED if down and call.at < scheduler.client.get_run(call.run_id).due + down else 200

    for outage in scenario.outages:
        scheduler.advance_to(outage.begin)
        scheduler.outage_until(outage.end)
    scheduler.advance_to(scenario.end + AFTERWARDS)
    job = scheduler.client.get_job(job_id)
    paused = f"the job was paused: {job.paused_because}" if job.state == "PAUSED" else "no run"
    return results(due, _runs(scheduler, job_id), scheduler.calls, paused)


def results(
    due: Sequence[datetime], runs: Iterable[Run], calls: Iterable[TargetCall], without_run: str = "no run"
) -> list[Rehearsed]:
    """Return what became of each occurrence, from the runs and their calls. `without_run` is why an occurrence has no
    run.
    """
    made: dict[str, list[datetime]] = {}
    for call in calls:
        made.setdefault(call.run_id, []).append(call.at)
    by_occurrence = {run.occurrence: run for run in runs}
    found, covering, left = list[Rehearsed](), None, 0
    for at in due:
        run = by_occurrence.get(at)
        if run is not None:
            found.append(_result(run, made.get(run.id, [])))
            covering, left = run, run.count - 1
        elif covering is not None and left > 0:
            one = _result(covering, ())
            if one.result in (Result.ON_TIME, Result.LATE):
                why = f"by the run of {covering.occurrence:%Y-%m-%dT%H:%M:%SZ}"
                found.append(Rehearsed(at, Result.COVERED, why=why))
            else:
                found.append(Rehearsed(at, one.result, why=one.why))
            left -= 1
        else:
            found.append(Rehearsed(at, Result.NEVER, why=without_run))
    return found


def _result(run: Run, calls: Sequence[datetime]) -> Rehearsed:
    called_at = calls[0] if calls else None
    match run.state:
        case "SUCCEEDED":
            late = called_at is not None and called_at - run.due > ON_TIME
            return Rehearsed(run.due, Result.LATE if late else Result.ON_TIME, called_at, len(calls), run.finished_at)
        case "DEAD" | "SKIPPED" | "CANCELLED":
            return Rehearsed(run.due, Result.NEVER, called_at, len(calls), run.finished_at, _why(run))
        case "QUEUED" | "RUNNING" | "WAITING" | "RETRYING":
            return Rehearsed(run.due, Result.UNFINISHED, called_at, len(calls), why=run.state)


def _why(run: Run) -> str:
    reason = run.reason or run.error
    return f"{run.state}: {reason}" if reason else run.state


def _runs(scheduler: Scheduler, job_id: str) -> Iterator[Run]:
    cursor = None
    while True:
        page = scheduler.client.list_runs(job_id, limit=100, cursor=cursor)
        yield from page.items
        if (cursor := page.next_cursor) is None:
            return


@dataclass(frozen=True, slots=True)
class Row:
    """Consecutive occurrences with the same result, of which none was late or called more than once; or one other
    occurrence.
    """

    first: Rehearsed
    last: Rehearsed
    count: int = 1


def rows(found: Iterable[Rehearsed]) -> list[Row]:
    """Return the rows of the table."""
    made: list[Row] = []
    for each in found:
        before = made[-1] if made else None
        if before is not None and _kind(each) is not None and _kind(each) == _kind(before.last):
            made[-1] = Row(before.first, each, before.count + 1)
        else:
            made.append(Row(each, each))
    return made


def _kind(each: Rehearsed) -> tuple[Result, str | None] | None:
    """Return what is the same in all occurrences of a row; None for an occurrence with its own row."""
    return None if each.calls > 1 or each.result is Result.LATE else (each.result, each.why)


def summary(found: Sequence[Rehearsed]) -> Mapping[str, int]:
    """Return the number of occurrences by result, and the number of runs that were called more than once."""
    counted = Counter(each.result for each in found)
    return {"due": len(found), **{each.value: counted[each] for each in Result}, "repeated": _repeated(found)}


def _repeated(found: Iterable[Rehearsed]) -> int:
    return sum(each.calls > 1 for each in found)


TARGET = {"type": "http", "url": "https://example.com/rehearsal"}
"""The target of a rehearsed job. It is not called."""

WITHOUT_EFFECT = frozenset(
    {
        *("after_completion", "completion", "completion_seconds", "events", "heartbeat_seconds", "notify", "ping_url"),
        *("idempotency_key", "payload", "result_location", "owner", "tags"),
    }
)
"""The fields of a job that a rehearsal ignores: those of notices and results, and of the target. Runs end with their
calls, also those that would wait for a callback.
"""


def rehearsed_document(document: Mapping[str, Any], begin: datetime) -> dict[str, Any]:
    """Return the definition of a job for a rehearsal: with a target in memory, and without notices. A rate without an
    anchor counts from the beginning.
    """
    kept = {name: value for name, value in document.items() if name not in WITHOUT_EFFECT}
    anchor = {"anchor": begin.isoformat()} if has_rate(document.get("schedule")) else {}
    return anchor | kept | {"target": TARGET}


def has_rate(schedule: str | Collection[str] | None) -> bool:
    """Return whether a schedule contains a rate, which counts from its anchor."""
    every = (schedule,) if isinstance(schedule, str) else schedule or ()
    return any(each.startswith("rate(") for each in every)


def calendars_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the calendars of a job."""
    named = document.get("calendar")
    return () if named is None else (named,) if isinstance(named, str) else tuple(named)
