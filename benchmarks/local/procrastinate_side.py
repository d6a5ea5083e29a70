"""procrastinate with PostgreSQL in a separate process: cron jobs, scheduled jobs, one worker.

    python -m benchmarks.local.procrastinate_side --name SIDE --database CONNINFO --polling 5 --jobs FILE ...

Runs until it is terminated.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx
import procrastinate

from benchmarks.local.jobs import Job, Kind, read
from benchmarks.local.sides import CONCURRENCY

CRON = {Kind.MINUTELY: "* * * * *", Kind.TEN_SECONDS: "* * * * * */10"}
"""The schedules. In procrastinate the sixth field has the seconds."""


async def work(
    name: str, database: str, polling: float, jobs: Sequence[Job], receiver: str, ready: Callable[[], None]
) -> None:
    """Create the schema, defer the one-offs, and run the worker until a signal ends it."""
    # One connection for each concurrent job and one more, as its documentation recommends for short jobs.
    size = CONCURRENCY + 1
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=database, min_size=size, max_size=size),
    )
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:

        @app.task(name="call")  # type: ignore[untyped-decorator]  # the library is installed only where it is measured
        async def call(timestamp: int, job: str) -> None:
            answer = await http.post(f"{receiver}/{name}/{job}", headers={"X-Due": str(timestamp)})
            answer.raise_for_status()

        for job in jobs:
            if job.kind in CRON:
                app.periodic(cron=CRON[job.kind], periodic_id=job.id, task_kwargs={"job": job.id})(call)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            for job in jobs:
                if job.at is not None:
                    at = datetime.fromtimestamp(job.at, UTC)
                    await call.configure(schedule_at=at).defer_async(job=job.id, timestamp=job.at)
            ready()
            await app.run_worker_async(
                concurrency=CONCURRENCY, fetch_job_polling_interval=polling, listen_notify=True, name=name
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--polling", type=float, required=True)
    parser.add_argument("--jobs", type=Path, required=True)
    parser.add_argument("--receiver", required=True)
    parser.add_argument("--ready", type=Path, required=True)
    given = parser.parse_args()
    posted = read(given.jobs.read_text(encoding="utf-8"))
    asyncio.run(work(given.name, given.database, given.polling, posted, given.receiver, given.ready.touch))
