"""The runs of all jobs, newest first, in a stage with two thousand jobs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from duecourse.client.models import Run
from duecourse.client.pagination import Page
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


def in_order(runs: list[Run]) -> list[str]:
    """The ids of the runs, newest occurrence first, those of one occurrence by job."""
    by_job = sorted(runs, key=lambda run: run.job_id)
    return [run.id for run in sorted(by_job, key=lambda run: run.id.partition(".")[2], reverse=True)]


def called(scheduler: Scheduler) -> set[str]:
    return {call.run_id for call in scheduler.calls}


def test_all_runs_of_two_thousand_jobs_are_listed_once_and_newest_first(scheduler: Scheduler) -> None:
    runs = list(scheduler.client.find_runs(state=["SUCCEEDED", "DEAD", "RETRYING"], limit=100))
    assert [run.id for run in runs] == in_order(runs)
    assert len({run.id for run in runs}) == len(runs)
    assert {run.id for run in runs} == called(scheduler)
    assert {run.id.partition(".")[0] for run in runs} >= {"job-0115", "job-0116", "job-0042", "job-1999"}
    assert sum(".m" in run.id for run in runs) == 2
    assert sum(".b" in run.id for run in runs) == 1


def test_all_runs_first_ones_are_known_after_the_first_slice(scheduler: Scheduler) -> None:
    requests: list[Page[Run]] = []
    first = scheduler.client.find_runs(state="SUCCEEDED", limit=50)

    def turned(page: Page[Run]) -> Iterator[Page[Run]]:
        for each in page.pages():
            requests.append(each)
            yield each

    newest = next(page for page in turned(first) if page.searched and page.searched.complete_from)
    assert len(requests) <= JOBS // 40 + 1, "40 jobs a request"
    assert newest.searched is not None
    assert [page.searched.jobs for page in requests[:3] if page.searched] == [40, 80, 120]
    listed = [run for page in requests for run in page.items]
    latest = list(islice(scheduler.client.find_runs(state="SUCCEEDED", limit=50), len(listed)))
    assert [run.id for run in latest] == in_order(listed)


@pytest.mark.parametrize("limit", [7, 100])
def test_all_runs_can_be_continued_after_any_run_and_within_a_time_or_a_tag(scheduler: Scheduler, limit: int) -> None:
    client, since, until = scheduler.client, NIGHT + timedelta(minutes=2), NIGHT + timedelta(minutes=4)
    whole = list(client.find_runs(state="SUCCEEDED", since=since, until=until, limit=limit))
    expected = {call.run_id for call in scheduler.calls if since <= call.scheduled_at < until}
    assert {run.id for run in whole} == expected - {run.id for run in client.find_runs(state="DEAD")}
    after = whole[17]
    rest = list(client.find_runs(state="SUCCEEDED", since=since, until=until, limit=limit, cursor=after.id))
    assert [run.id for run in rest] == [run.id for run in whole[18:]]
    tagged = list(client.find_runs(state="SUCCEEDED", tag="night", since=since, until=until, limit=limit))
    assert [run.id for run in tagged] == [run.id for run in whole if int(run.job_id[-4:] or 1) % 10 == 0]
