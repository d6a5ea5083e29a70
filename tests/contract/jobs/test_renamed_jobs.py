"""What a rename needs of a store of jobs, on every emulator that executes conditions rightly."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.document import renamed
from duecourse.domain.jobs.job import Job, JobState, Overlap, Tombstone
from duecourse.domain.jobs.rename import rename
from duecourse.domain.runs.overlap import RENAMED, Lock
from duecourse.ports import CreationTerms, JobFilter, JobStore, StoreBusyError
from duecourse.testing.clock import SettableClock
from tests.support.client_faults import Fault, FaultyClient
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Stores, Tables
from tests.support.waiting import PATIENCE_SECONDS

UNTIL = int(NOON) + 91 * DAY_SECONDS
OLD, NEW = "tick-tock", "daily"
FREE = Lock("", NOON, called_until=NOON)


def added(store: JobStore, of: Job) -> tuple[Job, Cursor]:
    assert store.create(of, cursor(of))
    return of, cursor(of)


def move(store: JobStore, of: Job, standing: Cursor, new: str = NEW, released: Lock | None = None) -> Job | None:
    """Rename the job, and return it as it is then; None if nothing was written."""
    change = rename(of, standing, new, now=NOON, reserved_until=UNTIL)
    written = store.rename(of, standing, change.job, change.cursor, renamed(of, change.job, "anna"), released=released)
    return change.job if written else None


def test_renamed_jobs_all_items_have_the_new_id(any_tables: Stores) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    of, standing = added(store, job(tags=("x", "y"), payload="x" * 5000, jitter_seconds=3, created_by="anna"))
    moved = move(store, of, standing)
    assert moved is not None
    assert (moved.former[0].id, moved.seed) == (OLD, OLD)
    assert store.get_both("default", NEW) == (moved, store.get_cursor("default", NEW))
    assert store.get_both("default", OLD) == (None, None)
    assert store.get_cursor("default", OLD) is None
    assert [each.id for each, _ in store.page("default", JobFilter(tag="x"), limit=10, after=None).items] == [NEW]
    assert [each.id for each, _ in store.page("default", limit=10, after=None).items] == [NEW]
    changes = store.history("default", NEW, limit=10, before=None).items
    assert [(each.job_id, each.action) for each in changes] == [(NEW, "renamed"), (OLD, "created")]


@pytest.mark.parametrize("tag", [None, "x"])
def test_renamed_jobs_names_are_listed_with_the_job(any_tables: Stores, tag: str | None) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    move(store, *added(store, job(tags=("x",))))
    added(store, job(id="after", tags=("x",)))
    added(store, job(id="other"))
    others = [] if tag else [("other",)]
    assert list(store.page_names("default", tag, names=40, after=None).items) == [("after",), (NEW, OLD), *others]
    page = store.page_names("default", tag, names=2, after=None)
    assert (list(page.items), page.following) == ([("after",)], "after"), "all ids of a job are on one page"
    page = store.page_names("default", tag, names=2 + len(others), after="after")
    assert (list(page.items), page.following) == ([(NEW, OLD), *others], None)
    clock.set(UNTIL)
    assert (NEW,) in store.page_names("default", tag, names=40, after=None).items


def test_renamed_jobs_old_id_resolves_to_the_job_and_stays_reserved(any_tables: Stores) -> None:
    clock = SettableClock(NOON)
    store = any_tables.job_store(clock)
    moved = move(store, *added(store, job()))
    assert store.get("default", OLD) is None
    assert store.current("default", OLD) == store.snapshot("default", OLD) == store.get("default", NEW) == moved
    assert not store.create(job(), cursor(job()))
    other, standing = added(store, job(id="other"))
    assert move(store, other, standing, OLD) is None
    assert move(store, other, standing, NEW) is None
    clock.set(UNTIL)
    assert store.current("default", OLD) is None
    assert store.create(job(), cursor(job()))
    assert store.current("default", OLD) == job()


def test_renamed_jobs_all_former_ids_resolve_to_the_job(any_tables: Stores) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    first = move(store, *added(store, job()))
    assert first is not None
    standing = store.get_cursor("default", NEW)
    assert standing is not None
    second = move(store, first, standing, "third", FREE)
    assert second is not None
    assert [store.current("default", each) for each in (OLD, NEW, "third")] == [second] * 3
    standing = store.get_cursor("default", "third")
    assert standing is not None
    back = move(store, second, standing, OLD, FREE)
    assert back is not None
    assert [store.current("default", each) for each in (OLD, NEW, "third")] == [back] * 3
    assert [each.id for each in back.former] == ["third", NEW]


def test_renamed_jobs_deletion_also_frees_the_former_ids(any_tables: Stores) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    moved = move(store, *added(store, job()))
    assert moved is not None
    assert store.delete(moved, deleted_at=NOON + 1)
    assert store.snapshot("default", NEW) == Tombstone(NOON + 1, moved.generation)
    assert store.snapshot("default", OLD) is None
    assert store.create(job(), cursor(job()))


@pytest.mark.parametrize(
    "change",
    [
        lambda of, standing: (replace(of, revision=7), standing),
        lambda of, standing: (replace(of, state=JobState.PAUSED), standing),
        lambda of, standing: (of, replace(standing, after=standing.after + 1)),
    ],
    ids=["the job", "its state", "its cursor"],
)
def test_renamed_jobs_must_not_have_changed_since_the_read(
    any_tables: Stores, change: Callable[[Job, Cursor], tuple[Job, Cursor]]
) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    of, standing = added(store, job(tags=("x",)))
    assert move(store, *change(of, standing)) is None
    assert store.get_both("default", OLD) == (of, standing)
    assert store.get("default", NEW) is None
    assert store.page("default", JobFilter(tag="x"), limit=10, after=None).items == ((of, standing),)


def test_renamed_jobs_must_have_no_run_that_holds_the_lock(any_tables: Stores) -> None:
    store, runs = any_tables.job_store(SettableClock(NOON)), any_tables.run_store()
    of, standing = added(store, job())
    held = Lock("20261121T120000Z", NOON)
    assert runs.lock("default", OLD, held, None) is None
    assert move(store, of, standing) is None
    assert move(store, of, standing, released=Lock("20261121T120000Z", NOON, rank=5)) is None
    assert move(store, of, standing, released=held) is not None


def test_renamed_jobs_runs_cannot_lock_the_old_id_until_the_job_is_renamed_back(any_tables: Stores) -> None:
    store, runs = any_tables.job_store(SettableClock(NOON)), any_tables.run_store()
    moved = move(store, *added(store, job()))
    assert moved is not None
    mine = Lock("20261121T120000Z", NOON)
    held = runs.lock("default", OLD, mine, None)
    assert held is not None
    assert held.holder == RENAMED
    free = runs.lock("default", NEW, mine, None)
    assert free == Lock("", NOON, called_until=NOON)
    standing = store.get_cursor("default", NEW)
    assert standing is not None
    assert move(store, moved, standing, OLD, free) is not None
    assert runs.lock("default", OLD, mine, free) is None


def test_renamed_jobs_deletion_frees_the_lock_of_the_former_id(any_tables: Stores) -> None:
    store, runs = any_tables.job_store(SettableClock(NOON)), any_tables.run_store()
    moved = move(store, *added(store, job()))
    assert moved is not None
    assert store.delete(moved, deleted_at=NOON + 1)
    assert runs.locked("default", OLD) == Lock("", NOON + 1)


def test_renamed_jobs_that_allow_overlap_take_no_lock(any_tables: Stores) -> None:
    store, runs = any_tables.job_store(SettableClock(NOON)), any_tables.run_store()
    assert move(store, *added(store, job(overlap=Overlap.ALLOW))) is not None
    assert runs.locked("default", OLD) is None


def test_renamed_jobs_concurrent_or_earlier_deletion_is_detected(any_tables: Stores) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    of, standing = added(store, job())
    assert store.delete(of, deleted_at=NOON)
    assert move(store, of, standing) is None
    gone = store.gone("default", OLD)
    assert gone is not None
    assert store.delete(added(store, job(id="x"))[0], deleted_at=NOON)
    with pytest.raises(StoreBusyError):
        store.create(of, standing, CreationTerms(after=replace(gone, deleted_at=NOON - 5)))


@pytest.mark.parametrize(("fault", "read_back"), [(Fault.ANSWER_LOST, True), (Fault.TWICE, False)])
def test_renamed_jobs_rename_with_lost_response_is_read_back(
    dynamodb_tables: Tables, fault: Fault, read_back: bool
) -> None:
    """After a second try the first one looks like another request's; the use case finds the job as it wants it."""
    store = dynamodb_tables.job_store(SettableClock(NOON))
    of, standing = added(store, job(tags=("x",), payload="x" * 5000))
    faulty = FaultyClient(
        dynamodb_tables.client, lambda request: fault if request.operation == "transact_write_items" else None
    )
    moved = move(replace(dynamodb_tables, client=faulty).job_store(SettableClock(NOON)), of, standing)
    present = store.current("default", OLD)
    assert present is not None
    assert present.id == NEW
    assert moved == (present if read_back else None)


def test_renamed_jobs_concurrent_renames_of_one_job_have_one_winner(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    of, standing = added(store, job())
    start = Barrier(2)

    def race(new: str) -> Job | None:
        start.wait(PATIENCE_SECONDS)
        return move(dynamodb_tables.job_store(SettableClock(NOON)), of, standing, new)

    with ThreadPoolExecutor(2) as threads:
        made = [each for each in threads.map(race, ("one", "other")) if each is not None]
    assert len(made) <= 1
    present = made[0] if made else of
    assert store.current("default", OLD) == present
    assert [each for each, _ in store.page("default", limit=10, after=None).items] == [present]


def test_renamed_jobs_concurrent_renames_to_one_id_have_one_winner(any_tables: Stores) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    one, other = added(store, job(id="one")), added(store, job(id="other"))
    assert move(store, *one) is not None
    assert move(store, *other) is None
    assert store.get_both("default", "other") == other
