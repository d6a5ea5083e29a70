"""The waits between attempts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import Backoff, RetryPolicy
from duecourse.domain.targets.targets import Failed

ALMOST_ONE = 1 - 2**-53

POLICIES = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 100),
    backoff=st.sampled_from(Backoff),
    min_seconds=st.floats(0, 86_400),
    max_seconds=st.floats(0, 86_400),
)
DRAWS = st.floats(0, 1, exclude_max=True)


def bounds(policy: RetryPolicy, attempts: int) -> list[float]:
    """The upper bounds b(1), b(2) …: what an even draw approaches."""
    return [round(policy.delay(attempt, ALMOST_ONE), 6) for attempt in range(1, attempts + 1)]


@pytest.mark.parametrize(
    ("backoff", "series"),
    [
        (Backoff.EXPONENTIAL, [4, 8, 16, 32, 60, 60, 60]),
        (Backoff.LINEAR, [4, 6, 8, 10, 12, 14, 16]),
        (Backoff.FIXED, [2, 2, 2, 2, 2, 2, 2]),
    ],
)
def test_retry_upper_bound_follows_the_backoff_policy_up_to_its_maximum(backoff: Backoff, series: list[float]) -> None:
    assert bounds(RetryPolicy(backoff=backoff, min_seconds=2, max_seconds=60), 7) == series


def test_retry_linear_backoff_stops_at_its_maximum() -> None:
    assert bounds(RetryPolicy(backoff=Backoff.LINEAR, min_seconds=2, max_seconds=5), 4) == [4, 5, 5, 5]


@pytest.mark.parametrize("backoff", list(Backoff))
def test_retry_lowest_draw_gives_the_minimum_delay_at_every_attempt(backoff: Backoff) -> None:
    policy = RetryPolicy(backoff=backoff, min_seconds=3, max_seconds=100)
    assert [policy.delay(attempt, 0.0) for attempt in range(1, 8)] == [3] * 7


def test_retry_delay_is_drawn_uniformly_between_minimum_and_upper_bound() -> None:
    policy = RetryPolicy(backoff=Backoff.EXPONENTIAL, min_seconds=2, max_seconds=60)
    assert [policy.delay(3, draw) for draw in (0.0, 0.25, 0.5, 0.75)] == [2, 5.5, 9, 12.5]


@given(POLICIES, st.integers(1, 10_000), DRAWS)
def test_retry_delay_lies_between_minimum_and_maximum(policy: RetryPolicy, attempt: int, draw: float) -> None:
    low = min(policy.min_seconds, policy.max_seconds)
    assert low <= policy.delay(attempt, draw) <= policy.max_seconds


@given(POLICIES, st.integers(1, 1000), DRAWS)
def test_retry_delay_of_a_later_attempt_is_not_shorter_for_the_same_draw(
    policy: RetryPolicy, attempt: int, draw: float
) -> None:
    assert policy.delay(attempt, draw) <= policy.delay(attempt + 1, draw)


def test_retry_maximum_below_the_minimum_takes_precedence() -> None:
    assert RetryPolicy(min_seconds=100, max_seconds=10).delay(1, 0.5) == 10


# What the target wishes.

POLICY = RetryPolicy(backoff=Backoff.FIXED, min_seconds=10, max_seconds=60)


@pytest.mark.parametrize(
    ("wish", "wait"), [(None, 10), (0, 10), (-5, 10), (9.9, 10), (10.5, 10.5), (60, 60), (61, 60), (1e12, 60)]
)
def test_retry_target_can_extend_the_delay_up_to_the_maximum_but_not_shorten_it(
    wish: float | None, wait: float
) -> None:
    assert POLICY.delay(1, 0.5, wish) == wait


@given(POLICIES, st.integers(1, 100), DRAWS, st.floats(0, 1e9))
def test_retry_requested_delay_never_leaves_the_bounds(
    policy: RetryPolicy, attempt: int, draw: float, wish: float
) -> None:
    wait = policy.delay(attempt, draw, wish)
    assert policy.delay(attempt, draw) <= wait <= policy.max_seconds


# What is worth a retry.


def worth(code: str, on: tuple[str, ...] | None = None, never: tuple[str, ...] = (), **failed: bool) -> bool:
    return RetryPolicy(on=on, never=never).worth(Failed("no", code=code, **failed))


def test_retry_follows_the_target_unless_the_job_has_rules() -> None:
    assert worth("http.503")
    assert not worth("http.404", retryable=False)


@pytest.mark.parametrize(
    ("word", "code", "named"),
    [
        ("503", "http.503", True),
        ("503", "http.500", False),
        ("503", "503", True),
        ("5xx", "http.500", True),
        ("5xx", "http.599", True),
        ("5xx", "http.404", False),
        ("5xx", "timeout", False),
        ("4xx", "http.404", True),
        ("timeout", "timeout", True),
        ("timeout", "callback.timeout", False),
        ("timeout", "Timeout", False),
        ("http.503", "http.503", True),
        ("http.50*", "http.503", True),
        ("http.50*", "http.510", False),
        ("callback.*", "callback.heartbeat", True),
        ("Throttling*", "ThrottlingException", True),
        ("Throttling*", "Throttling", True),
        ("Throttling*", "RequestThrottling", False),
        ("*", "anything.at-all", True),
        ("Foxx", "Foxx", True),
        ("Foxx", "http.Foo", False),
    ],
)
def test_retry_rule_matches_failures_by_status_class_code_or_pattern(word: str, code: str, named: bool) -> None:
    assert worth(code, on=(word,), retryable=False) is named
    assert worth(code, never=(word,)) is not named


def test_retry_job_with_retry_on_rules_retries_only_matching_failures() -> None:
    assert not worth("http.503", on=("timeout", "429"))
    assert worth("http.429", on=("timeout", "429"), retryable=False)
    assert not worth("http.503", on=())


def test_retry_never_rule_takes_precedence_over_an_on_rule() -> None:
    assert not worth("http.503", on=("5xx",), never=("501", "503"))
    assert worth("http.502", on=("5xx",), never=("501", "503"))


def test_retry_is_never_made_if_the_target_forbids_it() -> None:
    assert not worth("http.503", on=("5xx",), forbidden=True)
    assert not worth("http.503", forbidden=True)
