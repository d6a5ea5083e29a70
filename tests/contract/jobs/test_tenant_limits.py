"""A tenant's bucket and its count of jobs.

- A tenant's token bucket and counters, on every emulator of DynamoDB that is right about conditions.
- The quota of a tenant's jobs, counted by several items that creations side by side seldom share.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from duecourse.adapters.system import SystemClock
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.tenants.rate import Add, Bucket, BucketRules, Restart
from duecourse.ports import BucketConflict, CreationTerms, JobQuotaError
from duecourse.stores.jobs import JobStore
from duecourse.stores.keys import key, tenant_key
from duecourse.stores.tenants import PARTS, PORTION, TenantLimits, part_of
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import Stores
from duecourse.usecases.tenants import Limits
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables

NOW = 1_795_262_400.123
AT = 1_795_262_400_123_456_789
SECOND = 1_000_000_000


@pytest.fixture
def store(any_tables: Stores) -> TenantLimits:
    return any_tables.limits()


@pytest.fixture
def dynamodb_store(dynamodb_tables: Tables) -> TenantLimits:
    return dynamodb_tables.limits()


def test_tenant_limits_unused_bucket_does_not_exist(store: TenantLimits) -> None:
    assert store.bucket("acme") is None
    assert store.jobs("acme") == 0


def test_tenant_limits_bucket_changes_only_while_its_time_is_within_the_bounds_of_the_change(
    store: TenantLimits,
) -> None:
    full, start = Bucket(AT, AT - 9 * SECOND), Restart(AT, AT - 9 * SECOND, AT + 9 * SECOND)
    assert store.change_bucket("acme", start) == full
    assert store.change_bucket("acme", start) == BucketConflict(full)
    assert store.change_bucket("acme", Add(2 * SECOND, AT, AT + SECOND)) == Bucket(AT + 2 * SECOND, AT)
    later = Bucket(AT + 2 * SECOND + 7, AT + 2 * SECOND)
    assert store.change_bucket("acme", Add(7, AT + 2 * SECOND, AT + 2 * SECOND)) == later
    assert store.change_bucket("acme", Add(7, AT, AT + SECOND)) == BucketConflict(later)
    assert store.change_bucket("acme", Restart(1, AT + 3 * SECOND, AT + 4 * SECOND)) == Bucket(1, AT + 3 * SECOND)
    assert store.change_bucket("acme", Restart(2, AT + 3 * SECOND, AT + 4 * SECOND)) == Bucket(2, AT + 3 * SECOND)
    assert store.bucket("acme") == Bucket(2, AT + 3 * SECOND)
    assert store.bucket("other") is None


def test_tenant_limits_bucket_shows_that_the_previous_writer_was_ahead(store: TenantLimits) -> None:
    store.change_bucket("acme", Restart(AT, AT, AT + SECOND))
    assert store.change_bucket("acme", Add(7, AT - SECOND, AT)) == Bucket(AT + 7, AT)
    assert store.bucket("acme") == Bucket(AT + 7, AT - SECOND)
    assert store.change_bucket("acme", Restart(1, AT - 2 * SECOND, AT)) == Bucket(1, AT - SECOND)


def test_tenant_limits_absent_bucket_cannot_be_added_to(store: TenantLimits) -> None:
    assert store.change_bucket("acme", Add(1, 0, AT)) == BucketConflict(None)


def test_tenant_limits_unused_bucket_expires_after_a_day(dynamodb_store: TenantLimits, dynamodb_tables: Tables) -> None:
    def expiry() -> int:
        item = dynamodb_tables.client.get_item(TableName=dynamodb_tables.jobs, Key=key("TENANT#acme", "RATE"))["Item"]
        return int(item["expires_at"]["N"])

    dynamodb_store.change_bucket("acme", Restart(AT, 0, 0))
    assert expiry() == AT // SECOND + 86_400
    dynamodb_store.change_bucket("acme", Add(SECOND, AT, AT))
    assert expiry() == AT // SECOND + 1 + 86_400


def test_tenant_limits_job_count_is_the_one_kept_by_job_writes(
    dynamodb_store: TenantLimits, dynamodb_tables: Tables
) -> None:
    dynamodb_tables.client.put_item(
        TableName=dynamodb_tables.jobs, Item=key("TENANT#acme", "LIMITS") | {"jobs": {"N": "17"}}
    )
    assert dynamodb_store.jobs("acme") == 17


def test_tenant_limits_instances_share_one_bucket(store: TenantLimits) -> None:
    clock = SettableClock(NOW)
    instances = [Limits(store, clock, BucketRules(10, 60)) for _ in range(4)]
    let_in = sum(instance.admit("acme") is None for _ in range(40) for instance in instances)
    assert let_in == 60
    clock.advance(1)
    assert sum(instance.admit("acme") is None for _ in range(10) for instance in instances) == 10


@pytest.mark.parametrize("known", [False, True], ids=["untouched", "used_an_hour_ago"])
@pytest.mark.parametrize(("rate", "burst"), [(20, 40), (50, 100), (1_000, 2_000)])
def test_tenant_limits_concurrent_requests_within_the_burst_are_admitted(
    store: TenantLimits, rate: int, burst: int, *, known: bool
) -> None:
    clock = SettableClock(NOW)
    if known:
        Limits(store, clock, BucketRules(rate, burst)).admit("acme")
        clock.advance(3600)
    instances = [Limits(store, clock, BucketRules(rate, burst)) for _ in range(40)]
    start = Barrier(len(instances))

    def request(instance: Limits) -> float | None:
        start.wait()
        return instance.admit("acme")

    with ThreadPoolExecutor(len(instances)) as threads:
        assert list(threads.map(request, instances)) == [None] * len(instances)


def jobs(number: int) -> list[Job]:
    return [job(id=f"job-{index}", revision=1) for index in range(number)]


def create(store: JobStore, of: Job, quota: int | None = None) -> bool:
    """False where the quota refuses it."""
    try:
        assert store.create(of, cursor(of), CreationTerms(quota=quota))
    except JobQuotaError:
        return False
    return True


def taken(tables: Tables, sort: str = "LIMITS", name: str = "jobs") -> int:
    item = tables.client.get_item(TableName=tables.jobs, Key=tenant_key("default", sort), ConsistentRead=True)
    return int(item.get("Item", {}).get(name, {"N": "0"})["N"])


@pytest.mark.parametrize("quota", [1, 3, 25])
def test_tenant_limits_exactly_as_many_jobs_as_the_quota_can_be_created(any_tables: Tables, quota: int) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    assert len([of for of in jobs(quota + 3) if create(store, of, quota)]) == quota
    assert any_tables.limits().jobs("default") == quota


def test_tenant_limits_free_place_in_any_part_is_found(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    first, second = jobs(2)
    assert part_of(first) != part_of(second)
    assert create(store, first, 1)
    assert store.delete(first, deleted_at=NOON)
    assert create(store, second, 1)
    assert not create(store, replace(first, id="job-9"), 1)


def test_tenant_limits_creations_of_a_tenant_rarely_write_the_same_item(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for of in jobs(3 * PARTS):
        assert create(store, of)
    free = [taken(dynamodb_tables, f"LIMITS#{part:02}", "free") for part in range(PARTS)]
    assert sum(0 < places < PORTION for places in free) > PARTS / 2
    assert taken(dynamodb_tables) - sum(free) == 3 * PARTS


def test_tenant_limits_surplus_places_are_returned_so_that_the_count_falls(tables: Tables) -> None:
    store = tables.job_store(SettableClock(NOON))
    same = [of for of in jobs(2_000) if part_of(of) == 3][: 3 * PORTION]
    for of in same:
        assert create(store, of)
    for of in same:
        assert store.delete(of, deleted_at=NOON)
    assert taken(tables) <= 2 * PORTION
    assert tables.limits().jobs("default") == 0


def test_tenant_limits_ended_job_returns_its_place_once(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    first, second, third = jobs(3)
    assert create(store, first, 1)
    assert not create(store, second, 1)
    assert store.complete(first, at=NOON + 1)
    assert not store.complete(first, at=NOON + 2)
    assert any_tables.limits().jobs("default") == 0
    assert create(store, second, 1)
    ended = store.get("default", first.id)
    assert ended is not None
    assert store.delete(ended, deleted_at=NOON + 3)
    assert any_tables.limits().jobs("default") == 1
    assert not create(store, third, 1)


def test_tenant_limits_reactivated_job_takes_a_place_again(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    first, second = jobs(2)
    assert create(store, first, 1)
    assert store.complete(first, at=NOON + 1)
    assert create(store, second, 1)
    ended = store.get("default", first.id)
    again = replace(ended, state=JobState.ACTIVE, revision=ended.revision + 1)
    with pytest.raises(JobQuotaError):
        store.change(ended, cursor(first), again, cursor(first), quota=1)
    assert store.get("default", first.id) == ended
    assert store.delete(second, deleted_at=NOON + 2)
    assert store.change(ended, cursor(first), again, cursor(first), quota=1)
    assert not store.change(ended, cursor(first), again, cursor(first), quota=1)
    assert any_tables.limits().jobs("default") == 1


def test_tenant_limits_many_ended_jobs_leave_no_place_taken(tables: Tables) -> None:
    store = tables.job_store(SettableClock(NOON))
    same = [of for of in jobs(2_000) if part_of(of) == 3][: 3 * PORTION]
    for of in same:
        assert create(store, of)
    for of in same:
        assert store.complete(of, at=NOON)
    assert taken(tables) <= 2 * PORTION
    assert tables.limits().jobs("default") == 0


def test_tenant_limits_concurrent_creations_never_exceed_the_quota(any_tables: Tables) -> None:
    store = any_tables.job_store(SystemClock())
    with ThreadPoolExecutor(6) as pool:
        made = sum(pool.map(lambda of: create(store, of, 10), jobs(18)))
    assert made == 10
    assert any_tables.limits().jobs("default") == 10


def test_tenant_limits_delayed_runs_are_counted_by_tenant_and_hour(any_tables: Tables) -> None:
    limits, hour = any_tables.limits(), "2026-11-21T14"
    assert limits.delayed("acme", hour) == 0
    limits.count_delayed("acme", hour, 20, expires_at=int(NOON))
    limits.count_delayed("acme", hour, 1, expires_at=int(NOON) + 99)
    assert limits.delayed("acme", hour) == 21
    assert limits.delayed("acme", "2026-11-21T15") == limits.delayed("other", hour) == 0
