"""A tenant's token bucket and counters, on every emulator of DynamoDB that is right about conditions."""

from __future__ import annotations

import pytest

from duecourse.adapters.dynamodb.keys import key
from duecourse.domain.jobs.bucket import Bucket, BucketRules
from duecourse.ports import BucketConflict, TenantLimits
from duecourse.testing.clock import SettableClock
from duecourse.usecases.jobs.limits import Limits
from tests.support.tables import Stores, Tables

pytestmark = pytest.mark.emulator

NOW = 1_795_262_400.123


@pytest.fixture
def store(any_tables: Stores) -> TenantLimits:
    return any_tables.limits()


@pytest.fixture
def dynamodb_store(dynamodb_tables: Tables) -> TenantLimits:
    return dynamodb_tables.limits()


def test_a_bucket_that_nobody_has_touched_is_not_there(store: TenantLimits) -> None:
    assert store.bucket("acme") is None
    assert store.jobs("acme") == 0


def test_a_bucket_is_written_once_and_then_only_over_what_was_read(store: TenantLimits) -> None:
    full, less, least = Bucket(80.0, NOW), Bucket(60.1 + 0.2, NOW + 1.7), Bucket(1e-05, NOW + 2)
    assert store.write_bucket("acme", full, None) is None
    assert store.write_bucket("acme", less, None) == BucketConflict(full)
    assert store.write_bucket("acme", less, full) is None
    assert store.write_bucket("acme", least, full) == BucketConflict(less)
    assert store.write_bucket("acme", least, less) is None
    assert store.bucket("acme") == least
    assert store.bucket("other") is None


def test_a_bucket_that_was_forgotten_meanwhile_is_told_as_gone(store: TenantLimits) -> None:
    assert store.write_bucket("acme", Bucket(5.0, NOW), Bucket(6.0, NOW)) == BucketConflict(None)


def test_an_untouched_bucket_is_cleared_away_after_a_day(dynamodb_store: TenantLimits, dynamodb_tables: Tables) -> None:
    dynamodb_store.write_bucket("acme", Bucket(5.0, NOW), None)
    item = dynamodb_tables.client.get_item(TableName=dynamodb_tables.jobs, Key=key("TENANT#acme", "BUCKET"))["Item"]
    assert int(item["expires_at"]["N"]) == int(NOW) + 86_400


def test_the_count_of_jobs_is_the_one_that_their_writes_keep(
    dynamodb_store: TenantLimits, dynamodb_tables: Tables
) -> None:
    dynamodb_tables.client.put_item(
        TableName=dynamodb_tables.jobs, Item=key("TENANT#acme", "LIMITS") | {"jobs": {"N": "17"}}
    )
    assert dynamodb_store.jobs("acme") == 17


def test_instances_share_one_bucket(store: TenantLimits) -> None:
    clock = SettableClock(NOW)
    instances = [Limits(store, clock, BucketRules(10, 60)) for _ in range(4)]
    let_in = sum(instance.admit("acme") is None for _ in range(40) for instance in instances)
    assert let_in == 60
    clock.advance(1)
    assert sum(instance.admit("acme") is None for _ in range(10) for instance in instances) == 10
