"""Records of who changed a job, in the jobs table beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.domain.jobs.document import KEPT_DAYS, ChangeAction, ChangeRecord, asked, changed, created, deleted
from duecourse.ports import CreationTerms, JobQuotaError
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables

JOB = ("default", "nightly")


@pytest.fixture
def store(any_tables: Tables) -> DynamoJobStore:
    return any_tables.job_store(SettableClock(NOON))


def actions(store: DynamoJobStore) -> list[tuple[str, str]]:
    page = store.history(*JOB, limit=100, before=None)
    return [(record.action, record.principal) for record in page.items]


def cancelled(number: int, at: float = NOON) -> ChangeRecord:
    return asked(ChangeAction.CANCELLED, JOB, "anna", at, f"nonce-{number}", None, run_ids=[f"run-{number}"])


def test_a_record_comes_back_as_it_was_written(store: DynamoJobStore) -> None:
    made = job(id="nightly", revision=1)
    record = created(made, "anna")
    assert store.create(made, cursor(made), CreationTerms(record=record))

    assert store.history(*JOB, limit=1, before=None).items == (record,)


def test_the_record_of_a_change_is_written_with_it_or_not_at_all(store: DynamoJobStore) -> None:
    made = job(id="nightly", revision=1)
    after = replace(made, revision=2, updated_at=NOON + 1, name="x")
    assert store.create(made, cursor(made), CreationTerms(record=created(made, "anna")))

    record = changed(ChangeAction.EDITED, made, after, "bob")
    assert store.change(made, cursor(made), after, cursor(after), record=record)
    late = changed(ChangeAction.EDITED, made, replace(after, name="y", updated_at=NOON + 2), "carl")
    assert not store.change(made, cursor(made), replace(after, name="y"), cursor(after), record=late)
    assert not store.delete(made, deleted_at=NOON + 3, record=deleted(made, "carl", NOON + 3))
    assert not store.create(
        made, cursor(made), CreationTerms(record=created(replace(made, created_at=NOON + 4), "carl"))
    )

    assert actions(store) == [("edited", "bob"), ("created", "anna")]


def test_a_creation_that_the_quota_refuses_leaves_no_record(store: DynamoJobStore) -> None:
    first, made = job(id="first", revision=1), job(id="nightly", revision=1)
    assert store.create(first, cursor(first), CreationTerms(quota=1))
    with pytest.raises(JobQuotaError):
        store.create(made, cursor(made), CreationTerms(quota=1, record=created(made, "anna")))

    assert actions(store) == []


def test_the_history_outlives_the_job_and_the_job_recreated_after_it_goes_on_with_it(store: DynamoJobStore) -> None:
    made = job(id="nightly", revision=1)
    again = replace(made, created_at=NOON + 9, generation=made.generation + 9, created_generation=made.generation + 9)
    assert store.create(made, cursor(made), CreationTerms(record=created(made, "anna")))
    assert store.delete(made, deleted_at=NOON + 5, record=deleted(made, "bob", NOON + 5))
    assert store.create(again, cursor(again), CreationTerms(record=created(again, "carl")))

    assert actions(store) == [("created", "carl"), ("deleted", "bob"), ("created", "anna")]


def test_the_history_is_read_page_by_page_newest_first(store: DynamoJobStore) -> None:
    store.note([cancelled(number, NOON + number) for number in range(60)])

    seen: list[str] = []
    before = None
    while True:
        page = store.history(*JOB, limit=25, before=before)
        seen += [record.key for record in page.items]
        before = page.following
        if before is None:
            break
    assert seen == [f"nonce-{number}" for number in reversed(range(60))]


def test_a_page_that_ends_with_the_last_record_has_no_next(store: DynamoJobStore) -> None:
    store.note([cancelled(number) for number in range(3)])

    assert store.history(*JOB, limit=3, before=None).following is None


def test_a_repeated_request_is_one_record(store: DynamoJobStore) -> None:
    store.note([cancelled(1)])
    store.note([cancelled(1)])

    assert len(actions(store)) == 1


def test_records_are_of_one_job_of_one_tenant(store: DynamoJobStore) -> None:
    store.note([cancelled(1), replace(cancelled(2), tenant="acme"), replace(cancelled(3), job_id="nightly-2")])

    assert [record.key for record in store.history(*JOB, limit=9, before=None).items] == ["nonce-1"]


def test_a_record_is_removed_in_time_and_stands_in_no_index(dynamodb_tables: Tables) -> None:
    dynamodb_tables.job_store(SettableClock(NOON)).note([cancelled(1)])

    (item,) = dynamodb_tables.client.scan(TableName=dynamodb_tables.jobs)["Items"]
    assert int(item["expires_at"]["N"]) == NOON + KEPT_DAYS * 86_400
    assert not {"tenant", "slot"} & item.keys()
