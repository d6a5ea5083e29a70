"""Evaluates the last runs of a job and its references, for the API and for `duecourse doctor`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Literal

from duecourse.checks.check import span

LAST_RUNS = 20
"""How many of the last runs of a job are evaluated."""

LEFT_OUT = 5
"""The number of skipped or merged runs, among the last runs, that causes a warning."""

CALENDAR_DAYS = 60
"""How many days before the last day of a calendar its jobs get a warning."""

MIN_MEASURED = 3
"""The minimum number of durations. The median of fewer is not meaningful."""

LEFT_OUT_REASONS: Collection[str] = frozenset(
    {"overlap", "overlap_full", "replaced", "missed", "superseded", "start_deadline"}
)
"""The reasons for which a run is skipped without a request."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run: why it was skipped (None: it was not), the number of occurrences that it covers, and the seconds from its
    first start to its end (None: it has not ended, or never started).
    """

    skipped: str | None = None
    count: int = 1
    seconds: float | None = None

    @property
    def left_out(self) -> bool:
        """Whether the run covers several occurrences, or was skipped for a reason other than a request."""
        return self.skipped in LEFT_OUT_REASONS or self.count > 1


@dataclass(frozen=True, slots=True)
class JobWarning:
    """A warning about a job: a word for programs, the problem, and the remedy."""

    kind: str
    says: str
    do: str
    facts: Mapping[str, object]


def job_warnings(runs: Sequence[PastRun], interval: float | None) -> list[JobWarning]:
    """Return the warnings about a job with these last runs. `interval` is the time between two occurrences (seconds;
    None: unknown).
    """
    found = []
    measured = [run.seconds for run in runs if run.seconds is not None]
    if interval is not None and len(measured) >= MIN_MEASURED and (usual := median(measured)) > interval:
        found.append(
            JobWarning(
                "slow",
                f"Runs take longer than the interval: {span(usual)} (the median), with an occurrence every "
                f"{span(interval)}.",
                "Choose a longer interval, or shorten the work.",
                {"median_seconds": round(usual, 3), "interval_seconds": interval},
            )
        )
    if (left_out := sum(run.left_out for run in runs)) >= LEFT_OUT:
        found.append(
            JobWarning(
                "skipped",
                f"{left_out} of the last {len(runs)} runs were skipped or merged.",
                "See the reasons of these runs, and change the job's interval, overlap or missed.",
                {"skipped": left_out, "runs": len(runs)},
            )
        )
    return found


def missing_warnings(field: Literal["notify", "then"], missing: Sequence[str]) -> list[JobWarning]:
    """Return the warning about a job whose `notify` or `then` names these jobs, which do not exist."""
    if not missing:
        return []
    names = ", ".join(missing)
    does = "a job that does" if len(missing) == 1 else "jobs that do"
    lost = {"notify": "these notices are lost", "then": "nothing runs after this job"}[field]
    return [
        JobWarning(
            field,
            f"{field} names {does} not exist: {names}.",
            f"Create it, or correct {field}; until then {lost}.",
            {"missing": list(missing)},
        )
    ]


def calendar_warnings(calendar: str, days: Iterable[str], today: date) -> list[JobWarning]:
    """Return the warning about a job with a calendar that has no day after the next CALENDAR_DAYS days."""
    last = last_day(days)
    if last is None or last - today >= timedelta(days=CALENDAR_DAYS):
        return []
    return [
        JobWarning(
            "calendar",
            f"The last date in the calendar {calendar} is {last}.",
            "Add later dates: duecourse calendars import or put.",
            {"calendar": calendar, "last_day": str(last)},
        )
    ]


def last_day(days: Iterable[str]) -> date | None:
    """Return the last of the dates and ranges of dates in a calendar; None if it has none."""
    dates = [each.rpartition("/")[2] for each in days if " " not in each and "T" not in each]
    return date.fromisoformat(max(dates)) if dates else None
