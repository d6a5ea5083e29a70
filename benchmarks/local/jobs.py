"""The jobs that every side runs, and when each is due. Pure: no clock, no calls.

Times are whole seconds since 1970, UTC.
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
    """How a job recurs."""

    MINUTELY = "minutely"
    TEN_SECONDS = "ten_seconds"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `at` is the second of one that is due once."""

    id: str
    kind: Kind
    at: int | None = None

    @property
    def period(self) -> int | None:
        """Seconds between two occurrences; None where there is only one."""
        return {Kind.MINUTELY: MINUTE, Kind.TEN_SECONDS: TEN_SECONDS, Kind.ONCE: None}[self.kind]

    def occurrences(self, begin: int, end: int) -> list[int]:
        """Every second from `begin` to before `end` at which it is due."""
        if self.at is not None:
            return [self.at] if begin <= self.at < end else []
        period = self.period or MINUTE
        return list(range(-(-begin // period) * period, end, period))

    def latest(self, now: float) -> int:
        """The occurrence that a call made now belongs to, where a scheduler does not tell: the last one."""
        period = self.period or MINUTE
        return self.at if self.at is not None else int(now // period * period)


@dataclass(frozen=True, slots=True)
class Window:
    """The minutes that count: from `begin` to before `end`."""

    begin: int
    end: int

    @property
    def minutes(self) -> int:
        """How many."""
        return (self.end - self.begin) // MINUTE


def jobs_of(window: Window, minutely: int, once: int) -> tuple[Job, ...]:
    """So many jobs due at every full minute, so many due once and spread evenly, and one every ten seconds."""
    span = window.end - window.begin
    return (
        *(Job(f"minutely-{number:02d}", Kind.MINUTELY) for number in range(minutely)),
        *(Job(f"once-{n:02d}", Kind.ONCE, window.begin + (2 * n + 1) * span // (2 * once)) for n in range(once)),
        Job("ten-seconds", Kind.TEN_SECONDS),
    )


def first_full_minute(now: float, ahead: float) -> int:
    """The first full minute that lies at least so many seconds ahead."""
    return int(-(-(now + ahead) // MINUTE) * MINUTE)


def duecourse_document(job: Job, receiver: str) -> JobRequest:
    """A job as Duecourse is given it; everything else is the stage's default."""
    schedule = {Kind.MINUTELY: "* * * * *", Kind.TEN_SECONDS: "*/10 * * * * *"}.get(job.kind)
    if job.at is not None:
        schedule = f"at({datetime.fromtimestamp(job.at, UTC):%Y-%m-%dT%H:%M:%S})"
    return {"id": job.id, "schedule": schedule, "target": {"type": "http", "url": f"{receiver}/duecourse/{job.id}"}}


def written(jobs: Iterable[Job]) -> str:
    """The jobs for the process of a side."""
    return json.dumps([asdict(job) for job in jobs])


def read(text: str) -> tuple[Job, ...]:
    """The jobs as `written`."""
    return tuple(Job(each["id"], Kind(each["kind"]), each["at"]) for each in json.loads(text))
