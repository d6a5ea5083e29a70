"""Stores of calendars, and the jobs that use a calendar."""

from dataclasses import replace

import pytest

from benchmarks.wire.capacity import KB, item_bytes
from duecourse.domain.jobs.calendars import Calendar, PlannedPause
from duecourse.domain.jobs.job import Job, JobState
from duecourse.ports import Creation, CreationTerms, StoreBusyError
from duecourse.testing.clock import SettableClock
from duecourse_schedules.exclusions import MAX_EXCLUSION_CHARACTERS, packed_days
from tests.support.client_faults import READS, WRITES, FaultyClient
from tests.support.jobs import NOON, cursor, job, stored_job
from tests.support.tables import Tables

BANK = Calendar("default", "bank", packed_days(["2026-12-24/2026-12-26", "* * * * SUN"]), "Bank", updated_by="ann")


def using(calendar: Calendar, **changes: object) -> Job:
    return job("0 9 * * *", exclude=("2026-11-25", calendar.copy), **changes)  # type: ignore[arg-type]


def test_calendar_comes_back_as_it_was_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON)).calendars
    assert store.get("default", "bank") is None
    assert store.put(BANK, None)
    assert store.get("default", "bank") == BANK
    assert store.get("other", "bank") is None
    changed = replace(BANK, description="Banks", version=2, revision=2)
    assert store.put(changed, BANK)
    assert store.get("default", "bank") == changed


def test_calendars_change_of_another_version_is_not_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON)).calendars
    changed = replace(BANK, version=2, revision=2)
    assert not store.put(changed, BANK)
    assert store.put(BANK, None)
    assert not store.put(BANK, None)
    assert store.put(changed, BANK)
    assert not store.put(replace(BANK, version=3, revision=2), BANK)
    assert not store.delete(BANK)
    assert store.delete(changed)
    assert not store.delete(changed)


def test_calendars_are_listed_page_by_page(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON)).calendars
    for name in "cab":
        assert store.put(replace(BANK, id=name), None)
    assert store.put(replace(BANK, tenant="other"), None)
    first = store.page("default", limit=2, after=None)
    assert ([each.id for each in first.items], first.following) == (["a", "b"], "b")
    second = store.page("default", limit=2, after="b")
    assert ([each.id for each in second.items], second.following) == (["c"], None)


def test_calendars_jobs_of_a_calendar_are_found_whatever_writes_them(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(BANK, None)

    def users() -> list[str]:
        return store.calendars.users("default", "bank", limit=100, after=None)[0]

    first, second, third = using(BANK, id="a"), using(BANK, id="b"), job("0 9 * * *", id="c")
    assert store.create(first, cursor(first))
    assert store.create_all([Creation(second, cursor(second)), Creation(third, cursor(third))]) == {}
    assert users() == ["a", "b"]
    assert store.get("default", "a") == first
    edited = replace(third, exclude=(BANK.copy,), revision=2)
    assert store.change(third, cursor(third), edited, cursor(edited))
    assert users() == ["a", "b", "c"]
    assert store.calendars.users("default", "bank", limit=2, after=None) == (["a", "b"], "b")
    assert store.delete(first, deleted_at=NOON)
    assert store.change(edited, cursor(edited), replace(third, revision=3), cursor(third))
    assert users() == ["b"]


def test_calendars_job_with_a_calendar_and_a_planned_pause_comes_back_as_it_was_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(BANK, None)
    made = job("0 9 * * *", exclude=("2026-11-25", BANK.copy, PlannedPause("erp", 1_795_340_000, 1_795_349_999, True)))
    assert store.create(made, cursor(made))
    assert store.get_all("default", [made.id]) == {made.id: (made, cursor(made))}


def test_calendars_job_that_starts_to_use_a_calendar_raises_its_revision(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(BANK, None)
    made = using(BANK, id="a")
    assert store.create(made, cursor(made))
    assert not store.calendars.delete(BANK)
    assert store.calendars.get("default", "bank") == replace(BANK, revision=2)
    renamed = replace(made, name="Renamed", revision=2)
    assert store.change(made, cursor(made), renamed, cursor(renamed))
    assert store.calendars.get("default", "bank") == replace(BANK, revision=2)


COMPANY = replace(BANK, id="company")


def using_both(*, company: Calendar = COMPANY, **changes: object) -> Job:
    return replace(using(BANK, **changes), exclude=(BANK.copy, company.copy))


def test_calendars_job_of_two_calendars_is_found_by_each_of_them(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(BANK, None)
    assert store.calendars.put(COMPANY, None)

    def users() -> list[list[str]]:
        return [store.calendars.users("default", each, limit=9, after=None)[0] for each in ("bank", "company")]

    both, one = using_both(id="a"), using(BANK, id="b")
    assert store.create(both, cursor(both))
    assert store.create_all([Creation(one, cursor(one))]) == {}
    assert users() == [["a", "b"], ["a"]]
    grown = replace(using_both(id="b"), revision=2)
    assert store.change(one, cursor(one), grown, cursor(grown))
    assert users() == [["a", "b"], ["a", "b"]]
    shrunk = replace(both, exclude=(COMPANY.copy,), revision=2)
    assert store.change(both, cursor(both), shrunk, cursor(shrunk))
    assert users() == [["b"], ["a", "b"]]
    assert store.delete(grown, deleted_at=NOON)
    assert users() == [[], ["a"]]


def test_calendars_job_that_starts_to_use_a_second_calendar_raises_only_its_revision(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(BANK, None)
    assert store.calendars.put(COMPANY, None)
    made = using(BANK, id="a")
    assert store.create(made, cursor(made))
    both = replace(using_both(id="a"), revision=2)
    assert store.change(made, cursor(made), both, cursor(both))
    assert store.calendars.get("default", "bank") == replace(BANK, revision=2)
    assert store.calendars.get("default", "company") == replace(COMPANY, revision=2)


def test_calendars_job_with_an_outdated_copy_of_its_second_calendar_is_not_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(BANK, None)
    changed = replace(COMPANY, version=2, days=packed_days(["2026-12-31"]))
    assert store.calendars.put(changed, None)
    late, made = using_both(id="a"), using(BANK, id="b")
    with pytest.raises(StoreBusyError, match="calendar"):
        store.create(late, cursor(late), CreationTerms(quota=5))
    assert store.create(made, cursor(made))
    both = replace(using_both(id="b"), revision=2)
    assert not store.change(made, cursor(made), both, cursor(both))
    both = replace(using_both(id="b", company=changed), revision=2)
    assert store.change(made, cursor(made), both, cursor(both))


def test_calendars_job_with_an_outdated_copy_is_not_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(replace(BANK, version=2, days=packed_days(["2026-12-31"])), None)
    late, plain = using(BANK, id="a"), job("0 9 * * *", id="b")
    with pytest.raises(StoreBusyError):
        store.create(late, cursor(late), CreationTerms(quota=5))
    with pytest.raises(StoreBusyError):
        store.create_all([Creation(late, cursor(late)), Creation(plain, cursor(plain))])
    assert store.create(plain, cursor(plain))
    edited = replace(plain, exclude=late.exclude, revision=2)
    assert not store.change(plain, cursor(plain), edited, cursor(edited))
    assert store.get_all("default", ["a", "b"]) == {"b": (plain, cursor(plain))}
    assert any_tables.limits().jobs("default") == 1


def test_calendars_completed_job_with_an_outdated_copy_does_not_become_active(any_tables: Tables) -> None:
    """A request that changes the calendar in between leaves the completed job alone."""
    store = any_tables.job_store(SettableClock(NOON))
    assert store.calendars.put(BANK, None)
    made = using(BANK, id="a")
    assert store.create(made, cursor(made))
    assert store.complete(made, at=NOON)
    done = store.get("default", "a")
    assert done is not None
    edited = replace(done, name="x", revision=done.revision + 1)
    again = replace(edited, state=JobState.ACTIVE, revision=edited.revision + 1)
    changed = replace(BANK, version=2, revision=2, days=packed_days(["2026-12-31"]))
    assert store.calendars.put(changed, replace(BANK, revision=2))
    assert store.change(done, cursor(made), edited, cursor(made))
    assert not store.change(edited, cursor(made), again, cursor(made), quota=5)
    assert store.calendars.put(replace(BANK, version=3, revision=3), changed)
    assert store.change(edited, cursor(made), again, cursor(made), quota=5)


def test_calendars_cursor_of_a_job_with_a_full_calendar_takes_one_write_unit(dynamodb_tables: Tables) -> None:
    days = packed_days([f"{year}-{month:02}-{day:02}" for year in range(2026, 2036) for month, day in HOLIDAYS])
    store = dynamodb_tables.job_store(SettableClock(NOON))
    full = replace(BANK, days=days)
    assert store.calendars.put(full, None)
    made = using(full, id="a", timezone="America/Argentina/ComodRivadavia")
    assert store.create(made, cursor(made))
    items = dynamodb_tables.client.scan(TableName=dynamodb_tables.jobs)["Items"]
    sizes = {item["SK"]["S"]: item_bytes(item) for item in items}
    assert sizes["CURSOR"] <= KB
    assert sizes["CALENDAR#bank"] <= KB


def test_calendars_cursor_of_a_job_with_full_exclusions_takes_one_write_unit(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    ranges = tuple(f"20{year}-12-24/20{year}-12-31" for year in range(30, 30 + MAX_EXCLUSION_CHARACTERS // 21))
    made = job("0 9 * * *", id="a", exclude=ranges, timezone="America/Argentina/ComodRivadavia")
    assert store.create(made, cursor(made))
    items = dynamodb_tables.client.scan(TableName=dynamodb_tables.jobs)["Items"]
    assert {item["SK"]["S"]: item_bytes(item) <= KB for item in items}["CURSOR"]


HOLIDAYS = [(1, 1), (1, 6), (4, 3), (4, 6), (5, 1), (5, 14), (5, 25), (8, 15), (10, 3), (11, 1), (12, 25), (12, 26)]


def test_calendars_job_without_a_calendar_neither_reads_nor_writes_one(dynamodb_tables: Tables) -> None:
    client = FaultyClient(dynamodb_tables.client, kinds=READS | WRITES)
    store = replace(dynamodb_tables, client=client).job_store(SettableClock(NOON))
    stored_job(store, id="a")
    assert client.seen
    assert not any("CALENDAR" in str(each.asked) for each in client.seen)
