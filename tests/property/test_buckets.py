"""However many instances take from a bucket, and in whatever order their reads and writes fall, it gives no more than
its rate allows; their clocks may differ.
"""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.tenants.rate import Bucket, BucketChange, BucketRules, changed, take
from duecourse.ports import BucketConflict
from duecourse.testing.clock import SettableClock
from duecourse.usecases.tenants import LEASE_SECONDS, Limits
from tests.support.limits import MemoryLimits

START = 1_800_000_000.0
RULES = st.builds(BucketRules, rate=st.sampled_from([0.1, 1, 7, 50]), burst=st.integers(1, 120))
ROUNDING = 1e-3
"""Instants of today have a resolution of a quarter of a microsecond."""


@given(RULES, st.lists(st.tuples(st.integers(0, 4), st.floats(0, 3), st.booleans(), st.integers(0, 99)), max_size=120))
def test_token_bucket_grants_no_more_than_rate_and_burst(
    rules: BucketRules, steps: list[tuple[int, float, bool, int]]
) -> None:
    """Each step: who acts, how long after the one before, whether it reads or writes its plan, how many it wants."""
    stored: Bucket | None = None
    planned: dict[int, tuple[BucketChange, int]] = {}
    now, given_out = START, 0
    for who, later, reads, wanted in steps:
        now += later
        if reads or who not in planned:
            taken = take(stored, rules, now, wanted=wanted)
            if taken.change is not None:
                planned[who] = (taken.change, taken.granted)
        else:
            change, granted = planned.pop(who)
            written = changed(stored, change)
            if written is not None:
                stored, given_out = written, given_out + granted
        assert given_out <= rules.rate * (now - START) + rules.burst + ROUNDING


class Meddled(MemoryLimits):
    """A table in which somebody else takes tokens just before a write, where `meddle` says so."""

    meddle: Callable[[], None] | None = None

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        meddle, self.meddle = self.meddle, None
        if meddle is not None:
            meddle()
        return super().change_bucket(tenant, change)


@given(
    RULES,
    st.lists(st.integers(-5, 5), min_size=4, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 2), st.integers(0, 3)), max_size=150),
)
def test_token_bucket_instances_admit_no_more_than_the_tokens_taken_in_time(
    rules: BucketRules, skews: list[int], steps: list[tuple[int, float, int]]
) -> None:
    """Each step: whose request, how long after the one before, and who takes tokens between its look and its write."""
    store = Meddled()
    clocks = [SettableClock(START + skew) for skew in skews]
    instances = [Limits(store, clock, rules) for clock in clocks]
    passed, let_in = 0.0, 0
    for who, later, between in steps:
        passed += later
        for clock in clocks:
            clock.advance(later)
        others: list[bool] = []
        if between != who:
            store.meddle = lambda other=between, said=others: said.append(instances[other].admit("acme") is None)
        let_in += instances[who].admit("acme") is None
        store.meddle = None
        let_in += sum(others)
        # What is taken may be spent LEASE_SECONDS later; the fastest clock is ahead of the slowest by `skew`.
        skew = max(skews) - min(skews)
        assert let_in <= rules.rate * (passed + LEASE_SECONDS + skew) + rules.burst + ROUNDING


@given(
    RULES,
    st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 4)), max_size=15),
)
def test_token_bucket_overloaded_instances_with_clock_skew_admit_no_more_than_burst_and_rate(
    rules: BucketRules, skews: list[float], steps: list[tuple[int, float]]
) -> None:
    """Each step: the instance that gets requests until it refuses one, and how long after the step before."""
    store = MemoryLimits()
    clocks = [SettableClock(START + skew) for skew in skews]
    instances = [Limits(store, clock, rules) for clock in clocks]
    passed, admitted = 0.0, 0
    for who, later in steps:
        passed += later
        for clock in clocks:
            clock.advance(later)
        while instances[who].admit("acme") is None:
            admitted += 1
            assert admitted <= rules.rate * (passed + max(skews) - min(skews)) + rules.burst + ROUNDING
