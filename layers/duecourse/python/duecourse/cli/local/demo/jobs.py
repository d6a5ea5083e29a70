"""The four jobs of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from duecourse.cli.local.demo.receiver import FAIL_PATH, OK_PATH
from duecourse.client.bodies import HttpTarget, JobRequest, Retry

TEN_SECONDS = "every-10-seconds"
ONCE = "once-in-20-seconds"
MINUTE = "every-minute"
DEAD = "fails-until-dead"
DEAD_ATTEMPTS = 3
ONCE_AFTER = timedelta(seconds=20)
DEAD_AFTER = timedelta(seconds=6)


@dataclass(frozen=True, slots=True)
class DemoJob:
    """A job to post. `every` is the interval of its occurrences, None for a one-off."""

    document: JobRequest
    every: timedelta | None = None

    @property
    def id(self) -> str:
        """The job's id."""
        return self.document.get("id") or ""


def _at(instant: datetime) -> str:
    return f"at({instant.astimezone(UTC):%Y-%m-%dT%H:%M:%S})"


def demo_jobs(receiver_url: str, now: datetime) -> tuple[DemoJob, ...]:
    """Return four jobs: every ten seconds, once in twenty seconds, every minute, and one whose target always fails."""
    works: HttpTarget = {"type": "http", "url": receiver_url + OK_PATH, "method": "POST"}
    fails: HttpTarget = {"type": "http", "url": receiver_url + FAIL_PATH, "method": "POST"}
    retry: Retry = {"max_attempts": DEAD_ATTEMPTS, "backoff": "fixed", "min_seconds": 1, "max_seconds": 2}
    return (
        DemoJob(
            {"id": TEN_SECONDS, "name": "Every ten seconds", "schedule": "rate(10 seconds)", "target": works},
            timedelta(seconds=10),
        ),
        DemoJob({"id": ONCE, "name": "Once", "schedule": _at(now + ONCE_AFTER), "target": works}),
        DemoJob({"id": MINUTE, "name": "Every minute", "schedule": "* * * * *", "target": works}, timedelta(minutes=1)),
        DemoJob(
            {
                "id": DEAD,
                "name": "Fails until dead",
                "schedule": _at(now + DEAD_AFTER),
                "target": fails,
                "retry": retry,
            }
        ),
    )
