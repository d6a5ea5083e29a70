"""Seats are taken with the job that takes them, by one of those who ask at once, and never more than there are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import pytest

from duecourse.adapters.system import SystemClock
from duecourse.domain.jobs.job import Job, Lane, Overlap, Tombstone
from duecourse.domain.tenants.seats import Seats
from duecourse.ports import CreationTerms, SeatsChangedError
from duecourse.stores.tenants import SeatStore
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.jobs.job_errors import JobUnknownError
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables
from tests.support.world import World


def _draft(of: Job, **changes: Any) -> Draft:
    return Draft(**{each.name: getattr(of, each.name) for each in fields(Draft)} | changes)


class Desk:
    """Jobs are created, edited and deleted here, two seats in each lane."""

    def __init__(self, tables: Tables, clock: Any = None) -> None:
        world = World(tables)
        world.settings = replace(world.settings, seats=dict.fromkeys(Lane, 2))
        self.clock = world.clock
        self.store = world.jobs = tables.job_store(clock or world.clock)
        api = world.api_at(clock or world.clock)
        self.jobs, self.editing = api.jobs, api.editing

    def create(self, job_id: str, expression: str = "0 0 1 1 *", **changes: Any) -> Job:
        return self.jobs.create(_draft(job(expression), id=job_id, **changes)).view.job

    def edit(self, job_id: str, **changes: Any) -> Job:
        return self.editing.patch("default", job_id, lambda found: _draft(found, **changes)).view.job

    def stands(self, job_id: str) -> tuple[bool | None, bool]:
        """Whether the job as it is stored has a seat, and whether its messages go into the bulk queue."""
        found, where = self.store.get_both("default", job_id)
        assert found is not None
        assert where is not None
        return found.seated, where.bulk

    def holders(self, lane: Lane = Lane.NORMAL) -> tuple[str, ...]:
        return self.store.seats.seats("default", lane).holders


SEAT, BULK = (True, False), (False, True)


def test_seats_first_jobs_of_a_lane_get_seats_and_the_others_use_the_bulk_queue(any_tables: Tables) -> None:
    desk = Desk(any_tables)
    for each in ("a", "b", "c"):
        desk.create(each)
    desk.create("d", priority=Lane.HIGH)
    desk.create("e", timeout_seconds=600)
    assert [desk.stands(each) for each in "abcde"] == [SEAT, SEAT, BULK, SEAT, SEAT]
    assert (desk.holders(), desk.holders(Lane.HIGH), desk.holders(Lane.LONG)) == (("a", "b"), ("d",), ("e",))


def test_seats_are_given_to_jobs_with_overlap_if_runs_end_before_the_next_is_due(any_tables: Tables) -> None:
    desk = Desk(any_tables)
    desk.create("a", "rate(10 seconds)", overlap=Overlap.ALLOW)
    assert (desk.stands("a"), desk.holders()) == (BULK, ())
    desk.create("b", "0 0 1 1 *", overlap=Overlap.ALLOW)
    assert (desk.stands("b"), desk.holders()) == (SEAT, ("b",))


def test_seats_are_given_to_jobs_without_schedule_only_as_workflow_steps(any_tables: Tables) -> None:
    desk = Desk(any_tables)
    alone = desk.jobs.create(_draft(job(""), id="a", overlap=Overlap.ALLOW))
    step = desk.jobs.create(_draft(job(""), id="b", overlap=Overlap.ALLOW), step=True)
    assert (alone.view.job.seated, step.view.job.seated, desk.holders()) == (False, True, ("b",))


def test_seats_of_deleted_jobs_are_reused_once_their_last_call_must_have_ended(
    any_tables: Tables,
) -> None:
    desk = Desk(any_tables)
    for each in ("a", "b"):
        desk.create(each)
    desk.jobs.delete("default", "a")
    desk.create("c")
    assert desk.stands("c") == BULK
    desk.clock.set(NOON + 131)
    desk.create("d")
    assert (desk.stands("d"), desk.holders()) == (SEAT, ("b", "d"))


def test_seats_of_a_job_deleted_during_the_read_are_not_reused_yet(dynamodb_tables: Tables) -> None:
    desk = Desk(dynamodb_tables)
    for each in ("a", "b"):
        desk.create(each)

    def read(real: Callable[..., Any], **request: Any) -> Any:
        """Read the items one by one, in the order of their keys. The job is deleted in between."""
        (table, how), *_ = request["RequestItems"].items()
        found = list[Any]()
        for key in sorted(how["Keys"], key=lambda key: (key["PK"]["S"], key["SK"]["S"])):
            if key["SK"]["S"] == "JOB":
                with suppress(JobUnknownError):
                    desk.jobs.delete("default", "a")
            answer = real(RequestItems={table: how | {"Keys": [key]}})
            found += answer["Responses"].get(table, [])
        return {"Responses": {table: found}}

    seats = SeatStore(replace(dynamodb_tables, client=around(dynamodb_tables.client, batch_get_item=read)).both())
    snapshots = seats.holders(desk.store.seats.seats("default", Lane.NORMAL))
    assert isinstance(snapshots["a"], Tombstone)
    assert isinstance(snapshots["b"], Job)


def test_seats_recreated_job_waits_until_runs_of_its_predecessor_must_have_ended(
    any_tables: Tables,
) -> None:
    desk = Desk(any_tables)
    desk.create("a", "at(2026-11-21T12:00:01)")
    desk.jobs.delete("default", "a")
    desk.clock.set(NOON + 5)
    desk.create("a", "at(2026-11-21T12:00:10)")
    assert desk.stands("a") == BULK
    desk.clock.set(NOON + 200)
    assert desk.edit("a", schedule=job("0 0 1 1 *").schedule).seated is False, "its run of 12:00:10 may be at work"
    desk.clock.set(NOON + 400)
    assert desk.edit("a", name="x").seated is True
    assert desk.stands("a") == SEAT


def test_seats_edit_takes_a_seat_in_the_new_lane_and_keeps_it(any_tables: Tables) -> None:
    desk = Desk(any_tables)
    desk.create("a")
    desk.edit("a", priority=Lane.LOW)
    version = desk.store.seats.seats("default", Lane.LOW).version
    desk.edit("a", name="x")
    assert (desk.stands("a"), desk.holders(Lane.LOW)) == (SEAT, ("a",))
    assert desk.store.seats.seats("default", Lane.LOW).version == version, "nothing was written for a seat it has"
    desk.edit("a", overlap=Overlap.ALLOW)
    assert desk.stands("a") == BULK


def test_seats_taken_concurrently_are_not_taken_twice(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    read = store.seats.seats("default", Lane.NORMAL)
    first, second = job(id="first", seated=True), job(id="second", seated=True)
    assert store.create(first, cursor(first), CreationTerms(seats=read.given_to("first")))
    with pytest.raises(SeatsChangedError):
        store.create(second, cursor(second), CreationTerms(seats=read.given_to("second")))
    assert store.get("default", "second") is None
    changed = replace(first, revision=2)
    assert not store.change(first, cursor(first), changed, cursor(first), seats=read.given_to("first"))
    assert store.get("default", "first") == first


def test_seats_check_time_does_not_overwrite_a_concurrently_taken_seat(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    read = store.seats.seats("default", Lane.NORMAL)
    made = job(id="first", seated=True)
    assert store.create(made, cursor(made), CreationTerms(seats=read.given_to("first")))
    store.seats.note(replace(read, looked_at=NOON))
    assert store.seats.seats("default", Lane.NORMAL) == Seats("default", Lane.NORMAL, ("first",), 0.0, 1)


def test_seats_concurrent_creations_take_no_more_seats_than_exist(any_tables: Tables) -> None:
    desk = Desk(any_tables, SystemClock())
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(desk.create, [f"job-{number}" for number in range(12)]))
    seated = sorted(each.id for each in made if each.seated)
    assert len(made) == 12
    assert len(seated) <= 2
    assert desk.holders() == tuple(seated)
