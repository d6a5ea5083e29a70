"""APScheduler 3 in a separate process, with its jobs in memory.

    python -m benchmarks.local.apscheduler_side --name SIDE --jobs FILE --receiver URL --ready FILE

Runs until it is terminated.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import httpx
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger

from benchmarks.local.jobs import Job, Kind, read
from benchmarks.local.sides import CONCURRENCY, GRACE_SECONDS


def trigger(job: Job) -> CronTrigger | DateTrigger:
    """Return the due times of the job as APScheduler's trigger."""
    if job.at is not None:
        return DateTrigger(datetime.fromtimestamp(job.at, UTC))
    if job.kind is Kind.TEN_SECONDS:
        return CronTrigger(second="*/10", timezone=UTC)
    return CronTrigger(second="0", timezone=UTC)


def work(name: str, jobs: Sequence[Job], receiver: str, ready: Path) -> None:
    """Run the scheduler until a signal ends it."""
    ended = Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: ended.set())
    scheduler = BackgroundScheduler(
        executors={"default": ThreadPoolExecutor(CONCURRENCY)},
        job_defaults={"misfire_grace_time": GRACE_SECONDS},
        timezone=UTC,
    )
    with httpx.Client(trust_env=False, timeout=30) as http:

        def call(job: Job) -> None:
            # APScheduler does not pass the occurrence to a function: it is the last one that has come due.
            due = job.latest(time.time())
            http.post(f"{receiver}/{name}/{job.id}", headers={"X-Due": str(due)}).raise_for_status()

        for job in jobs:
            scheduler.add_job(call, trigger(job), args=[job], id=job.id)
        scheduler.start()
        ready.touch()
        ended.wait()
        scheduler.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--jobs", type=Path, required=True)
    parser.add_argument("--receiver", required=True)
    parser.add_argument("--ready", type=Path, required=True)
    given = parser.parse_args()
    work(given.name, read(given.jobs.read_text(encoding="utf-8")), given.receiver, given.ready)
