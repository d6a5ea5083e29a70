"""Several new jobs in one transaction, on every emulator that executes conditions rightly."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from duecourse.adapters.system import SystemClock
from duecourse.domain.jobs.job import Job, Lane
from duecourse.domain.tenants.seats import Seats
from duecourse.ports import Creation, CreationTerms, JobQuotaError, NoAnswerError, Refusal, SeatsChangedError, UsedKey
from duecourse.stores.jobs import JobStore
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import after, around, before
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables


def creation(of: Job, **terms: Any) -> Creation:
    return Creation(of, cursor(of), CreationTerms(now=NOON, **terms))


def jobs(count: int, **changes: Any) -> list[Job]:
    return [job(id=f"job-{number}", **changes) for number in range(count)]


def written(store: JobStore, *of: Job) -> dict[str, Any]:
    return dict(store.get_all("default", [each.id for each in of]))


def used(digest: str, job_id: str) -> UsedKey:
    return UsedKey(digest, "request", job_id, int(NOON) + 100)


def test_job_batches_group_is_written_with_all_related_items(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    large, tagged = job(id="a", payload="x" * 5_000), job(id="b", tags=("t", "u"))
    plain = job(id="c", seated=False, created_by="anna")
    seats = store.seats.seats("default", Lane.NORMAL).given_to("a").given_to("b")
    group = [creation(each, key=used(each.id, each.id)) for each in (large, tagged, plain)]
    assert store.create_all(group, [seats]) == {}
    assert written(store, large, tagged, plain) == {each.id: (each, cursor(each)) for each in (large, tagged, plain)}
    assert store.seats.seats("default", Lane.NORMAL).holders == ("a", "b")
    assert store.used_keys("default", "abcd", now=NOON) == {each: used(each, each) for each in "abc"}
    assert store.tagged("default", "t", ["a", "b", "c"]) == {"b"}
    (record,) = store.history("default", "c", limit=10, before=None).items
    assert record.principal == "anna"
    assert any_tables.limits().jobs("default") == 3


def test_job_batches_group_with_a_refused_job_is_not_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    taken, keyed, deleted, fine = jobs(4)
    for each in (taken, deleted):
        assert store.create(each, cursor(each))
    assert store.create(job(id="other"), cursor(job(id="other")), CreationTerms(now=NOON, key=used("k", "other")))
    assert store.delete(deleted, deleted_at=NOON)
    gone = store.gone_among("default", [each.id for each in (taken, deleted, fine)])
    assert gone == {deleted.id: store.gone("default", deleted.id)}
    assert store.create(deleted, cursor(deleted))
    assert store.delete(deleted, deleted_at=NOON + 1)
    group = [
        creation(taken),
        creation(keyed, key=used("k", keyed.id)),
        creation(deleted, after=gone[deleted.id]),
        creation(fine),
    ]
    assert store.create_all(group) == {0: Refusal.TAKEN, 1: Refusal.KEY_USED, 2: Refusal.BUSY}
    assert (store.get("default", keyed.id), store.get("default", fine.id)) == (None, None)
    assert any_tables.limits().jobs("default") == 2
    assert store.create_all(group[3:]) == {}


def test_job_batches_used_idempotency_key_takes_precedence_over_a_taken_id(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    (made,) = jobs(1)
    group = [creation(made, key=used("k", made.id), quota=1)]
    assert store.create_all(group) == {}
    assert store.create_all(group) == {0: Refusal.KEY_USED}
    assert store.create_all([creation(made, quota=1)]) == {0: Refusal.TAKEN}


def test_job_batches_changed_seats_prevent_writing_seats_and_jobs(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    first, second, third = jobs(3)
    seats = store.seats.seats("default", Lane.NORMAL)
    assert store.create_all([creation(first)], [seats.given_to(first.id)]) == {}
    with pytest.raises(SeatsChangedError):
        store.create_all([creation(second), creation(third)], [seats.given_to(second.id)])
    assert written(store, second, third) == {}
    others = [Seats("default", Lane.HIGH).given_to("x"), Seats("default", Lane.LOW).given_to("y")]
    assert store.create_all([creation(second), creation(third)], others) == {}
    assert store.seats.seats("default", Lane.LOW).holders == ("y",)


def filled(store: JobStore, waiting: list[Creation]) -> int:
    """How many jobs could be written, in groups as large as there are places for."""
    made, left = 0, len(waiting)
    while left:
        try:
            assert store.create_all(waiting[made : made + left]) == {}
        except JobQuotaError as full:
            assert full.left < left
            left = full.left
        else:
            made += left
            left = len(waiting) - made
    return made


@pytest.mark.parametrize("early", [0, 3])
def test_job_batches_group_takes_quota_places_or_reports_how_many_are_left(any_tables: Tables, early: int) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    for number in range(early):
        first = job(id=f"early-{number}")
        assert store.create(first, cursor(first), CreationTerms(quota=10))
    assert filled(store, [creation(each, quota=10) for each in jobs(11)]) == 10 - early
    assert any_tables.limits().jobs("default") == 10


def test_job_batches_groups_find_released_quota_places(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    group = jobs(30)
    assert store.create_all([creation(each, quota=30) for each in group]) == {}
    for each in group[:20]:
        assert store.delete(each, deleted_at=NOON)
    assert any_tables.limits().jobs("default") == 10
    assert filled(store, [creation(job(id=f"more-{number}"), quota=30) for number in range(25)]) == 20
    assert any_tables.limits().jobs("default") == 30


def test_job_batches_concurrent_groups_and_single_jobs_never_exceed_the_quota(any_tables: Tables) -> None:
    store = any_tables.job_store(SystemClock())

    def create(number: int) -> int:
        group = [creation(job(id=f"{number}-{each}"), quota=20) for each in range(1 + number % 4)]
        while group:
            try:
                store.create_all(group)
            except JobQuotaError as full:
                group = group[: full.left]
            else:
                return len(group)
        return 0

    with ThreadPoolExecutor(6) as pool:
        made = sum(pool.map(create, range(18)))
    assert any_tables.limits().jobs("default") == made <= 20
    assert made >= 17, "what is left of the quota is less than the largest group"


def lost() -> None:
    raise NoAnswerError("TransactWriteItems: timed out")


def test_job_batches_group_with_lost_response_is_read_back(dynamodb_tables: Tables) -> None:
    client = around(dynamodb_tables.client, transact_write_items=after(lost))
    store = replace(dynamodb_tables, client=client).job_store(SettableClock(NOON))
    group = jobs(3)
    assert store.create_all([creation(each) for each in group]) == {}
    assert written(store, *group).keys() == {each.id for each in group}


def test_job_batches_unwritten_group_raises_its_error(dynamodb_tables: Tables) -> None:
    client = around(dynamodb_tables.client, transact_write_items=before(lost))
    store = replace(dynamodb_tables, client=client).job_store(SettableClock(NOON))
    with pytest.raises(NoAnswerError):
        store.create_all([creation(each) for each in jobs(3)])
    assert written(store, *jobs(3)) == {}
