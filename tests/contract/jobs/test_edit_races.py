"""Edits that race with each other and with claims, on every emulator that executes conditions rightly."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from threading import Barrier
from typing import Any

import pytest

from duecourse.adapters.dynamodb.jobs.tenants import total
from duecourse.adapters.system import SystemClock
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, Lane
from duecourse.domain.jobs.plan import plan
from duecourse.domain.schedules import ScheduleSpec
from duecourse.ports import Claim, ClaimResult, CreationTerms, JobFilter, JobStore
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.testing.faults import around, before
from duecourse.usecases.dispatch.claim import Skipping
from duecourse.usecases.jobs.change import Draft, Edited, EditJobs, Jobs
from duecourse.usecases.jobs.job_errors import JobChangedError, JobReachError, JobVersionError, Precondition
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables
from tests.support.tasks import Registered
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.wheel import Wheel
from tests.support.workflows import no_members


def editing(tables: Tables, store: JobStore | None = None) -> EditJobs:
    clock = SettableClock(NOON + 30)
    stored = tables.job_store(SystemClock()) if store is None else store
    jobs = Jobs(stored, Wheel(clock), clock, Numbered(), 840, Registered(), no_members(stored))
    return EditJobs(jobs, stored, Skipping(tables.run_store(), clock, 90), clock)


def with_changes(**changes: Any) -> Callable[[Job], Draft]:
    return lambda found: Draft(**{field.name: getattr(found, field.name) for field in fields(Draft)} | changes)


def added(tables: Tables, of: Job) -> Job:
    assert tables.job_store(SystemClock()).create(of, cursor(of))
    return of


def state_of(tables: Tables) -> tuple[Job, Cursor]:
    store = tables.job_store(SystemClock())
    found, standing = store.get("default", "tick-tock"), store.get_cursor("default", "tick-tock")
    assert found is not None
    assert standing is not None
    return found, standing


def test_of_two_who_saw_the_same_version_one_is_refused(any_tables: Tables) -> None:
    """Eight at once, each with the version that all of them saw; the tags tell whether anything is half written."""
    made = added(any_tables, job("* * * * *", tags=("old",)))
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


def test_patches_of_different_fields_at_once_all_come_to_pass(any_tables: Tables) -> None:
    made = added(any_tables, job("* * * * *"))
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
def test_an_edit_that_a_claim_overtakes_is_made_from_where_the_cursor_stands_then(
    any_tables: Tables, changes: dict[str, Any]
) -> None:
    made = added(any_tables, job("* * * * *"))
    store = around(any_tables.job_store(SystemClock()), change=before(lambda: claimed(any_tables), times=1))
    assert editing(any_tables, store).patch("default", made.id, with_changes(**changes)).changed
    found, standing = state_of(any_tables)
    assert found.revision == made.revision + 1
    if "priority" in changes:
        assert (standing.lane, standing.occurrence) == (Lane.HIGH, int(NOON) + 900)
        assert standing.generation == made.generation
    else:
        assert (standing.occurrence, standing.generation) == (int(NOON) + 420, found.generation)


def test_a_claim_that_an_edit_of_the_schedule_overtakes_is_lost(any_tables: Tables) -> None:
    made = added(any_tables, job("* * * * *"))
    clock = SettableClock(NOON + 30)
    _, standing = state_of(any_tables)
    ahead = plan(standing, now=clock.now(), horizon=840)
    editing(any_tables).patch("default", made.id, with_changes(schedule=ScheduleSpec("*/7 * * * *")))
    (result,) = any_tables.cursor_store(clock).claim([Claim(standing, ahead.cursor)], 1)
    assert (result.result, state_of(any_tables)[1].occurrence) == (ClaimResult.LOST, int(NOON) + 420)


def test_a_claim_over_an_edit_beside_the_schedule_is_won_and_keeps_the_edit(any_tables: Tables) -> None:
    made = added(any_tables, job("* * * * *"))
    clock = SettableClock(NOON + 30)
    _, standing = state_of(any_tables)
    ahead = plan(standing, now=clock.now(), horizon=840)
    editing(any_tables).patch("default", made.id, with_changes(priority=Lane.LOW))
    (result,) = any_tables.cursor_store(clock).claim([Claim(standing, ahead.cursor)], 1)
    now = state_of(any_tables)[1]
    assert (result.result, now.lane, now.occurrence) == (ClaimResult.WON, Lane.LOW, int(NOON) + 900)


def test_an_edit_gives_up_when_it_is_overtaken_again_and_again(any_tables: Tables) -> None:
    made = added(any_tables, job("* * * * *"))
    names = iter("abcdefgh")

    def rename() -> None:
        editing(any_tables).patch("default", made.id, with_changes(name=next(names)))

    store = around(any_tables.job_store(SystemClock()), change=before(rename, times=9))
    with pytest.raises(JobChangedError):
        editing(any_tables, store).patch("default", made.id, with_changes(payload=1))
    assert state_of(any_tables)[0].payload is None


def test_a_job_that_ends_while_it_is_edited_has_ended(any_tables: Tables) -> None:
    made = added(any_tables, job("* * * * *"))
    plain = any_tables.job_store(SystemClock())
    store = around(plain, change=before(lambda: plain.complete(made, at=NOON + 31), times=1))
    editing(any_tables, store).patch("default", made.id, with_changes(name="x"))
    found, _ = state_of(any_tables)
    assert (found.state.value, found.name, found.revision) == ("COMPLETED", "x", made.revision + 2)


def test_creations_at_once_are_all_counted(dynamodb_tables: Tables) -> None:
    barrier = Barrier(6)

    def act(number: int) -> bool:
        made = job(id=f"job-{number}")
        store = dynamodb_tables.job_store(SystemClock())
        barrier.wait(PATIENCE_SECONDS)
        return store.create(made, cursor(made), CreationTerms(quota=100))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(act, range(6)))
    assert total(dynamodb_tables.client, dynamodb_tables.jobs, "default") == 6


def test_a_job_that_loses_its_tag_meanwhile_is_not_deleted_by_who_reaches_it_by_the_tag(any_tables: Tables) -> None:
    added(any_tables, job(id="tick-tock", tags=("billing",)))
    stored = any_tables.job_store(SystemClock())

    class Overtaken:
        """Before the first deletion the tag is taken away."""

        def __getattr__(self, name: str) -> Any:
            return getattr(stored, name)

        def delete(self, *given: Any, **more: Any) -> bool:
            editing(any_tables).patch("default", "tick-tock", with_changes(tags=("reports",)))
            return stored.delete(*given, **more)

    reaching = Precondition(tags=frozenset({"billing"}))
    with pytest.raises(JobReachError):
        editing(any_tables, Overtaken()).jobs.delete("default", "tick-tock", reaching)  # type: ignore[arg-type]
    assert state_of(any_tables)[0].tags == ("reports",)
