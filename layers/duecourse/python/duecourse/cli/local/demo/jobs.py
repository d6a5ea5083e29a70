"""The four jobs of the demo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from duecourse.cli.local.demo.receiver import FAIL_PATH, OK_PATH

TEN_SECONDS = "every-10-seconds"
ONCE = "once-in-20-seconds"
MINUTE = "every-minute"
DEAD = "fails-until-dead"
DEAD_ATTEMPTS = 3
ONCE_AFTER = timedelta(seconds=20)
DEAD_AFTER = timedelta(seconds=6)


@dataclass(frozen=True, slots=True)
class DemoJob:
    """A job to post; `every` is the distance of its occurrences, None for a one-off."""

    document: Mapping[str, Any]
    every: timedelta | None = None

    @property
    def id(self) -> str:
        """The job's id."""
        return str(self.document["id"])


def _at(instant: datetime) -> str:
    return f"at({instant.astimezone(UTC):%Y-%m-%dT%H:%M:%S})"


def demo_jobs(receiver_url: str, now: datetime) -> tuple[DemoJob, ...]:
    """Every ten seconds; once in twenty seconds; every minute; one whose target always fails."""
    works = {"type": "http", "url": receiver_url + OK_PATH, "method": "POST"}
    fails = {"type": "http", "url": receiver_url + FAIL_PATH, "method": "POST"}
    retry = {"max_attempts": DEAD_ATTEMPTS, "backoff": "fixed", "min_seconds": 1, "max_seconds": 2}
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
