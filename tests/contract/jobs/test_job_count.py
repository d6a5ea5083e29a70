"""The quota of a tenant's jobs, counted by several items that creations side by side seldom share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from duecourse.adapters.dynamodb.jobs.tenants import PARTS, PORTION, part_of
from duecourse.adapters.dynamodb.keys import tenant_key
from duecourse.adapters.system import SystemClock
from duecourse.domain.jobs.job import Job
from duecourse.ports import CreationTerms, JobQuotaError, JobStore
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables


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
def test_exactly_as_many_jobs_as_the_quota_allows_can_be_created(any_tables: Tables, quota: int) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = [of for of in jobs(quota + 3) if create(store, of, quota)]

    assert len(made) == quota
    assert any_tables.limits().jobs("default") == quota


def test_a_place_that_is_free_anywhere_is_found(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    first, second = jobs(2)
    assert part_of(first) != part_of(second)
    assert create(store, first, 1)
    assert store.delete(first, deleted_at=NOON)

    assert create(store, second, 1)
    assert not create(store, replace(first, id="job-9"), 1)


def test_creations_of_a_tenant_seldom_write_the_same_item(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.job_store(SettableClock(NOON))
    for of in jobs(3 * PARTS):
        assert create(store, of)

    free = [taken(dynamodb_tables, f"LIMITS#{part:02}", "free") for part in range(PARTS)]
    assert sum(0 < places < PORTION for places in free) > PARTS / 2
    assert taken(dynamodb_tables) - sum(free) == 3 * PARTS


def test_a_full_stock_is_given_back_so_that_the_count_falls_too(tables: Tables) -> None:
    store = tables.job_store(SettableClock(NOON))
    same = [of for of in jobs(2_000) if part_of(of) == 3][: 3 * PORTION]
    for of in same:
        assert create(store, of)
    for of in same:
        assert store.delete(of, deleted_at=NOON)

    assert taken(tables) <= 2 * PORTION
    assert tables.limits().jobs("default") == 0


def test_creations_at_once_fill_the_quota_and_no_more(any_tables: Tables) -> None:
    store = any_tables.job_store(SystemClock())
    with ThreadPoolExecutor(6) as pool:
        made = sum(pool.map(lambda of: create(store, of, 10), jobs(18)))

    assert made == 10
    assert any_tables.limits().jobs("default") == 10
