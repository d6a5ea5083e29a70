"""Who is compared, with which settings, and what each promises beyond being in time."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

OURS = "duecourse"
CONCURRENCY = 10
"""Calls at a time for those who have the setting: APScheduler's default of ten threads, procrastinate's is one."""

TUNED_POLLING_SECONDS = 0.1
GRACE_SECONDS = 60
"""How late a run may still start: Duecourse's default. APScheduler's is one second, and it drops what is later."""


@dataclass(frozen=True, slots=True)
class Side:
    """One scheduler; `packages` must be installed for it, `polling` is procrastinate's interval (seconds)."""

    name: str
    backend: str
    settings: str
    guarantees: str
    packages: tuple[str, ...] = ()
    polling: float | None = None

    @property
    def missing(self) -> list[str]:
        """What is not installed of what it needs; nothing is imported for that."""
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
