"""The jobs that all schedulers run, and their due times. Pure: no clock, no calls. Times are whole seconds since 1970,
UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duecourse.client.bodies import JobRequest

MINUTE = 60
TEN_SECONDS = 10


class Kind(StrEnum):
    """The recurrence of a job."""

    MINUTELY = "minutely"
    TEN_SECONDS = "ten_seconds"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `at` is the due second of a one-off."""

    id: str
    kind: Kind
    at: int | None = None

    @property
    def period(self) -> int | None:
        """The seconds between two occurrences; None for a one-off."""
        return {Kind.MINUTELY: MINUTE, Kind.TEN_SECONDS: TEN_SECONDS, Kind.ONCE: None}[self.kind]

    def occurrences(self, begin: int, end: int) -> list[int]:
        """Return the seconds at which the job is due, from `begin` on and before `end`."""
        if self.at is not None:
            return [self.at] if begin <= self.at < end else []
        period = self.period or MINUTE
        return list(range(-(-begin // period) * period, end, period))

    def latest(self, now: float) -> int:
        """Return the occurrence of a call at this time if the scheduler does not pass it: the last one."""
        period = self.period or MINUTE
        return self.at if self.at is not None else int(now // period * period)


@dataclass(frozen=True, slots=True)
class Window:
    """The measured minutes, from `begin` on and before `end`."""

    begin: int
    end: int

    @property
    def minutes(self) -> int:
        """The number of minutes."""
        return (self.end - self.begin) // MINUTE


def jobs_of(window: Window, minutely: int, once: int) -> tuple[Job, ...]:
    """Return `minutely` jobs that are due at every full minute, `once` one-offs spread evenly, and one job that fires
    every ten seconds.
    """
    span = window.end - window.begin
    return (
        *(Job(f"minutely-{number:02d}", Kind.MINUTELY) for number in range(minutely)),
        *(Job(f"once-{n:02d}", Kind.ONCE, window.begin + (2 * n + 1) * span // (2 * once)) for n in range(once)),
        Job("ten-seconds", Kind.TEN_SECONDS),
    )


def first_full_minute(now: float, ahead: float) -> int:
    """Return the first full minute that is at least this number of seconds ahead."""
    return int(-(-(now + ahead) // MINUTE) * MINUTE)


def duecourse_document(job: Job, receiver: str) -> JobRequest:
    """Return the job in the format of Duecourse's API, with the stage's defaults for all other fields."""
    schedule = {Kind.MINUTELY: "* * * * *", Kind.TEN_SECONDS: "*/10 * * * * *"}.get(job.kind)
    if job.at is not None:
        schedule = f"at({datetime.fromtimestamp(job.at, UTC):%Y-%m-%dT%H:%M:%S})"
    return {"id": job.id, "schedule": schedule, "target": {"type": "http", "url": f"{receiver}/duecourse/{job.id}"}}


def written(jobs: Iterable[Job]) -> str:
    """Return the jobs as text for the process of a scheduler."""
    return json.dumps([asdict(job) for job in jobs])


def read(text: str) -> tuple[Job, ...]:
    """Return the jobs from the text of `written`."""
    return tuple(Job(each["id"], Kind(each["kind"]), each["at"]) for each in json.loads(text))
