"""The compared schedulers, their settings, and their guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

OURS = "duecourse"
CONCURRENCY = 10
"""The number of concurrent calls for schedulers with this setting: APScheduler's default of ten threads. The default of
procrastinate is one.
"""

TUNED_POLLING_SECONDS = 0.1
GRACE_SECONDS = 60
"""The maximum lateness at which a run may still start: Duecourse's default. APScheduler's default is one second, after
which it drops the run.
"""


@dataclass(frozen=True, slots=True)
class Side:
    """One scheduler. `packages` must be installed for it; `polling` is the interval of procrastinate (seconds)."""

    name: str
    backend: str
    settings: str
    guarantees: str
    packages: tuple[str, ...] = ()
    polling: float | None = None

    @property
    def missing(self) -> list[str]:
        """Return the packages that are not installed. Nothing is imported for this check."""
        return [package for package in self.packages if find_spec(package) is None]


_PROCRASTINATE = (
    "every job and each change of its state stays in PostgreSQL; retries where a task asks for them, none by default; "
    "after a restart waiting jobs go on and of each cron the last occurrence is made up if under 10 min old; "
    "jobs of a worker that died stay as they are until somebody retries them"
)

DUECOURSE = Side(
    OURS,
    "local stack (MiniStack: DynamoDB, SQS, Lambda and the minute rule, emulated on this machine)",
    "stage local: precision exact, 4 workers of the lane normal, 10 messages each",
    "every run recorded with attempts, times and outcome (90 days); retries with backoff by default; "
    "nothing to restart: what a crash interrupts is repeated, no run twice, what is missed follows its policy",
)
PROCRASTINATE = Side(
    "procrastinate",
    "PostgreSQL",
    f"one worker, concurrency {CONCURRENCY}, listen_notify, fetch_job_polling_interval 5 s (default)",
    _PROCRASTINATE,
    ("procrastinate", "psycopg"),
    5.0,
)
PROCRASTINATE_TUNED = Side(
    "procrastinate_tuned",
    "PostgreSQL",
    f"the same, fetch_job_polling_interval {TUNED_POLLING_SECONDS:g} s",
    _PROCRASTINATE,
    ("procrastinate", "psycopg"),
    TUNED_POLLING_SECONDS,
)
APSCHEDULER = Side(
    "apscheduler",
    "none: jobs in the process's memory",
    f"BackgroundScheduler, {CONCURRENCY} threads, misfire_grace_time {GRACE_SECONDS} s",
    "no history, no retries; everything is gone with the process (a job store in a database keeps schedules, not runs)",
    ("apscheduler",),
)

SIDES = (DUECOURSE, PROCRASTINATE, PROCRASTINATE_TUNED, APSCHEDULER)
RIVALS = SIDES[1:]
