"""A bucket fills at a steady rate and never beyond its burst; what is taken from it is gone."""

from __future__ import annotations

import pytest

from duecourse.domain.tenants.rate import (
    MAX_DEBT_SECONDS,
    MAX_TAKEN,
    NANOSECONDS,
    Bucket,
    BucketRules,
    ahead,
    changed,
    charge,
    retry_after,
    take,
    tokens_left,
)

NOW = 1_000_000.0
RULES = BucketRules(rate=10, burst=100)


def bucket(tokens: float, *, at: float = NOW) -> Bucket:
    """A bucket that has so many tokens at that time."""
    return Bucket(round((at + (RULES.burst - tokens) / RULES.rate) * NANOSECONDS), round(at * NANOSECONDS))


def test_a_bucket_without_a_record_is_full() -> None:
    assert tokens_left(None, RULES, NOW) == 100


def test_a_bucket_fills_with_time_and_never_beyond_its_burst() -> None:
    assert tokens_left(bucket(0), RULES, NOW + 3) == 30
    assert tokens_left(bucket(0), RULES, NOW + 3600) == 100


def test_a_bucket_written_by_a_clock_far_ahead_counts_as_full() -> None:
    assert tokens_left(bucket(0, at=NOW + 3600), RULES, NOW) == 100


@pytest.mark.parametrize(
    ("at", "seconds"), [(-1.0, 0.0), (0.0, 0.0), (4.0, 4.0), (10.0, 10.0), (10.1, 0.0), (3600.0, 0.0)]
)
def test_a_bucket_shows_how_far_its_writer_is_ahead_unless_that_clock_is_wrong(at: float, seconds: float) -> None:
    assert ahead(bucket(50, at=NOW + at), NOW) == seconds
    assert ahead(None, NOW) == 0


@pytest.mark.parametrize(("tokens", "granted"), [(99.0, 20), (80.0, 20), (40.0, 10), (7.9, 1), (1.0, 1)])
def test_a_quarter_is_taken_at_most_one_token_at_least_and_twenty_at_most(tokens: float, granted: int) -> None:
    taken = take(bucket(tokens), RULES, NOW, wanted=50)
    assert taken.granted == granted <= MAX_TAKEN
    assert taken.change is not None
    after = changed(bucket(tokens), taken.change)
    assert tokens_left(after, RULES, NOW) == pytest.approx(tokens - granted)


@pytest.mark.parametrize(("burst", "granted"), [(1, 1), (40, 1), (50, 11), (60, 15), (100, 20), (2_000, 20)])
def test_the_first_instance_takes_more_than_one_token_where_forty_requests_still_fit(burst: int, granted: int) -> None:
    assert take(None, BucketRules(10, burst), NOW, wanted=1).granted == granted
    assert burst < 40 or burst - granted >= 39


@pytest.mark.parametrize(("wanted", "granted"), [(0, 1), (1, 1), (7, 7), (30, 20)])
def test_another_instance_takes_what_it_wants(wanted: int, granted: int) -> None:
    assert take(bucket(99), RULES, NOW, wanted=wanted).granted == granted


def test_several_tokens_are_taken_while_they_are_a_quarter_although_others_took_some_meanwhile() -> None:
    taken = take(bucket(50), RULES, NOW, wanted=50)
    assert taken.granted == 12
    assert taken.change is not None
    assert changed(bucket(48), taken.change) is not None
    assert changed(bucket(47), taken.change) is None


def test_one_token_is_taken_from_the_last_one() -> None:
    taken = take(bucket(50), RULES, NOW, wanted=1)
    assert taken.change is not None
    assert changed(bucket(1), taken.change) is not None
    assert changed(bucket(0.9), taken.change) is None


def test_an_empty_bucket_grants_nothing_and_says_when_the_next_token_is_there() -> None:
    taken = take(bucket(0.5), RULES, NOW, wanted=50)
    assert (taken.change, taken.granted, taken.wait) == (None, 0, pytest.approx(0.05))
    assert take(bucket(0.5), RULES, NOW + taken.wait + 1e-6, wanted=1).granted == 1


def test_work_that_has_begun_goes_on_whatever_it_owes() -> None:
    owing = bucket(-30)
    assert charge(owing, RULES, 5, NOW).change is None
    taken = charge(owing, RULES, 5, NOW, begun=True)
    assert taken.change is not None
    written = changed(owing, taken.change)
    assert tokens_left(written, RULES, NOW) == pytest.approx(-35)


def test_work_that_has_begun_owes_a_minute_of_the_rate_at_most() -> None:
    owing = bucket(-30)
    taken = charge(owing, RULES, 1_000_000, NOW, begun=True)
    assert taken.change is not None
    written = changed(owing, taken.change)
    assert tokens_left(written, RULES, NOW) == pytest.approx(-MAX_DEBT_SECONDS * RULES.rate)
    again = charge(written, RULES, 5, NOW, begun=True)
    assert again.change is not None
    assert changed(written, again.change) == written


def test_a_charge_is_not_written_over_a_debt_that_another_instance_made() -> None:
    taken = charge(bucket(50), RULES, 80, NOW)
    assert taken.change is not None
    assert changed(bucket(-1), taken.change) is None
    assert tokens_left(changed(bucket(30), taken.change), RULES, NOW) == pytest.approx(-50)


@pytest.mark.parametrize(("wait", "seconds"), [(0.0, 1), (0.05, 1), (1.0, 1), (1.2, 2)])
def test_a_wait_is_rounded_up_to_whole_seconds(wait: float, seconds: int) -> None:
    assert retry_after(wait) == seconds
