"""Jobs that have ended and are removed some time later, on every emulator that executes conditions rightly: from that
time on they are as if they were removed, whether or not the table has removed their items.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job, JobState, Reservation
from duecourse.ports import CreationTerms, JobFilter
from duecourse.stores.jobs import JobStore
from duecourse.stores.tenants import total
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, cursor, job, stored_job
from tests.support.tables import Tables

END = int(NOON) + 100
LARGE = {"text": "x" * 5_000}


def ended(store: JobStore, **changes: Any) -> Job:
    """A job that has ended and is removed at END, as it is stored."""
    made = stored_job(store, payload=LARGE, tags=("x", "y"), **changes)
    assert store.complete(made, at=NOON + 1, expires_at=END)
    found = store.get("default", made.id)
    assert found is not None
    return found


def again(clock: SettableClock, **changes: Any) -> Job:
    return job(at=clock.now(), **changes)


def expiring(tables: Tables) -> Mapping[str, int | None]:
    """When the table removes each item of the job, by the first word of its sort key or of its partition."""
    return {
        item["PK"]["S"].partition("#")[0] + " " + item["SK"]["S"].partition("#")[0]: int(item["expires_at"]["N"])
        if "expires_at" in item
        else None
        for item in tables.client.scan(TableName=tables.jobs, ConsistentRead=True)["Items"]
        if item["PK"]["S"].startswith(("JOB", "TAG"))
    }


def test_removed_jobs_exist_until_their_removal_time(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    made = ended(store)
    assert (made.state, made.expires_at, made.payload) == (JobState.COMPLETED, END, LARGE)
    clock.set(END - 0.1)
    assert store.get("default", made.id) == made
    assert store.get_both("default", made.id) == (made, cursor(made))
    assert store.tagged("default", "x", [made.id]) == {made.id}


def test_removed_jobs_are_not_found_by_any_read(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    made = ended(store)
    clock.set(END)
    assert store.get("default", made.id) is None
    assert store.snapshot("default", made.id) is None
    assert store.get_both("default", made.id) == (None, None)
    assert store.get_cursor("default", made.id) is None
    for tag in (None, "x"):
        assert store.page("default", JobFilter(tag=tag), limit=9, after=None).items == ()
        assert list(store.page_ids("default", tag, limit=9, after=None).items) == []
    assert store.page("default", JobFilter(state=JobState.COMPLETED), limit=9, after=None).items == ()
    assert store.page_planned("default", limit=9, after=None).items == ()
    assert store.tagged("default", "x", [made.id]) == set()


def test_removed_jobs_alone_on_a_page_are_followed_by_a_next_page(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    ended(store, id="a")
    other = stored_job(store, id="b")
    clock.set(END)
    page = store.page("default", limit=1, after=None)
    if not page.items:
        assert page.following == "a"
        page = store.page("default", limit=1, after=page.following)
    assert [found for found, _ in page.items] == [other]


def test_removed_jobs_leave_their_id_free_for_another_job(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    old = ended(store)
    clock.set(END - 1)
    assert not store.create(again(clock), cursor(again(clock)))
    clock.set(END)
    new = again(clock, tags=("y",))
    assert store.create(new, cursor(new), CreationTerms(quota=1))
    clock.set(END + 1)
    assert store.get_both("default", new.id) == (new, cursor(new))
    assert new.generation > old.generation
    assert store.tagged("default", "x", [new.id]) == set()
    assert store.tagged("default", "y", [new.id]) == {new.id}
    assert not store.create(again(clock), cursor(again(clock)))


def test_removed_jobs_concurrent_creations_under_the_id_have_one_winner(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    ended(store)
    clock.set(END)
    first, second = again(clock), replace(again(clock), generation=int(END * 1000) + 1)
    assert store.create(first, cursor(first))
    assert not store.create(second, cursor(second))
    assert store.get("default", first.id) == first


def test_removed_jobs_are_not_written_over_their_successors(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    old = ended(store)
    clock.set(END)
    new = again(clock)
    assert store.create(new, cursor(new))
    late = replace(old, state=JobState.ACTIVE, generation=old.generation + 1, revision=9, expires_at=None)
    assert not store.change(old, cursor(old), late, cursor(late))
    assert not store.delete(old, deleted_at=END + 1)
    assert store.get("default", new.id) == new


def test_removed_jobs_workflow_can_reserve_the_id(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    old = ended(store)
    reservation = Reservation("request", END + 60)
    assert not store.reserve("default", old.id, None, reservation)
    clock.set(END)
    assert store.reserve("default", old.id, None, reservation)
    assert store.get("default", old.id) is None
    store.release("default", old.id, reservation)
    new = again(clock)
    assert store.create(new, cursor(new))


def test_removed_jobs_change_before_the_removal_keeps_the_job(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    old = ended(store)
    alive = replace(old, state=JobState.ACTIVE, generation=old.generation + 1, revision=9, expires_at=None)
    assert store.change(old, cursor(old), alive, cursor(alive))
    clock.set(END + 1)
    assert store.get_both("default", old.id) == (alive, cursor(alive))
    assert store.tagged("default", "x", [old.id]) == {old.id}


def test_removed_jobs_removal_is_postponed_for_all_items_or_none(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    old = ended(store)
    longer = replace(old, revision=old.revision + 1, expires_at=END + 50)
    assert store.change(old, cursor(old), longer, cursor(old))
    clock.set(END + 49)
    assert store.get_both("default", old.id) == (longer, cursor(old))
    assert store.tagged("default", "y", [old.id]) == {old.id}
    clock.set(END + 50)
    assert store.get("default", old.id) is None


def test_removed_jobs_exclude_jobs_that_changed_after_the_read(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = stored_job(store)
    edited = replace(made, revision=2, tags=("z",))
    assert store.change(made, cursor(made), edited, cursor(made))
    assert not store.complete(made, at=NOON + 1, expires_at=END)
    assert store.complete(edited, at=NOON + 1, expires_at=END)


@pytest.mark.parametrize("alive", [False, True])
def test_removed_jobs_every_item_of_the_job_has_the_removal_time(dynamodb_tables: Tables, *, alive: bool) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    old = ended(store)
    if alive:
        changed = replace(old, state=JobState.ACTIVE, generation=old.generation + 1, revision=9, expires_at=None)
        assert store.change(old, cursor(old), changed, cursor(changed))
    at = None if alive else END
    assert expiring(dynamodb_tables) == {"JOB JOB": at, "JOB CURSOR": at, "JOB PAYLOAD": at, "TAG JOB": at}
    assert total(dynamodb_tables.both(), "default") == (1 if alive else 0)


def test_removed_jobs_cannot_be_steps(dynamodb_tables: Tables) -> None:
    clock = SettableClock(NOON)
    old = ended(dynamodb_tables.job_store(clock))
    workflows = dynamodb_tables.workflows(clock)
    assert list(workflows.jobs("default", [old.id])) == [old.id]
    clock.set(END)
    assert workflows.jobs("default", [old.id]) == {}
