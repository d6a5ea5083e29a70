"""Stores of jobs and of their changes.

- Every adapter of jobs, on every emulator that executes conditions rightly.
- Records of who changed a job, in the runs table.
"""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.wire.capacity import KB, item_bytes, page_read_units
from duecourse.domain.jobs.cursor import Firing
from duecourse.domain.jobs.document import KEPT_DAYS, ChangeAction, ChangeRecord, asked, changed, created, deleted
from duecourse.domain.jobs.job import (
    Completion,
    EventKind,
    JobState,
    Lane,
    MissedMode,
    MissedPolicy,
    Overlap,
    RetryPolicy,
    Tombstone,
)
from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import HttpTarget
from duecourse.domain.tenants.rate import Budget
from duecourse.ports import CreationTerms, JobFilter, JobQuotaError, StoreBusyError, Total
from duecourse.stores.jobs import JobStore
from duecourse.stores.keys import job_partition
from duecourse.testing.clock import SettableClock
from tests.support.client_faults import READS, FaultyClient
from tests.support.every_target import EVERY_TARGET
from tests.support.jobs import NOON, cursor, followed, job, stored_job
from tests.support.tables import Tables


def test_job_store_reads_a_job_as_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job(
        "0 9 * * 1",
        timezone="America/New_York",
        at=NOON + 0.125,
        name="Weekly report",
        payload={"größe": [1, 2.5, None, True], "deep": {"er": "✓"}},
        target=HttpTarget("https://example.com/hook", "PUT", (("X-A", "1"), ("X-B", "2"))),
        priority=Lane.HIGH,
        missed=MissedPolicy(MissedMode.RUN_ALL, 5, 7),
        idempotency_key="report-{{week}}",
        tags=("billing", "weekly"),
    )
    assert store.create(made, cursor(made))
    assert store.get("default", made.id) == made
    assert store.get_cursor("default", made.id) == cursor(made)


def test_job_store_reads_a_job_without_schedule_as_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = stored_job(store, "", timezone="Europe/Berlin")
    assert store.get_both("default", made.id) == (made, cursor(made))


def test_job_store_reads_every_target_as_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    for target in EVERY_TARGET:
        made = stored_job(store, id=f"job-{type_of(target)}", target=target)
        assert store.get("default", made.id) == made


def test_job_store_reads_retry_overlap_callback_and_event_settings_as_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job(
        retry=RetryPolicy(on=("5xx", "Throttling*"), never=("501",), max_age_seconds=7200),
        overlap=Overlap.REPLACE,
        estimated_seconds=900,
        start_deadline_seconds=3600,
        pause_on_failure=3,
        completion=Completion.CALLBACK,
        completion_seconds=7200,
        heartbeat_seconds=60,
        events=(EventKind.DEATHS, EventKind.LATE),
        paused_because="3 runs died in a row",
    )
    assert store.create(made, cursor(made))
    assert store.get("default", made.id) == made


def test_job_store_large_payload_has_its_own_item_and_is_deleted_with_its_job(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    made = stored_job(store, payload={"text": "x" * 100_000})
    assert store.get("default", made.id) == made
    assert store.delete(made, deleted_at=NOON + 1)
    left = dynamodb_tables.client.query(
        TableName=dynamodb_tables.jobs,
        KeyConditionExpression="PK = :p",
        ExpressionAttributeValues={":p": {"S": f"JOB#default#{made.id}"}},
    )["Items"]
    assert [item["SK"]["S"] for item in left] == ["GONE"]


def test_job_store_id_is_taken_only_once_and_the_second_creation_writes_nothing(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    first, second = job(), job("rate(20 seconds)", name="another")
    assert store.create(first, cursor(first))
    assert not store.create(second, cursor(second))
    assert store.get("default", first.id) == first
    assert store.get_cursor("default", first.id) == cursor(first)


def test_job_store_hides_jobs_of_other_tenants(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = stored_job(store)
    assert store.get("somebody", made.id) is None
    assert store.page("somebody", limit=10, after=None).items == ()


def test_job_store_deletion_leaves_its_time(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = stored_job(store)
    assert store.snapshot("default", made.id) == made
    assert store.delete(made, deleted_at=NOON + 5)
    assert store.snapshot("default", made.id) == Tombstone(NOON + 5, made.generation)
    assert store.get_cursor("default", made.id) is None
    assert store.snapshot("default", "unknown") is None


def test_job_store_recreation_requires_the_latest_deletion(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    assert store.gone("default", made.id) is None
    store.create(made, cursor(made))
    store.delete(made, deleted_at=NOON + 5)
    gone = store.gone("default", made.id)
    assert gone == Tombstone(NOON + 5, made.generation)
    store.create(made, cursor(made), CreationTerms(after=gone))
    store.delete(made, deleted_at=NOON + 6)
    with pytest.raises(StoreBusyError):
        store.create(made, cursor(made), CreationTerms(after=gone))
    assert store.get("default", made.id) is None
    assert store.create(made, cursor(made), CreationTerms(after=store.gone("default", made.id)))


def test_job_store_concurrently_changed_job_is_not_deleted(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = stored_job(store)
    assert not store.delete(replace(made, generation=1), deleted_at=NOON + 5)
    assert store.get("default", made.id) == made


def test_job_store_recreates_a_deleted_job(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    old, new = job(), job(at=NOON + 60)
    store.create(old, cursor(old))
    store.delete(old, deleted_at=NOON + 5)
    assert store.create(new, cursor(new))
    assert store.snapshot("default", new.id) == new


def test_job_store_completes_a_job_once_and_only_in_its_own_generation(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = stored_job(store)
    assert not store.complete(replace(made, generation=1), at=NOON + 1)
    assert store.complete(made, at=NOON + 1)
    assert not store.complete(made, at=NOON + 2)
    found = store.get("default", made.id)
    assert (found.state, found.updated_at) == (JobState.COMPLETED, NOON + 1)


def test_job_store_pages_are_sorted_by_id_with_cursors_and_without_duplicates(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    names = [f"job-{number:02}" for number in range(7)]
    for name in reversed(names):
        stored_job(store, id=name)
    found = list(followed(lambda after: store.page("default", limit=3, after=after)))
    assert [(of.id, standing == cursor(of)) for of, standing in found] == [(name, True) for name in names]


def test_job_store_full_page_may_be_the_last_one(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    for number in range(3):
        stored_job(store, id=f"job-{number}", tags=("x",))
    pages = [store.page("default", where, limit=3, after=None) for where in (JobFilter(), JobFilter(tag="x"))]
    assert [(len(page.items), page.following) for page in pages] == [(3, None)] * 2


def test_job_store_page_of_one_state_reads_many_jobs_for_its_matches(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    for number in range(12):
        stored_job(store, id=f"job-{number:02}", state=JobState.PAUSED if number in {2, 9, 10} else JobState.ACTIVE)
    page = store.page("default", JobFilter(state=JobState.PAUSED), limit=2, after=None)
    assert [(of.id, found == cursor(of)) for of, found in page.items] == [("job-02", True), ("job-09", True)]
    rest = store.page("default", JobFilter(state=JobState.PAUSED), limit=2, after=page.following)
    assert ([of.id for of, _ in rest.items], rest.following) == (["job-10"], None)
    none = store.page("default", JobFilter("job-0", state=JobState.COMPLETED), limit=2, after=None)
    assert (none.items, none.following) == ((), None)


def test_job_store_search_finds_any_part_of_an_id_or_name_and_counts(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    for number in range(6):
        stored_job(
            store, id=f"job-{number}", name="Nightly Report" if number % 2 else "", tags=("x",) if number < 4 else ()
        )

    def found(limit: int = 9, after: str | None = None, **where: Any) -> tuple[list[str], Total | None]:
        page = store.page("default", JobFilter(**where), limit=limit, after=after, total=True)
        return [of.id for of, _ in page.items], page.total

    assert found(search="LY REP") == (["job-1", "job-3", "job-5"], Total(3, 6, complete=True))
    assert found(search="B-2") == (["job-2"], Total(1, 6, complete=True))
    assert found(2, search="job") == (["job-0", "job-1"], Total(6, 6, complete=True))
    assert found(2, "job-1", search="job") == (["job-2", "job-3"], Total(4, 4, complete=True))
    assert found(search="report", tag="x") == (["job-1", "job-3"], Total(2, 4, complete=True))
    assert found(search="weekly") == ([], Total(0, 6, complete=True))
    assert found(1) == (["job-0"], Total(6, 6, complete=True))


def test_job_store_search_continues_past_a_megabyte_and_charges_for_each_further_one(dynamodb_tables: Tables) -> None:
    store, paid = dynamodb_tables.job_store(SettableClock(NOON)), list[int]()
    for number in range(27):
        stored_job(store, id=f"job-{number:02}", name="last" if number == 26 else "", description="x" * 100_000)
    budget = Budget(pay=lambda requests, _begun: paid.append(requests))
    page = store.page("default", JobFilter(search="last"), limit=1, after=None, budget=budget, total=True)
    assert ([of.id for of, _ in page.items], page.following) == (["job-26"], None)
    assert (page.total, paid) == (Total(1, 27, complete=True), [2, 2])


def test_job_store_reads_named_jobs_with_one_request_whatever_the_number_of_jobs(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for number in range(30):
        stored_job(store, id=f"job-{number:02}", tags=("x",) if number % 2 else ())
    client = FaultyClient(dynamodb_tables.client, kinds=READS)
    store = replace(dynamodb_tables, client=client).job_store(SettableClock(NOON))
    named = ("job-21", "job-02", "job-03", "gone")
    page = store.page("default", JobFilter(ids=named), limit=2, after=None)
    assert ([of.id for of, _ in page.items], page.following) == (["job-02", "job-03"], "job-03")
    assert [each.operation for each in client.seen] == ["batch_get_item"] * 2  # the jobs, their cursors
    rest = store.page("default", JobFilter(ids=named), limit=2, after="job-03")
    assert ([of.id for of, _ in rest.items], rest.following) == (["job-21"], None)
    tagged = store.page("default", JobFilter(ids=named, tag="x", state=JobState.ACTIVE), limit=5, after=None)
    assert [of.id for of, _ in tagged.items] == ["job-03", "job-21"]


def test_job_store_reads_jobs_in_one_state_with_one_query(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for number in range(5):
        stored_job(store, id=f"job-{number}", state=JobState.PAUSED if number % 2 else JobState.ACTIVE)
    client = FaultyClient(dynamodb_tables.client, kinds=READS)
    store = replace(dynamodb_tables, client=client).job_store(SettableClock(NOON))
    page = store.page("default", JobFilter(state=JobState.ACTIVE), limit=2, after=None)
    assert ([of.id for of, _ in page.items], page.following) == (["job-0", "job-2"], "job-2")
    assert [each.operation for each in client.seen] == ["query", "batch_get_item"]


def test_job_store_finds_jobs_in_a_rare_state_without_reading_others(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for number in range(30):
        made = stored_job(store, id=f"job-{number:02}")
        if number in {3, 25}:
            paused = replace(made, state=JobState.PAUSED, generation=made.generation + 1, paused_at=NOON + 5)
            assert store.change(made, cursor(made), paused, replace(cursor(made), generation=paused.generation))
        if number in {7, 8}:
            assert store.complete(made, at=NOON + 1, expires_at=int(NOON) + 86_400 if number == 8 else None)
        if number == 25:
            resumed = replace(paused, state=JobState.ACTIVE, generation=paused.generation + 1, paused_at=None)
            assert store.change(paused, replace(cursor(made), generation=paused.generation), resumed, cursor(resumed))
    client = FaultyClient(dynamodb_tables.client, kinds=READS)
    store = replace(dynamodb_tables, client=client).job_store(SettableClock(NOON))
    found = {}
    for state in (JobState.PAUSED, JobState.COMPLETED):
        page = store.page("default", JobFilter(state=state), limit=50, after=None)
        found[state] = [of.id for of, _ in page.items], page.following
    assert found == {JobState.PAUSED: (["job-03"], None), JobState.COMPLETED: (["job-07", "job-08"], None)}
    assert [each.operation for each in client.seen] == ["query", "batch_get_item"] * 2
    indexed = dynamodb_tables.client.scan(TableName=dynamodb_tables.jobs, IndexName="state")["Items"]
    assert sorted(item["job_id"]["S"] for item in indexed) == ["job-03", "job-07", "job-08"]
    assert page_read_units(indexed) <= 1
    store = dynamodb_tables.job_store(SettableClock(NOON + 86_400))
    assert [
        of.id for of, _ in store.page("default", JobFilter(state=JobState.COMPLETED), limit=1, after=None).items
    ] == ["job-07"]
    assert store.page("default", JobFilter(state=JobState.COMPLETED), limit=1, after="job-07").items == ()


def test_job_store_large_payloads_are_read_only_for_the_jobs_of_the_page(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for number in range(5):
        stored_job(store, id=f"job-{number}", owner="mara" if number % 2 else "ben", payload="x" * 5000)
    client = FaultyClient(dynamodb_tables.client, kinds=READS)
    store = replace(dynamodb_tables, client=client).job_store(SettableClock(NOON))
    page = store.page("default", JobFilter(owner="ben"), limit=2, after=None)
    assert [(of.id, of.payload == "x" * 5000) for of, _ in page.items] == [("job-0", True), ("job-2", True)]
    assert page.following == "job-2"
    assert [each.operation for each in client.seen] == ["query", "get_item", "get_item", "batch_get_item"]


def test_job_store_unreadable_item_does_not_fail_the_page(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for name in ("bad-cursor", "bad-job", "good"):
        stored_job(store, id=name)
    for name, sort, attribute in (("bad-cursor", "CURSOR", "generation"), ("bad-job", "JOB", "definition")):
        dynamodb_tables.client.update_item(
            TableName=dynamodb_tables.jobs,
            Key={"PK": {"S": f"JOB#default#{name}"}, "SK": {"S": sort}},
            UpdateExpression="REMOVE #gone",
            ExpressionAttributeNames={"#gone": attribute},
        )
    page = store.page("default", limit=10, after=None)
    assert [(of.id, found is not None) for of, found in page.items] == [("bad-cursor", False), ("good", True)]
    assert store.get_cursor("default", "bad-cursor") is None


def test_job_store_reads_definitions_without_large_payloads(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    small, large = job(id="small", payload=[1]), job(id="large", payload="x" * 20_000)
    for made in (small, large):
        assert store.create(made, cursor(made))
    found = store.definitions("default", ["large", "missing", "small"])
    assert found == {"small": (small, cursor(small)), "large": (replace(large, payload=None), cursor(large))}
    assert store.definitions("other", ["small"]) == {}


def test_job_store_change_overwrites_only_the_job_and_cursor_it_read(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job()
    standing = cursor(made)
    store.create(made, standing)
    changed = replace(made, state=JobState.PAUSED, generation=made.generation + 1, paused_at=NOON + 5)
    after = replace(standing, generation=changed.generation, occurrence=None, due=None)
    assert not store.change(replace(made, generation=1), standing, changed, after)
    assert not store.change(made, replace(standing, after=5), changed, after)
    assert store.get("default", made.id) == made
    assert store.change(made, standing, changed, after)
    assert store.get("default", made.id) == changed
    assert store.get_cursor("default", made.id) == after
    assert not store.change(made, standing, changed, after)


def test_job_store_moves_only_the_cursor_that_it_read_and_only_its_position(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = job("* * * * *", max_runs=5)
    standing = cursor(made)
    assert store.create(made, standing)
    moved = replace(standing, after=standing.after - 60, remaining=6)
    assert store.move(standing, replace(moved, lane=Lane.HIGH))
    assert store.get_cursor("default", made.id) == moved
    assert not store.move(standing, moved)
    assert not store.move(replace(moved, generation=1), standing)
    listed = replace(moved, waited=(Firing(60, 61, 60, following=120), Firing(120, 121, 120)))
    assert store.move(moved, listed)
    assert store.get_cursor("default", made.id) == listed
    assert not store.move(moved, replace(listed, waited=()))


def test_job_store_reads_job_and_cursor_in_one_request(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    for number, payload in enumerate(("small", "x" * 5000)):
        made = stored_job(store, id=f"job-{number}", payload=payload)
        assert store.get_both("default", made.id) == (made, cursor(made))
    assert store.get_both("default", "nobody") == (None, None)
    assert store.get_both("others", "job-0") == (None, None)


JOB = ("default", "nightly")


@pytest.fixture
def store(any_tables: Tables) -> JobStore:
    return any_tables.job_store(SettableClock(NOON))


def actions(store: JobStore) -> list[tuple[str, str]]:
    return [(record.action, record.principal) for record in store.history(*JOB, limit=100, before=None).items]


def cancelled(number: int, at: float = NOON) -> ChangeRecord:
    return asked(ChangeAction.CANCELLED, JOB, "anna", at, f"nonce-{number}", None, run_ids=[f"run-{number}"])


def test_job_store_reads_a_history_record_as_written(store: JobStore) -> None:
    made = stored_job(store, id="nightly", created_by="anna")
    assert store.history(*JOB, limit=1, before=None).items == (created(made),)


def test_job_store_change_and_its_record_are_written_together_or_not_at_all(store: JobStore) -> None:
    made = job(id="nightly", created_by="anna")
    after = replace(made, revision=2, updated_at=NOON + 1, name="x")
    assert store.create(made, cursor(made))
    record = changed(ChangeAction.EDITED, made, after, "bob")
    assert store.change(made, cursor(made), after, cursor(after), record=record)
    late = changed(ChangeAction.EDITED, made, replace(after, name="y", updated_at=NOON + 2), "carl")
    assert not store.change(made, cursor(made), replace(after, name="y"), cursor(after), record=late)
    assert not store.delete(made, deleted_at=NOON + 3, record=deleted(made, "carl", NOON + 3))
    assert not store.create(replace(made, created_at=NOON + 4, created_by="carl"), cursor(made))
    assert actions(store) == [("edited", "bob"), ("created", "anna")]


def test_job_store_creation_stays_in_the_history_once_through_later_changes(store: JobStore) -> None:
    made = stored_job(store, id="nightly", created_by="anna")
    stored = store.get(*JOB)
    assert stored is not None
    assert store.complete(stored, at=NOON + 5)
    assert store.history(*JOB, limit=9, before=None).items == (created(made),)
    ended = store.get(*JOB)
    after = replace(ended, revision=ended.revision + 1, updated_at=NOON + 6, name="x")
    assert store.change(
        ended, cursor(made), after, cursor(made), record=changed(ChangeAction.EDITED, ended, after, "b")
    )
    page = store.history(*JOB, limit=1, before=None)
    assert [record.action for record in page.items] == ["edited"]
    assert store.history(*JOB, limit=1, before=page.following).items == (created(made),)


def test_job_store_creation_record_is_on_its_page_of_the_history(store: JobStore) -> None:
    made = stored_job(store, id="nightly", created_by="anna")
    store.note([cancelled(number, NOON + number) for number in range(1, 4)])
    first = store.history(*JOB, limit=3, before=None)
    assert (len(first.items), first.following is None) == (3, False)
    assert store.history(*JOB, limit=3, before=first.following).items == (created(made),)


def test_job_store_creation_refused_by_the_quota_leaves_no_record(store: JobStore) -> None:
    first, made = job(id="first"), job(id="nightly", created_by="anna")
    assert store.create(first, cursor(first), CreationTerms(quota=1))
    with pytest.raises(JobQuotaError):
        store.create(made, cursor(made), CreationTerms(quota=1))
    assert actions(store) == []


def test_job_store_uses_at_most_a_kilobyte_per_job_in_the_scanned_table_regardless_of_history(
    dynamodb_tables: Tables,
) -> None:
    store, made = dynamodb_tables.job_store(SettableClock(NOON)), job("30 2 * * *", id="nightly", created_by="anna")
    assert store.create(made, cursor(made))
    for number in range(20):
        edited = replace(made, revision=made.revision + 1, updated_at=NOON + number, name=f"name {number}")
        record = changed(ChangeAction.EDITED, made, edited, "bob")
        assert store.change(made, cursor(made), edited, cursor(edited), record=record)
        made = edited
    store.note([cancelled(number) for number in range(30)])
    items = dynamodb_tables.client.scan(TableName=dynamodb_tables.jobs)["Items"]
    assert sum(item_bytes(item) for item in items if item["PK"]["S"] == job_partition(*JOB)) <= KB
    assert len(actions(store)) == 51


def test_job_store_history_survives_deletion_and_continues_with_the_recreated_job(store: JobStore) -> None:
    made = job(id="nightly", created_by="anna")
    again = replace(
        made,
        created_by="carl",
        created_at=NOON + 9,
        generation=made.generation + 9,
        created_generation=made.generation + 9,
    )
    assert store.create(made, cursor(made))
    assert store.delete(made, deleted_at=NOON + 5, record=deleted(made, "bob", NOON + 5))
    assert store.create(again, cursor(again))
    assert actions(store) == [("created", "carl"), ("deleted", "bob"), ("created", "anna")]


def test_job_store_history_is_paginated_newest_first(store: JobStore) -> None:
    store.note([cancelled(number, NOON + number) for number in range(60)])
    records = followed(lambda before: store.history(*JOB, limit=25, before=before))
    assert [record.key for record in records] == [f"nonce-{number}" for number in reversed(range(60))]


def test_job_store_page_ending_with_the_last_record_has_no_next_page(store: JobStore) -> None:
    store.note([cancelled(number) for number in range(3)])
    assert store.history(*JOB, limit=3, before=None).following is None


def test_job_store_repeated_request_leaves_one_record(store: JobStore) -> None:
    store.note([cancelled(1)])
    store.note([cancelled(1)])
    assert len(actions(store)) == 1


def test_job_store_records_belong_to_one_job_of_one_tenant(store: JobStore) -> None:
    store.note([cancelled(1), replace(cancelled(2), tenant="acme"), replace(cancelled(3), job_id="nightly-2")])
    assert [record.key for record in store.history(*JOB, limit=9, before=None).items] == ["nonce-1"]


def test_job_store_record_expires_and_is_in_no_index(dynamodb_tables: Tables) -> None:
    dynamodb_tables.job_store(SettableClock(NOON)).note([cancelled(1)])
    (item,) = dynamodb_tables.client.scan(TableName=dynamodb_tables.runs)["Items"]
    assert int(item["expires_at"]["N"]) == NOON + KEPT_DAYS * 86_400
    assert not {"ended_key", "ended_at"} & item.keys()
