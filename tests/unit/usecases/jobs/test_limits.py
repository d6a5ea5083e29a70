"""Each instance takes a handful of tokens and spends it; who asks too often costs the table nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition

import pytest

from duecourse.domain.tenants.rate import MAX_DEBT_SECONDS, Bucket, BucketChange, BucketRules, tokens_left
from duecourse.ports import BucketConflict
from duecourse.testing.clock import SettableClock
from duecourse.usecases.tenants import LEASE_SECONDS, REMEMBERED, Limits
from tests.support.limits import MemoryLimits

NOON = 1_800_000_000.0


def limits(store: MemoryLimits, clock: SettableClock, *, rate: int = 10, burst: int = 100) -> Limits:
    return Limits(store, clock, BucketRules(rate, burst))


def admitted(instance: Limits, tenant: str = "acme", *, requests: int) -> int:
    """How many of so many requests in one instant are let in."""
    return sum(instance.admit(tenant) is None for _ in range(requests))


def test_rate_limit_takes_one_write_for_twenty_requests() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    assert admitted(limits(store, clock), requests=20) == 20
    assert (store.reads, store.writes) == (0, 1)


def test_rate_limit_of_a_slow_bucket_loses_no_tokens_to_cold_instances() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instances = [limits(store, clock, rate=1, burst=60) for _ in range(10)]
    assert [instance.admit("acme") for instance in instances] == [None] * 10
    assert admitted(limits(store, clock, rate=1, burst=60), requests=100) == 50


def test_rate_limit_admits_the_burst_of_a_tenant_and_then_its_rate() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert admitted(instance, requests=1_000) == 100
    let_in = 0
    for _ in range(60):
        clock.advance(1)
        let_in += admitted(instance, requests=100)
    assert 590 <= let_in <= 600


def test_rate_limit_refuses_a_request_with_the_retry_time_and_without_table_access() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    admitted(instance, requests=101)
    writes = store.writes
    assert instance.admit("acme") == 1.0
    assert admitted(instance, requests=10_000) == 0
    assert (store.reads, store.writes) == (0, writes)
    clock.advance(1)
    assert instance.admit("acme") is None


def test_rate_limit_protects_a_tenant_from_a_flood_by_another() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instances = [limits(store, clock) for _ in range(10)]
    quiet: list[float | None] = []
    for _ in range(300):
        for instance in instances:
            admitted(instance, "noisy", requests=50)
        quiet.append(instances[len(quiet) % 10].admit("quiet"))
        clock.advance(0.2)
    assert quiet == [None] * 300


def test_rate_limit_discards_tokens_not_spent_in_time() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    instance.admit("acme")
    clock.advance(LEASE_SECONDS)
    instance.admit("acme")
    assert store.writes == 2


def test_rate_limit_is_not_exhausted_by_many_instances_with_few_requests_each() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instances = [limits(store, clock) for _ in range(30)]
    refused = 0
    for number in range(1_200):  # 5 a second, of 10 that are allowed: each instance asks every six seconds
        refused += instances[number % 30].admit("acme") is not None
        clock.advance(0.2)
    assert refused == 0


def test_rate_limit_instance_with_an_outdated_bucket_reads_it_again() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    first, second = limits(store, clock), limits(store, clock)
    assert admitted(first, requests=20) == 20
    assert admitted(second, requests=20) == 20
    assert admitted(first, requests=1_000) + admitted(second, requests=1_000) == 60


def test_rate_limit_instance_sees_tokens_taken_by_another_one_when_its_write_fails() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    admitted(instance, requests=20)
    other = limits(store, clock)
    assert admitted(other, requests=80) == 80
    assert instance.admit("acme") == 1.0


def test_rate_limit_instance_refuses_after_five_conflicting_writes() -> None:
    class Contended(MemoryLimits):
        def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
            self.writes += 1
            return BucketConflict(Bucket(change.low + self.writes, change.low))

    store = Contended()
    assert limits(store, SettableClock(NOON)).admit("acme") == 1.0
    assert store.writes == 5


class Lockstep(MemoryLimits):
    """A table whose writers wait for each other: each has decided on its write before any of them is executed."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = Condition()
        self._active = self._waiting = self._round = 0

    @contextmanager
    def taking_part(self) -> Iterator[None]:
        """One instance's request. All instances of a test begin before the first of them writes."""
        try:
            yield
        finally:
            with self._changed:
                self._active -= 1
                self._release()

    def expect(self, instances: int) -> None:
        self._active = instances

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        with self._changed:
            self._waiting += 1
            mine = self._round
            self._release()
            self._changed.wait_for(lambda: self._round > mine)
            return super().change_bucket(tenant, change)

    def _release(self) -> None:
        if self._waiting == self._active:
            self._waiting, self._round = 0, self._round + 1
            self._changed.notify_all()


def at_once(store: Lockstep, instances: list[Limits]) -> int:
    """How many of the requests are admitted that arrive at the same moment, one at each instance."""

    def request(instance: Limits) -> bool:
        with store.taking_part():
            return instance.admit("acme") is None

    store.expect(len(instances))
    with ThreadPoolExecutor(len(instances)) as threads:
        return sum(threads.map(request, instances))


@pytest.mark.parametrize(("rate", "burst"), [(20, 40), (50, 100), (1_000, 2_000)])
def test_rate_limit_admits_forty_simultaneous_requests_on_an_idle_stage_with_at_most_two_writes_each(
    rate: int, burst: int
) -> None:
    store, clock = Lockstep(), SettableClock(NOON)
    instances = [limits(store, clock, rate=rate, burst=burst) for _ in range(40)]
    for _ in range(3):
        store.writes = 0
        assert at_once(store, instances) == 40
        assert store.writes <= 79
        clock.advance(10)


def test_rate_limit_admits_immediately_repeated_simultaneous_requests_while_tokens_remain() -> None:
    store, clock = Lockstep(), SettableClock(NOON)
    instances = [limits(store, clock, rate=50, burst=100) for _ in range(40)]
    assert [at_once(store, instances) for _ in range(2)] == [40, 40]


def test_rate_limit_refuses_simultaneous_requests_beyond_the_burst() -> None:
    store, clock = Lockstep(), SettableClock(NOON)
    assert at_once(store, [limits(store, clock, burst=40) for _ in range(50)]) == 40


def test_rate_limit_lets_busy_instances_share_the_bucket_to_the_last_token() -> None:
    store, clock = Lockstep(), SettableClock(NOON)
    instances = [limits(store, clock, burst=100) for _ in range(10)]
    assert sum(at_once(store, instances) for _ in range(20)) == 100


def test_rate_limit_reports_the_remaining_tokens_of_the_table() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.left("acme") == 100
    instance.admit("acme")
    assert instance.left("acme") == 80


def test_rate_limit_instance_caches_a_limited_number_of_tenants() -> None:
    instance = limits(MemoryLimits(), SettableClock(NOON))
    for number in range(REMEMBERED + 50):
        instance.admit(f"tenant-{number}")
    assert len(instance._leases) == REMEMBERED


def test_rate_limit_recovers_after_a_clock_one_hour_ahead_is_corrected() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON + 3600)
    wrong = limits(store, clock)
    admitted(wrong, requests=1_000)
    clock.set(NOON)
    for instance in (wrong, limits(store, clock)):
        assert instance.admit("acme") is None


@pytest.mark.parametrize("skew", [-8.0, -4.0, 4.0, 8.0])
@pytest.mark.parametrize("alternating", [True, False], ids=["alternating", "after_one_request"])
def test_rate_limit_admits_requests_below_the_limit_by_instances_with_different_clocks(
    skew: float, *, alternating: bool
) -> None:
    store, clocks = MemoryLimits(), [SettableClock(NOON), SettableClock(NOON + skew)]
    instances = [limits(store, clock, rate=50, burst=100) for clock in clocks]
    refused = 0
    for number in range(900):  # 45 requests a second for 20 s
        refused += instances[number % 2 if alternating else min(number, 1)].admit("acme") is not None
        for clock in clocks:
            clock.advance(1 / 45)
    assert refused == 0


def test_rate_limit_instance_learns_from_its_writes_that_another_clock_is_ahead() -> None:
    store, clocks = MemoryLimits(), [SettableClock(NOON), SettableClock(NOON - 1)]
    ahead, behind = (limits(store, clock, rate=50, burst=100) for clock in clocks)
    assert behind.charge("acme", 1) is None
    assert ahead.charge("acme", 20) is None
    writes = store.writes
    # By its own clock, the instance behind sees 30 tokens left; there are 80.
    assert [behind.charge("acme", 10) for _ in range(8)] == [None] * 8
    assert store.writes - writes == 8


@pytest.mark.parametrize("skew", [-4.0, 4.0])
def test_rate_limit_debt_ends_at_the_same_time_for_instances_with_different_clocks(skew: float) -> None:
    store, clocks = MemoryLimits(), [SettableClock(NOON), SettableClock(NOON + skew)]
    one, two = (limits(store, clock) for clock in clocks)
    assert one.charge("acme", 250) is None
    if skew < 0:
        assert two.charge("acme", 1) == pytest.approx(15.0)
        assert two.left("acme") == 0
    for clock in clocks:
        clock.advance(15.2)
    assert two.charge("acme", 1) is None
    assert one.charge("acme", 1) is None


@pytest.mark.parametrize("skew", [-4.0, -8.0])
def test_rate_limit_computes_remaining_tokens_by_the_clock_that_is_ahead(skew: float) -> None:
    store = MemoryLimits()
    assert limits(store, SettableClock(NOON)).charge("acme", 60) is None
    assert limits(store, SettableClock(NOON + skew)).left("acme") == 40


def test_rate_limit_charges_work_by_its_amount_and_records_the_missing_tokens_as_debt() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.charge("acme", 250) is None
    assert tokens_left(store.buckets["acme"], BucketRules(10, 100), NOON) == -150
    assert instance.admit("acme") == pytest.approx(15.1)
    assert instance.charge("acme", 1) == pytest.approx(15.0)
    clock.advance(15.2)
    assert instance.admit("acme") is None


def test_rate_limit_limits_debt_to_one_minute_of_the_rate() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.charge("acme", 1_000_000) is None
    assert instance.admit("acme") == pytest.approx(MAX_DEBT_SECONDS + 0.1)


def test_rate_limit_ignores_tokens_taken_earlier_during_a_debt() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert admitted(instance, requests=1) == 1
    assert instance.charge("acme", 200) is None
    assert admitted(instance, requests=5) == 0


def test_rate_limit_leaves_the_remaining_tokens_after_work_within_the_bucket() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    instance = limits(store, clock)
    assert instance.charge("acme", 60) is None
    assert instance.left("acme") == 40
    assert instance.charge("acme", 0) is None
    assert store.writes == 1


def test_rate_limit_reports_zero_remaining_tokens_during_a_debt() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    assert limits(store, clock).charge("acme", 500) is None
    assert limits(store, clock).left("acme") == 0


def test_rate_limit_debt_applies_to_other_instances() -> None:
    store, clock = MemoryLimits(), SettableClock(NOON)
    one, two = limits(store, clock), limits(store, clock)
    assert one.charge("acme", 500) is None
    assert two.charge("acme", 1) is not None
    assert two.charge("other", 1) is None
