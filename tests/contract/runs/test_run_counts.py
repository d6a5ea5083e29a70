"""The counts of a tenant's runs by hour, on every emulator of DynamoDB and in memory."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from duecourse.domain.runs.counts import KEPT_SECONDS, Hours, RunCount, hour_of
from duecourse.stores.keys import RATE, tenant_key
from duecourse.stores.run_counts import RunCountStore
from duecourse.stores.table import Put, Table
from duecourse.testing.stores import Stores
from tests.support.jobs import NOON
from tests.support.tables import Tables

HOUR = 3600
FIRST = hour_of(NOON)


@pytest.fixture
def store(any_tables: Stores) -> RunCountStore:
    return any_tables.run_counts()


def counts(**found: int) -> Mapping[RunCount, int]:
    """All counts of an hour."""
    return {kind: found.get(kind.value, 0) for kind in RunCount}


def test_run_counts_are_added_to_those_of_their_hour(store: RunCountStore) -> None:
    store.add("acme", FIRST, {RunCount.SUCCEEDED: 2})
    store.add("acme", FIRST, {RunCount.SUCCEEDED: 3, RunCount.DEAD: 1})
    store.add("acme", FIRST + HOUR, {RunCount.RETRIED: 4})
    store.add("other", FIRST, {RunCount.SKIPPED: 9})
    found = store.read("acme", Hours(FIRST, FIRST + 2 * HOUR))
    assert found == {FIRST: counts(succeeded=5, dead=1), FIRST + HOUR: counts(retried=4)}


def test_run_counts_read_has_the_last_earlier_hour_with_counts(store: RunCountStore) -> None:
    for hours in (0, 1, 5, 6, 7):
        store.add("acme", FIRST + hours * HOUR, {RunCount.DEAD: 1})
    found = store.read("acme", Hours(FIRST + 5 * HOUR, FIRST + 7 * HOUR))
    assert [*found] == [FIRST + 6 * HOUR, FIRST + 5 * HOUR, FIRST + HOUR]
    assert store.read("acme", Hours(FIRST, FIRST)) == {}
    assert store.read("acme", Hours(FIRST - 3 * HOUR, FIRST)) == {}


def test_run_counts_added_concurrently_are_all_kept(dynamodb_tables: Tables) -> None:
    store = dynamodb_tables.run_counts()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: store.add("acme", FIRST, {RunCount.SUCCEEDED: 1}), range(40)))
    assert store.read("acme", Hours(FIRST, FIRST + HOUR)) == {FIRST: counts(succeeded=40)}


def test_run_counts_expire(any_tables: Stores) -> None:
    any_tables.run_counts().add("acme", FIRST, {RunCount.SUCCEEDED: 1})
    item = any_tables.both().get(Table.JOBS, tenant_key("acme", "RAN#2026-11-21T12"))
    assert item is not None
    assert item["expires_at"] == {"N": str(FIRST + KEPT_SECONDS)}


@pytest.mark.parametrize("state", ["erased", "suspended"])
def test_run_counts_store_knows_whether_a_tenant_was_erased(any_tables: Stores, state: str) -> None:
    store = any_tables.run_counts()
    assert not store.is_erased("acme")
    closed = {"closed": {"S": state}, "closed_at": {"N": str(NOON)}}
    any_tables.both().write(Put(Table.JOBS, tenant_key("acme", RATE) | closed))
    assert store.is_erased("acme") is (state == "erased")
