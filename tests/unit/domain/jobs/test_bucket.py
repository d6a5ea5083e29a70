"""A bucket fills at a steady rate and never beyond its burst; what is taken from it is gone."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.bucket import MAX_TAKEN, Bucket, BucketRules, level, retry_after, take

NOW = 1_000_000.0
RULES = BucketRules(rate=10, burst=100)


def test_a_bucket_that_nobody_has_touched_is_full() -> None:
    assert level(None, RULES, NOW) == Bucket(100.0, NOW)


def test_it_fills_with_time_and_never_beyond_its_burst() -> None:
    drained = Bucket(0.0, NOW)
    assert level(drained, RULES, NOW + 3).tokens == 30
    assert level(drained, RULES, NOW + 3600).tokens == 100


def test_for_a_clock_that_is_behind_no_time_has_passed_and_the_buckets_own_is_kept() -> None:
    assert level(Bucket(5.0, NOW), RULES, NOW - 5) == Bucket(5.0, NOW)


def test_what_a_clock_far_ahead_has_left_says_nothing() -> None:
    assert level(Bucket(0.0, NOW + 3600), RULES, NOW) == Bucket(100.0, NOW)


@pytest.mark.parametrize(("tokens", "granted"), [(100.0, 20), (80.0, 20), (40.0, 10), (7.9, 1), (1.0, 1)])
def test_a_quarter_is_taken_one_at_least_and_twenty_at_most(tokens: float, granted: int) -> None:
    taken = take(Bucket(tokens, NOW), RULES, NOW)
    assert (taken.granted, taken.bucket.tokens) == (granted, tokens - granted)
    assert granted <= MAX_TAKEN


def test_an_empty_bucket_grants_nothing_and_says_when_the_next_token_is_there() -> None:
    taken = take(Bucket(0.5, NOW), RULES, NOW)
    assert (taken.granted, taken.wait) == (0, pytest.approx(0.05))
    assert take(Bucket(0.5, NOW), RULES, NOW + taken.wait).granted == 1


@pytest.mark.parametrize(("wait", "told"), [(0.0, 1), (0.05, 1), (1.0, 1), (1.2, 2)])
def test_who_is_told_to_wait_is_told_whole_seconds(wait: float, told: int) -> None:
    assert retry_after(wait) == told
