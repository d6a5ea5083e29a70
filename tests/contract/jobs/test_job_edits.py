"""What edits need of a store of jobs, on every emulator that executes conditions rightly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duecourse.adapters.dynamodb.jobs.tenants import total
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState
from duecourse.ports import CreationTerms, JobFilter, JobQuotaError, JobStore, KeyUsedError, UsedKey
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables

KEY = UsedKey("digest", "request", "tick-tock", int(NOON) + 100)


def edited(of: Job, **changes: Any) -> Job:
    return replace(of, revision=of.revision + 1, **changes)


def added(store: JobStore, *jobs: Job) -> None:
    for each in jobs:
        assert store.create(each, cursor(each))


def count(tables: Tables) -> int:
    """The tenant's jobs as they are counted."""
    return total(tables.client, tables.jobs, "default")


def tagged(store: JobStore, tag: str) -> list[str]:
    return [of.id for of, _ in store.page("default", JobFilter(tag=tag), limit=10, after=None).items]


def test_an_edit_is_written_over_the_revision_that_was_read_and_no_other(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    first, second = edited(made, name="first"), edited(made, name="second")
    assert store.change(made, cursor(made), first, cursor(made))
    assert not store.change(made, cursor(made), second, cursor(made))
    assert not store.delete(made, deleted_at=NOON + 1)
    assert store.get("default", made.id) == first
    assert store.delete(first, deleted_at=NOON + 1)


def test_an_edit_does_not_undo_the_end_of_a_job(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    assert store.complete(made, at=NOON + 1)
    assert not store.change(made, cursor(made), edited(made, name="x"), cursor(made))
    found = store.get("default", made.id)
    assert found is not None
    assert (found.state, found.revision, found.name) == (JobState.COMPLETED, made.revision + 1, "")


def test_an_edit_beside_the_schedule_keeps_no_job_from_ending(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    assert store.change(made, cursor(made), edited(made, name="x"), cursor(made))
    assert store.complete(made, at=NOON + 1)


def test_jobs_are_found_by_tag_as_long_as_they_have_it(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    one, other, foreign = job(id="a", tags=("x", "y")), job(id="b", tags=("x",)), job(id="a", tags=("x",))
    added(store, one, other, replace(foreign, tenant="somebody"))
    assert (tagged(store, "x"), tagged(store, "y"), tagged(store, "z")) == (["a", "b"], ["a"], [])
    changed = edited(one, tags=("z", "y"))
    assert store.change(one, cursor(one), changed, cursor(one))
    assert (tagged(store, "x"), tagged(store, "y"), tagged(store, "z")) == (["b"], ["a"], ["a"])
    assert store.delete(changed, deleted_at=NOON + 1)
    assert (tagged(store, "y"), tagged(store, "z")) == ([], [])


def test_a_refused_write_leaves_tags_and_count_alone(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    made = job(tags=("x",))
    added(store, made)
    assert not store.create(job(tags=("other",)), cursor(made))
    stale = replace(made, revision=7)
    assert not store.change(stale, cursor(made), edited(stale, tags=("other",)), cursor(made))
    assert not store.delete(stale, deleted_at=NOON)
    assert (tagged(store, "x"), tagged(store, "other"), count(dynamodb_tables)) == ([made.id], [], 1)


def test_pages_by_prefix_and_by_tag_go_on_where_they_ended(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    added(store, *(job(id=f"{name}-{number}", tags=("all",)) for name in "ab" for number in range(4)))

    def walk(**where: Any) -> list[str]:
        seen: list[str] = []
        after: str | None = None
        while True:
            page = store.page("default", JobFilter(**where), limit=3, after=after)
            seen += [of.id for of, standing in page.items if standing == cursor(of)]
            after = page.following
            if after is None:
                return seen

    bs = [f"b-{number}" for number in range(4)]
    assert walk(prefix="b") == bs
    assert walk(tag="all", prefix="b") == bs
    assert walk(tag="all") == [f"a-{number}" for number in range(4)] + bs
    assert walk(prefix="c") == []


def test_a_quota_is_kept_and_what_is_deleted_makes_room(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = [job(id=f"job-{number}") for number in range(3)]
    assert store.create(made[0], cursor(made[0]), CreationTerms(quota=2))
    assert store.create(made[1], cursor(made[1]), CreationTerms(quota=2))
    with pytest.raises(JobQuotaError):
        store.create(made[2], cursor(made[2]), CreationTerms(quota=2))
    assert store.get("default", "job-2") is None
    assert not store.create(made[1], cursor(made[1]), CreationTerms(quota=2)), "a taken id is the better answer"
    assert store.delete(made[0], deleted_at=NOON)
    assert store.create(made[2], cursor(made[2]), CreationTerms(quota=2))


def test_a_key_creates_one_job_until_it_has_expired(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    first, second = job(id="first"), job(id="second")
    used = replace(KEY, job_id="first")
    assert store.used_key("default", "digest", now=NOON) is None
    assert store.create(first, cursor(first), CreationTerms(now=NOON, key=used))
    assert store.used_key("default", "digest", now=NOON + 99) == used
    assert store.used_key("somebody", "digest", now=NOON) is None
    with pytest.raises(KeyUsedError):
        store.create(second, cursor(second), CreationTerms(now=NOON + 99, key=replace(KEY, job_id="second")))
    assert (store.get("default", "second"), count(dynamodb_tables)) == (None, 1)
    assert store.used_key("default", "digest", now=NOON + 100) is None
    later = replace(KEY, job_id="second", expires_at=int(NOON) + 300)
    assert store.create(second, cursor(second), CreationTerms(now=NOON + 100, key=later))
    assert store.used_key("default", "digest", now=NOON + 100) == later


def test_a_job_that_is_refused_uses_up_no_key(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    assert not store.create(made, cursor(made), CreationTerms(now=NOON, key=KEY))
    assert store.used_key("default", "digest", now=NOON) is None


def test_a_payload_grows_into_an_item_of_its_own_and_shrinks_out_of_it(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    small = job(payload="small")
    added(store, small)
    before: Job = small
    for payload in ("x" * 9000, "y" * 9000, "z" * 8000, "small again", None):
        changed = edited(before, payload=payload)
        assert store.change(before, cursor(small), changed, cursor(small))
        assert store.get("default", small.id) == changed
        before = changed
    where = {"PK": {"S": f"JOB#default#{small.id}"}, "SK": {"S": "PAYLOAD"}}
    assert "Item" not in dynamodb_tables.client.get_item(TableName=dynamodb_tables.jobs, Key=where)


class EditedBetween:
    """A client through which a job is edited between the read of its item and that of its payload."""

    def __init__(self, client: Any, edit: Any) -> None:
        self._client = client
        self._edit = edit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_item(self, **asked: Any) -> Any:
        if asked["Key"]["SK"]["S"] == "PAYLOAD" and self._edit is not None:
            edit, self._edit = self._edit, None
            edit()
        return self._client.get_item(**asked)


@pytest.mark.parametrize("payload", ["y" * 9000, "small"])
def test_a_job_is_never_read_with_the_payload_of_another_revision(dynamodb_tables: Tables, payload: str) -> None:
    clock = SettableClock(NOON)
    store = dynamodb_tables.job_store(clock)
    made = job(payload="x" * 9000)
    added(store, made)
    changed = edited(made, payload=payload, name="new")
    between = EditedBetween(dynamodb_tables.client, lambda: store.change(made, cursor(made), changed, cursor(made)))
    assert replace(dynamodb_tables, client=between).job_store(clock).get("default", made.id) == changed


def test_a_job_that_is_deleted_while_its_payload_is_read_is_gone(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    made = job(payload="x" * 9000)
    added(store, made)
    between = EditedBetween(dynamodb_tables.client, lambda: store.delete(made, deleted_at=NOON))
    assert replace(dynamodb_tables, client=between).job_store(SettableClock(NOON)).get("default", made.id) is None


def test_a_cursor_that_was_quarantined_is_not_put_back_by_an_edit_beside_the_schedule(any_tables: Tables) -> None:
    clock = SettableClock(NOON)
    store, cursors = any_tables.job_store(clock), any_tables.cursor_store(clock)
    made = job()
    added(store, made)
    assert cursors.quarantine(cursor(made), "broken")
    standing = store.get_cursor("default", made.id)
    assert standing is not None
    assert store.change(made, standing, edited(made, name="x"), standing)
    assert list(due(cursors, standing)) == []
    mended = replace(standing, error=None)
    assert store.change(edited(made, name="x"), standing, edited(edited(made)), mended)
    assert list(due(cursors, mended)) == [mended]


def due(cursors: Any, standing: Cursor) -> list[Any]:
    slot = standing.slot(1, now=NOON)
    return [entry for page in cursors.due(slot, NOON + 300) for entry in page]
