"""Each instance takes a handful of tokens and spends it; who asks too often costs the table nothing."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.bucket import MAX_DEBT_SECONDS, Bucket, BucketRules
from duecourse.testing.clock import SettableClock
from duecourse.usecases.jobs.limits import LEASE_SECONDS, REMEMBERED, Limits
from tests.support.limits import MemoryLimits

NOON = 1_800_000_000.0


def limits(store: MemoryLimits, clock: SettableClock, *, rate: int = 10, burst: int = 100) -> Limits:
    return Limits(store, clock, BucketRules(rate, burst))


def admitted(instance: Limits, tenant: str = "acme", *, requests: int) -> int:
    """How many of so many requests in one instant are let in."""
    return sum(instance.admit(tenant) is None for _ in range(requests))


def test_twenty_requests_cost_one_write() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    assert admitted(limits(store, clock), requests=20) == 20
    assert (store.reads, store.writes) == (0, 1)


def test_a_tenant_gets_its_burst_and_then_its_rate() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert admitted(instance, requests=1_000) == 100
    let_in = 0
    for _ in range(60):
        clock.advance(1)
        let_in += admitted(instance, requests=100)
    assert 590 <= let_in <= 600


def test_who_is_refused_is_told_when_to_come_again_and_costs_the_table_nothing() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    admitted(instance, requests=101)
    writes = store.writes
    assert instance.admit("acme") == 1.0
    assert admitted(instance, requests=10_000) == 0
    assert (store.reads, store.writes) == (0, writes)
    clock.advance(1)
    assert instance.admit("acme") is None


def test_a_flood_by_one_tenant_takes_nothing_from_another() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instances = [limits(store, clock) for _ in range(10)]
    quiet: list[float | None] = []
    for _ in range(300):
        for instance in instances:
            admitted(instance, "noisy", requests=50)
        quiet.append(instances[len(quiet) % 10].admit("quiet"))
        clock.advance(0.2)
    assert quiet == [None] * 300


def test_tokens_that_were_not_spent_in_time_are_lost() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    instance.admit("acme")
    clock.advance(LEASE_SECONDS)
    instance.admit("acme")
    assert store.writes == 2


def test_many_instances_that_each_ask_now_and_then_do_not_empty_the_bucket_between_them() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instances = [limits(store, clock) for _ in range(30)]
    refused = 0
    for number in range(1_200):  # 5 a second, of 10 that are allowed: each instance asks every six seconds
        refused += instances[number % 30].admit("acme") is not None
        clock.advance(0.2)
    assert refused == 0


def test_an_instance_that_is_behind_the_others_looks_again() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    first, second = limits(store, clock), limits(store, clock)
    assert admitted(first, requests=20) == 20
    assert admitted(second, requests=20) == 20
    assert admitted(first, requests=1_000) + admitted(second, requests=1_000) == 60


def test_what_somebody_else_took_last_is_seen_where_the_write_fails() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    admitted(instance, requests=20)
    store.buckets["acme"] = Bucket(0.0, NOON)
    assert instance.admit("acme") == 1.0


def test_an_instance_in_the_thick_of_it_refuses_rather_than_trying_for_ever() -> None:
    class Contended(MemoryLimits):
        def write_bucket(self, tenant: str, bucket: Bucket, previous: Bucket | None):  # type: ignore[no-untyped-def]
            self.buckets[tenant] = Bucket(50.0 + self.writes, NOON)
            return super().write_bucket(tenant, bucket, previous)

    store = Contended()
    assert limits(store, SettableClock(NOON)).admit("acme") == 1.0
    assert store.writes == 5


def test_what_is_left_is_what_the_table_says() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.left("acme") == 100
    instance.admit("acme")
    assert instance.left("acme") == 80


def test_an_instance_remembers_no_more_than_so_many_tenants() -> None:
    instance = limits(MemoryLimits(), SettableClock(NOON))
    for number in range(REMEMBERED + 50):
        instance.admit(f"tenant-{number}")
    assert len(instance._leases) == REMEMBERED


def test_a_clock_that_was_an_hour_ahead_locks_nobody_out_once_it_is_set_right() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON + 3600)
    wrong = limits(store, clock)
    admitted(wrong, requests=1_000)
    clock.set(NOON)
    for instance in (wrong, limits(store, clock)):
        assert instance.admit("acme") is None


def test_work_is_paid_by_its_number_and_what_the_bucket_lacks_is_owed() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.charge("acme", 250) is None
    assert store.buckets["acme"].tokens == -150

    assert instance.admit("acme") == pytest.approx(15.1)
    assert instance.charge("acme", 1) == pytest.approx(15.0)
    clock.advance(15.2)
    assert instance.admit("acme") is None


def test_a_debt_is_never_more_than_a_minute_of_the_rate() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.charge("acme", 1_000_000) is None

    assert instance.admit("acme") == pytest.approx(MAX_DEBT_SECONDS + 0.1)


def test_what_was_taken_before_is_of_no_use_to_who_owes() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert admitted(instance, requests=1) == 1
    assert instance.charge("acme", 200) is None

    assert admitted(instance, requests=5) == 0


def test_work_within_the_bucket_leaves_the_rest_of_it() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.charge("acme", 60) is None

    assert instance.left("acme") == 40
    assert instance.charge("acme", 0) is None
    assert store.writes == 1


def test_who_owes_has_nothing_left_rather_than_less() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    assert limits(store, clock).charge("acme", 500) is None
    assert limits(store, clock).left("acme") == 0


def test_another_instance_sees_the_debt_too() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    one, two = limits(store, clock), limits(store, clock)
    assert one.charge("acme", 500) is None

    assert two.charge("acme", 1) is not None
    assert two.charge("other", 1) is None
