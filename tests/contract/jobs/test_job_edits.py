"""Edits of jobs, and those that meet each other.

- What edits need of a store of jobs, on every emulator that executes conditions rightly.
- Edits that race with each other and with claims, on every emulator that executes conditions rightly.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from threading import Barrier
from typing import Any

import pytest

from duecourse.adapters.system import SystemClock
from duecourse.domain.jobs.cursor import Cursor, plan
from duecourse.domain.jobs.job import Job, JobState, Lane
from duecourse.ports import Claim, ClaimResult, CreationTerms, JobFilter, JobQuotaError, KeyUsedError, UsedKey
from duecourse.stores.jobs import JobStore
from duecourse.stores.tenants import total
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from duecourse.usecases.jobs.change import Draft, Edited, EditJobs
from duecourse.usecases.jobs.job_errors import JobChangedError, JobReachError, JobVersionError, Precondition
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, cursor, followed, job
from tests.support.tables import Tables
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.world import World

KEY = UsedKey("digest", "request", "tick-tock", int(NOON) + 100)


def edited(of: Job, **changes: Any) -> Job:
    return replace(of, revision=of.revision + 1, **changes)


def added(store: JobStore, *jobs: Job) -> None:
    for each in jobs:
        assert store.create(each, cursor(each))


def count(tables: Tables) -> int:
    """The tenant's jobs as they are counted."""
    return total(tables.both(), "default")


def tagged(store: JobStore, tag: str) -> list[str]:
    return [of.id for of, _ in store.page("default", JobFilter(tag=tag), limit=10, after=None).items]


def test_job_edits_overwrite_only_the_revision_they_read(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    first, second = edited(made, name="first"), edited(made, name="second")
    assert store.change(made, cursor(made), first, cursor(made))
    assert not store.change(made, cursor(made), second, cursor(made))
    assert not store.delete(made, deleted_at=NOON + 1)
    assert store.get("default", made.id) == first
    assert store.delete(first, deleted_at=NOON + 1)


def test_job_edits_do_not_undo_the_end_of_a_job(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    assert store.complete(made, at=NOON + 1)
    assert not store.change(made, cursor(made), edited(made, name="x"), cursor(made))
    found = store.get("default", made.id)
    assert (found.state, found.revision, found.name) == (JobState.COMPLETED, made.revision + 1, "")


def test_job_edits_with_unchanged_cursor_do_not_conflict_with_a_claim(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    standing = cursor(made)
    claimed = replace(standing, occurrence=int(NOON) + 20, due=int(NOON) + 20, after=int(NOON) + 10)
    assert store.change(made, standing, edited(made, name="x"), claimed)
    x = edited(made, name="x")
    y = replace(x, name="y", revision=x.revision + 1)
    assert not store.change(x, standing, y, replace(standing, lane=Lane.LOW))
    assert store.change(x, standing, y, standing)
    assert store.get_both("default", made.id) == (y, claimed)


def test_job_edits_outside_the_schedule_do_not_prevent_completion(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    assert store.change(made, cursor(made), edited(made, name="x"), cursor(made))
    assert store.complete(made, at=NOON + 1)


def test_job_edits_jobs_are_found_by_tag_while_they_have_it(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    one, other, foreign = job(id="a", tags=("x", "y")), job(id="b", tags=("x",)), job(id="a", tags=("x",))
    added(store, one, other, replace(foreign, tenant="somebody"))
    assert (tagged(store, "x"), tagged(store, "y"), tagged(store, "z")) == (["a", "b"], ["a"], [])
    changed = edited(one, tags=("z", "y"))
    assert store.change(one, cursor(one), changed, cursor(one))
    assert (tagged(store, "x"), tagged(store, "y"), tagged(store, "z")) == (["b"], ["a"], ["a"])
    assert store.delete(changed, deleted_at=NOON + 1)
    assert (tagged(store, "y"), tagged(store, "z")) == ([], [])


def test_job_edits_refused_write_leaves_tags_and_count_unchanged(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    made = job(tags=("x",))
    added(store, made)
    assert not store.create(job(tags=("other",)), cursor(made))
    stale = replace(made, revision=7)
    assert not store.change(stale, cursor(made), edited(stale, tags=("other",)), cursor(made))
    assert not store.delete(stale, deleted_at=NOON)
    assert (tagged(store, "x"), tagged(store, "other"), count(dynamodb_tables)) == ([made.id], [], 1)


def test_job_edits_pages_by_prefix_and_by_tag_continue_where_they_ended(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    added(store, *(job(id=f"{name}-{number}", tags=("all",)) for name in "ab" for number in range(4)))

    def walk(**where: Any) -> list[str]:
        found = followed(lambda after: store.page("default", JobFilter(**where), limit=3, after=after))
        return [of.id for of, standing in found if standing == cursor(of)]

    bs = [f"b-{number}" for number in range(4)]
    assert walk(prefix="b") == bs
    assert walk(tag="all", prefix="b") == bs
    assert walk(tag="all") == [f"a-{number}" for number in range(4)] + bs
    assert walk(prefix="c") == []


def test_job_edits_quota_is_enforced_and_deletions_free_places(any_tables: Tables) -> None:
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


def test_job_edits_key_creates_one_job_until_it_expires(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    first, second = job(id="first"), job(id="second")
    used = replace(KEY, job_id="first")
    assert used_key(store, "default", NOON) is None
    assert store.create(first, cursor(first), CreationTerms(now=NOON, key=used))
    assert used_key(store, "default", NOON + 99) == used
    assert used_key(store, "somebody", NOON) is None
    with pytest.raises(KeyUsedError):
        store.create(second, cursor(second), CreationTerms(now=NOON + 99, key=replace(KEY, job_id="second")))
    assert (store.get("default", "second"), count(dynamodb_tables)) == (None, 1)
    assert used_key(store, "default", NOON + 100) is None
    later = replace(KEY, job_id="second", expires_at=int(NOON) + 300)
    assert store.create(second, cursor(second), CreationTerms(now=NOON + 100, key=later))
    assert used_key(store, "default", NOON + 100) == later


def used_key(store: JobStore, tenant: str, now: float) -> UsedKey | None:
    return store.used_keys(tenant, ["digest"], now=now).get("digest")


def test_job_edits_refused_job_does_not_use_its_key(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    added(store, made)
    assert not store.create(made, cursor(made), CreationTerms(now=NOON, key=KEY))
    assert used_key(store, "default", NOON) is None


def test_job_edits_payload_moves_to_its_own_item_when_large_and_back_when_small(dynamodb_tables: Tables) -> None:
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


def edited_between(client: Any, edit: Callable[[], object]) -> Any:
    """A client through which a job is edited between the read of its item and that of its payload."""
    return around(client, get_item=before(edit, times=1, when=lambda **asked: asked["Key"]["SK"]["S"] == "PAYLOAD"))


@pytest.mark.parametrize("payload", ["y" * 9000, "small"])
def test_job_edits_job_is_never_read_with_the_payload_of_another_revision(
    dynamodb_tables: Tables, payload: str
) -> None:
    clock = SettableClock(NOON)
    store = dynamodb_tables.job_store(clock)
    made = job(payload="x" * 9000)
    added(store, made)
    changed = edited(made, payload=payload, name="new")
    between = edited_between(dynamodb_tables.client, lambda: store.change(made, cursor(made), changed, cursor(made)))
    assert replace(dynamodb_tables, client=between).job_store(clock).get("default", made.id) == changed


def test_job_edits_job_deleted_while_its_payload_is_read_is_gone(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    made = job(payload="x" * 9000)
    added(store, made)
    between = edited_between(dynamodb_tables.client, lambda: store.delete(made, deleted_at=NOON))
    assert replace(dynamodb_tables, client=between).job_store(SettableClock(NOON)).get("default", made.id) is None


def test_job_edits_outside_the_schedule_do_not_restore_a_quarantined_cursor(any_tables: Tables) -> None:
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


def editing(tables: Tables, store: JobStore | None = None) -> EditJobs:
    world = World(tables, at=NOON + 30)
    world.jobs = tables.job_store(SystemClock()) if store is None else store
    return world.api.editing


def with_changes(**changes: Any) -> Callable[[Job], Draft]:
    return lambda found: Draft(**{field.name: getattr(found, field.name) for field in fields(Draft)} | changes)


def race_added(tables: Tables, of: Job) -> Job:
    assert tables.job_store(SystemClock()).create(of, cursor(of))
    return of


def state_of(tables: Tables) -> tuple[Job, Cursor]:
    store = tables.job_store(SystemClock())
    found, standing = store.get("default", "tick-tock"), store.get_cursor("default", "tick-tock")
    assert found is not None
    assert standing is not None
    return found, standing


def test_job_edits_of_the_same_version_have_one_winner(any_tables: Tables) -> None:
    """Eight at once, each with the version that all of them saw; the tags tell whether anything is half written."""
    made = race_added(any_tables, job("* * * * *", tags=("old",)))
    expected = Precondition(frozenset({made.version}), exists=True)
    barrier = Barrier(8)

    def act(number: int) -> Edited | None:
        use = editing(any_tables)
        barrier.wait(PATIENCE_SECONDS)
        try:
            changes = {"name": f"n{number}", "tags": (f"t{number}",), "payload": str(number) * 5000}
            return use.patch("default", made.id, with_changes(**changes), expected)
        except (JobVersionError, JobChangedError):
            return None

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(act, range(8)))
    (winner,) = [number for number, result in enumerate(results) if result is not None]
    found, standing = state_of(any_tables)
    assert (found.name, found.tags, found.payload) == (f"n{winner}", (f"t{winner}",), str(winner) * 5000)
    assert (found.revision, found.generation, standing) == (made.revision + 1, made.generation, cursor(made))
    store = any_tables.job_store(SystemClock())
    tags = ["old", *(f"t{number}" for number in range(8))]
    assert [tag for tag in tags if store.page("default", JobFilter(tag=tag), limit=9, after=None).items] == [
        f"t{winner}"
    ]


def test_job_edits_concurrent_patches_of_different_fields_all_apply(any_tables: Tables) -> None:
    made = race_added(any_tables, job("* * * * *"))
    changes: list[dict[str, Any]] = [{"name": "new"}, {"tags": ("a",)}, {"payload": 5}]
    barrier = Barrier(len(changes))

    def act(change: dict[str, Any]) -> Edited:
        use = editing(any_tables)
        barrier.wait(PATIENCE_SECONDS)
        return use.patch("default", made.id, with_changes(**change))

    with ThreadPoolExecutor(len(changes)) as pool:
        assert all(edited.changed for edited in pool.map(act, changes))
    found, _ = state_of(any_tables)
    assert (found.name, found.tags, found.payload, found.revision) == ("new", ("a",), 5, made.revision + 3)


def claimed(tables: Tables) -> ClaimResult:
    """A dispatcher's claim of what comes due in the next fourteen minutes."""
    clock = SettableClock(NOON + 30)
    _, standing = state_of(tables)
    made = plan(standing, now=clock.now(), horizon=840)
    (result,) = tables.cursor_store(clock).claim([Claim(standing, made.cursor)], 1)
    return result.result


@pytest.mark.parametrize("changes", [{"priority": Lane.HIGH}, {"schedule": ScheduleSpec("*/7 * * * *")}])
def test_job_edits_overtaken_by_a_claim_continue_from_the_new_cursor_position(
    any_tables: Tables, changes: dict[str, Any]
) -> None:
    made = race_added(any_tables, job("* * * * *"))
    store = around(any_tables.job_store(SystemClock()), change=before(lambda: claimed(any_tables), times=1))
    assert editing(any_tables, store).patch("default", made.id, with_changes(**changes)).changed
    found, standing = state_of(any_tables)
    assert found.revision == made.revision + 1
    if "priority" in changes:
        assert (standing.lane, standing.occurrence) == (Lane.HIGH, int(NOON) + 900)
        assert standing.generation == made.generation
    else:
        assert (standing.occurrence, standing.generation) == (int(NOON) + 420, found.generation)


def test_job_edits_claim_overtaken_by_a_schedule_edit_is_lost(any_tables: Tables) -> None:
    made = race_added(any_tables, job("* * * * *"))
    clock = SettableClock(NOON + 30)
    _, standing = state_of(any_tables)
    ahead = plan(standing, now=clock.now(), horizon=840)
    editing(any_tables).patch("default", made.id, with_changes(schedule=ScheduleSpec("*/7 * * * *")))
    (result,) = any_tables.cursor_store(clock).claim([Claim(standing, ahead.cursor)], 1)
    assert (result.result, state_of(any_tables)[1].occurrence) == (ClaimResult.LOST, int(NOON) + 420)


def test_job_edits_claim_after_an_edit_outside_the_schedule_wins_and_keeps_the_edit(any_tables: Tables) -> None:
    made = race_added(any_tables, job("* * * * *"))
    clock = SettableClock(NOON + 30)
    _, standing = state_of(any_tables)
    ahead = plan(standing, now=clock.now(), horizon=840)
    editing(any_tables).patch("default", made.id, with_changes(priority=Lane.LOW))
    (result,) = any_tables.cursor_store(clock).claim([Claim(standing, ahead.cursor)], 1)
    now = state_of(any_tables)[1]
    assert (result.result, now.lane, now.occurrence) == (ClaimResult.WON, Lane.LOW, int(NOON) + 900)


def test_job_edits_fail_after_repeated_conflicts(any_tables: Tables) -> None:
    made = race_added(any_tables, job("* * * * *"))
    names = iter("abcdefgh")

    def rename() -> None:
        editing(any_tables).patch("default", made.id, with_changes(name=next(names)))

    store = around(any_tables.job_store(SystemClock()), change=before(rename, times=9))
    with pytest.raises(JobChangedError):
        editing(any_tables, store).patch("default", made.id, with_changes(payload=1))
    assert state_of(any_tables)[0].payload is None


def test_job_edits_leave_a_concurrently_ended_job_ended(any_tables: Tables) -> None:
    made = race_added(any_tables, job("* * * * *"))
    plain = any_tables.job_store(SystemClock())
    store = around(plain, change=before(lambda: plain.complete(made, at=NOON + 31), times=1))
    editing(any_tables, store).patch("default", made.id, with_changes(name="x"))
    found, _ = state_of(any_tables)
    assert (found.state.value, found.name, found.revision) == ("COMPLETED", "x", made.revision + 2)


def test_job_edits_concurrent_creations_are_all_counted(dynamodb_tables: Tables) -> None:
    barrier = Barrier(6)

    def act(number: int) -> bool:
        made = job(id=f"job-{number}")
        store = dynamodb_tables.job_store(SystemClock())
        barrier.wait(PATIENCE_SECONDS)
        return store.create(made, cursor(made), CreationTerms(quota=100))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(act, range(6)))
    assert total(dynamodb_tables.both(), "default") == 6


def test_job_edits_delete_by_tag_fails_if_the_job_loses_its_tag_first(any_tables: Tables) -> None:
    race_added(any_tables, job(id="tick-tock", tags=("billing",)))
    stored = any_tables.job_store(SystemClock())

    def taken() -> None:
        editing(any_tables).patch("default", "tick-tock", with_changes(tags=("reports",)))

    overtaken = around(stored, delete=before(taken))  # before each deletion the tag is taken away
    reaching = Precondition(tags=frozenset({"billing"}))
    with pytest.raises(JobReachError):
        editing(any_tables, overtaken).jobs.delete("default", "tick-tock", reaching)
    assert state_of(any_tables)[0].tags == ("reports",)
