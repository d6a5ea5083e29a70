"""The jobs of each case, as in the jobs table, and the messages that are due now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Job, Lane, Overlap, Precision
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Attempts, Succeeded
from duecourse.domain.targets.targets import HttpTarget, LambdaTarget
from duecourse.messages import RunMessage
from duecourse.stores import job_item, run_item
from duecourse_schedules import ScheduleSpec

TENANT = "acme"
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney", "America/Sao_Paulo")
FUNCTION = "target-reports"
PAYLOAD = {"report": "sales", "region": "eu-central-1", "to": ["ops@example.com"], "pages": 12}

START_UNITS = 1
FINISH_UNITS = 1
LOCK_UNITS = 1
"""The write units of a run, as in docs/data.md."""


@dataclass(frozen=True, slots=True)
class Case:
    """Runs of jobs of one kind."""

    name: str
    says: str
    scheme: str | None
    """The scheme of an HTTP target's URL; None for a Lambda function."""
    overlap: Overlap

    @property
    def most_write_units(self) -> int:
        """The budget of a run."""
        return START_UNITS + FINISH_UNITS + (0 if self.overlap is Overlap.ALLOW else LOCK_UNITS)

    def jobs(self, count: int, url: str, now: int) -> list[Job]:
        """Return jobs that fire once a day and are due in the minute before `now`. HTTP targets are at `url`."""
        return [self._job(number, url, now) for number in range(count)]

    def _job(self, number: int, url: str, now: int) -> Job:
        zone = ZONES[number % len(ZONES)]
        at = datetime.fromtimestamp(now - number % 30, UTC).astimezone(ZoneInfo(zone))
        created = now - 86_400
        return Job(
            tenant=TENANT,
            id=f"{self.name.replace('_', '-')}-report-{number:06d}",
            schedule=ScheduleSpec(f"{at.second} {at.minute} {at.hour} * * *", zone, anchor=created),
            target=HttpTarget(url) if self.scheme else LambdaTarget(FUNCTION),
            generation=created * 1000 + number,
            created_at=created,
            updated_at=created,
            changed_at=created,
            created_generation=created * 1000 + number,
            payload=PAYLOAD,
            overlap=self.overlap,
            seated=True,
            precision=Precision.EXACT,
        )


CASES = (
    Case("http", "an HTTP target, overlap allowed", "http", Overlap.ALLOW),
    Case("http_overlap_skip", "an HTTP target, overlap forbidden (the default)", "http", Overlap.SKIP),
    Case("https", "an HTTPS target, overlap allowed", "https", Overlap.ALLOW),
    Case("lambda", "a Lambda function, overlap allowed", None, Overlap.ALLOW),
    Case("lambda_overlap_skip", "a Lambda function, overlap forbidden", None, Overlap.SKIP),
)


def items(jobs: list[Job]) -> dict[str, dict[str, Any]]:
    """Return the stored items by key: the jobs and, if they forbid overlap, the lock and the record of the previous
    day's run.
    """
    stored = [job_item.to_item(job)[0] for job in jobs]
    for job in jobs:
        if job.needs_lock:
            run = _earlier(job)
            lock = Lock(run.name.local, run.attempts.started_at + 120.0, 2)
            stored += [run_item.lock_item(job.tenant, job.id, lock), run_item.to_item(run)]
    return {f"{item['PK']['S']}/{item['SK']['S']}": item for item in stored}


def _earlier(job: Job) -> Succeeded:
    at = int(job.created_at)
    return Succeeded(
        RunIdentity(job.tenant, job.id, at, at, job.generation),
        Lane.NORMAL,
        attempts=Attempts(1, at + 0.02, at + 0.02),
        fencing_token="3f0c5b52-7c5e-4f0e-9a40-1d2b6b0c8a11/0b6f6f6e-5a7e-4f43-8c3e-6b1f4a2d9c77/q1Yb0tX8r4Lw2s9Z",
        message_id="0b6f6f6e-5a7e-4f43-8c3e-6b1f4a2d9c77",
        nonce="q1Yb0tX8r4Lw2s9Z",
        finished_at=at + 0.2,
        expires_at=at + 90 * 86_400,
        result={"taken": True},
    )


def messages(jobs: list[Job], now: int) -> list[RunMessage]:
    """Return the message of each job's occurrence in the minute before `now`, due at its time."""
    return [message_of(job, now - number % 30) for number, job in enumerate(jobs)]


def message_of(job: Job, occurrence: int) -> RunMessage:
    """Return the message as a dispatcher sends it: the next run is due as long after it as the previous one was before
    it, about a day, so this one has a seat.
    """
    return RunMessage(
        RunIdentity(tenant=job.tenant, job_id=job.id, occurrence=occurrence, due=occurrence, generation=job.generation),
        lane=Lane.NORMAL,
        not_before=float(occurrence),
        nonce="q1Yb0tX8r4Lw2s9Z",
        following=2 * occurrence - int(job.created_at),
    )
