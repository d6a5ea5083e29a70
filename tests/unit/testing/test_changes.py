"""The change history of a job in a stage whose clock does not change between the changes."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from duecourse.stores.keys import CHANGE_PREFIX
from duecourse.stores.table import Put, Query, Table
from duecourse.testing import Scheduler
from duecourse.testing.changes import OrderedChanges

JOB = {"id": "nightly", "schedule": "0 3 * * *", "target": {"type": "http", "url": "https://example.com/hook"}}


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler(now="2026-03-28T00:00:00Z") as scheduler:
        yield scheduler


def history(scheduler: Scheduler, limit: int = 50) -> list[str]:
    """The actions of the job's changes, oldest first."""
    found: list[str] = []
    cursor: str | None = None
    while cursor is not None or not found:
        page = scheduler.client.get_job_history("nightly", limit=limit, cursor=cursor)
        found, cursor = found + [each.action for each in page.items], page.next_cursor
        if cursor is None:
            break
    return found[::-1]


def test_changes_at_one_instant_are_listed_in_their_order(scheduler: Scheduler) -> None:
    client = scheduler.client
    client.create_job(JOB)
    client.run_job("nightly")
    client.patch_job("nightly", {"description": "first"})
    run = client.run_job("nightly")
    client.pause_job("nightly")
    client.cancel_run(run.id)
    client.run_job("nightly")
    client.resume_job("nightly")
    client.patch_job("nightly", {"description": "second"})
    wanted = ["created", "run_now", "edited", "run_now", "paused", "cancelled", "run_now", "resumed", "edited"]
    assert history(scheduler) == wanted
    assert history(scheduler, limit=2) == wanted
    assert len({each.at for each in client.get_job_history("nightly").items}) == 1


def test_changes_of_a_deleted_job_precede_those_of_another_one_with_its_id(scheduler: Scheduler) -> None:
    client = scheduler.client
    for _ in range(3):
        client.create_job(JOB)
        client.run_job("nightly")
        client.patch_job("nightly", {"description": "new"})
        client.delete_job("nightly")
    client.create_job(JOB)
    client.patch_job("nightly", {"description": "newest"})
    one = ["created", "run_now", "edited", "deleted"]
    assert history(scheduler) == [*one, *one, *one, "created", "edited"]


def test_changes_before_a_change_of_the_new_job_are_listed_in_their_order(scheduler: Scheduler) -> None:
    client = scheduler.client
    client.create_job(JOB)
    client.delete_job("nightly")
    client.create_job(JOB)
    assert history(scheduler) == ["created", "deleted", "created"]
    scheduler.advance(hours=1)
    client.pause_job("nightly")
    assert history(scheduler) == ["created", "deleted", "created", "paused"]


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads take turns all the time."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("switching")
def test_changes_of_many_jobs_are_written_by_several_threads_at_once() -> None:
    tables = OrderedChanges()

    def change(number: int) -> None:
        name = "000001-created" if number % 2 else "aaaaaa-edited"
        key = {"PK": {"S": f"JOB#default#{number}"}, "SK": {"S": f"{CHANGE_PREFIX}2026-03-28T00:00:00.000#{name}"}}
        tables.write(Put(Table.RUNS, key))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, range(2_000)))
    assert sum(len(tables.query(Query(Table.RUNS, f"JOB#default#{number}")).items) for number in range(2_000)) == 2_000
