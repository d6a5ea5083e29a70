"""The runs of all jobs, newest first, in a stage with two thousand jobs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from duecourse.testing import Scheduler

NIGHT = datetime(2026, 3, 28, tzinfo=UTC)
TARGET = {"type": "http", "url": "https://example.com/hook"}
JOBS = 2_000


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Scheduler]:
    """Hourly jobs, of which one in a hundred runs every minute, after some minutes of work."""
    with Scheduler(now=NIGHT - timedelta(minutes=8)) as scheduler:
        client = scheduler.client
        jobs = [
            {
                "id": f"job-{number:04}",
                "schedule": "* * * * *" if number % 100 == 0 else f"{number % 60} * * * *",
                "target": TARGET,
                "tags": ["night"] if number % 10 == 0 else [],
            }
            for number in range(JOBS)
        ]
        for begin in range(0, JOBS, 100):
            client.create_jobs(jobs[begin : begin + 100])
        scheduler.answer("job-0116", status=500, times=2)
        scheduler.advance(minutes=10)
        client.run_job("job-0042")
        client.run_job("job-0043", at="2026-03-28T00:05:30Z")
        scheduler.advance(minutes=3)
        day, hour = timedelta(days=1), timedelta(hours=1)
        client.backfill_job("job-1999", NIGHT - 2 * day, NIGHT - 2 * day + hour, pace_seconds=1, dry_run=False)
        client.skip_next("job-0200")
        scheduler.advance(minutes=2)
        yield scheduler


def called(scheduler: Scheduler) -> set[str]:
    return {call.run_id for call in scheduler.calls}


@pytest.mark.parametrize("limit", [7, 100])
def test_all_runs_of_two_thousand_jobs_are_listed_once_and_newest_first(scheduler: Scheduler, limit: int) -> None:
    runs = list(scheduler.client.find_runs(limit=limit))
    ended = [run.finished_at for run in runs if run.finished_at is not None]
    assert ended == sorted(ended, reverse=True)
    assert len({run.id for run in runs}) == len(runs)
    skipped = {run.id for run in runs if run.state == "SKIPPED"}
    assert {run.id for run in runs} - skipped == called(scheduler)
    assert {run.id.partition(".")[0] for run in runs} >= {"job-0115", "job-0116", "job-0042", "job-0200", "job-1999"}


def test_all_runs_first_page_has_the_runs_that_ended_last(scheduler: Scheduler) -> None:
    whole = list(scheduler.client.find_runs(state=["SUCCEEDED", "DEAD"], limit=100))
    first = scheduler.client.find_runs(state=["SUCCEEDED", "DEAD"], limit=10)
    assert first.items == tuple(whole[:10])


def test_all_runs_can_be_listed_within_a_time_and_with_a_tag(scheduler: Scheduler) -> None:
    client, since, until = scheduler.client, NIGHT + timedelta(minutes=2), NIGHT + timedelta(minutes=4)
    whole = [run for run in client.find_runs(limit=100) if run.finished_at and since <= run.finished_at < until]
    assert list(client.find_runs(since=since, until=until, limit=7)) == whole != []
    tagged = list(client.find_runs(tag="night", since=since, until=until, limit=7))
    assert tagged == [run for run in whole if int(run.job_id[-4:] or 1) % 10 == 0] != []
