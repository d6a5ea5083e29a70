"""Starts that the rate of a key allows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import Rate
from duecourse.gates.rate import (
    AGAIN_SECONDS,
    AHEAD_SECONDS,
    Adapt,
    AskAgain,
    Change,
    Move,
    PauseKey,
    Pay,
    Recount,
    Spent,
    TakeInstant,
    decide_rate,
    interval,
    micro,
    start_paid_by,
)
from duecourse.gates.runner import GATE_HOLD_SECONDS as HOLD
from tests.support.examples import examples

NOW = 1_000_000.0


def moved(spent: Spent, move: Change) -> tuple[bool, Spent]:
    """Whether the condition of the move holds, and the counters after it."""
    match move:
        case PauseKey(until):
            return (True, replace(spent, held=until)) if spent.held < until else (False, spent)
        case Recount(before, after):
            return (True, after) if spent == before else (False, spent)
        case Move(counter, low, high, step, to):
            value: int = getattr(spent, counter)
            within, new = (low <= value <= high, value + step) if to is None else (value < low, to)
            if counter != "paid":
                return within, replace(spent, **{counter: new}) if within else spent
            within = within and spent.held <= low and (to is not None or spent.step == step)
            return within, replace(spent, paid=new, step=step) if within else spent


def ask(
    spent: Spent, rate: Rate, now: float, *, in_turn: bool = False, stored: bool = False
) -> tuple[float | None, float | None, Spent]:
    """The start that was paid, or the instant until which the run waits, and the counters."""
    decision = decide_rate(spent, rate, now=now, hold_seconds=HOLD, in_turn=in_turn, draw=0.5, stored=stored)
    if isinstance(decision, Adapt):
        made, spent = moved(spent, decision.move)
        assert made
        decision = decide_rate(spent, rate, now=now, hold_seconds=HOLD, in_turn=in_turn, draw=0.5, stored=stored)
    match decision:
        case Adapt():
            raise AssertionError("the rate is adapted twice")
        case AskAgain(at):
            return None, at, spent
        case Pay(move):
            made, after = moved(spent, move)
            assert made
            return max(now, start_paid_by(after, rate)), None, after
        case TakeInstant(move):
            made, after = moved(spent, move)
            assert made
            return None, after.given / 1_000_000, after


def hold(starts: list[float], burst: int, per_minute: int) -> None:
    """No window has more starts than the burst and the rate allow."""
    starts.sort()
    for number, begin in enumerate(starts):
        for count, end in enumerate(starts[number:], 1):
            assert count <= burst + (end - begin) * per_minute / 60 + 0.001


def test_rate_interval_is_rounded_up() -> None:
    assert interval(Rate("crm", 60, 1)) == 1_000_000
    assert interval(Rate("crm", 7, 1)) == 8_571_429


def test_rate_full_wait_is_asked_again_later() -> None:
    rate, spent = Rate("crm", 1, 1), Spent()
    answers = []
    for _ in range(20):
        *answer, spent = ask(spent, rate, NOW)
        answers.append(answer)
    waits = [until - NOW for _, until in answers if until is not None]
    assert waits[:15] == [60.0 * number for number in range(1, 16)]
    assert set(waits[15:]) == {(AGAIN_SECONDS + AHEAD_SECONDS) / 2}


@examples(200)
@given(
    st.integers(1, 600),
    st.integers(1, 20),
    st.lists(st.tuples(st.floats(0, 30), st.booleans()), min_size=1, max_size=60),
)
def test_rate_no_window_has_more_starts_than_burst_and_rate(
    per_minute: int, burst: int, asked: list[tuple[float, bool]]
) -> None:
    rate, spent, now, starts = Rate("crm", per_minute, burst), Spent(), NOW, list[float]()
    for seconds, in_turn in asked:
        now += seconds
        start, until, spent = ask(spent, rate, now, in_turn=in_turn)
        assert (start is None) is not (until is None)
        if start is not None:
            assert now <= start <= now + HOLD
            starts.append(start)
        elif until is not None:
            assert until > now
    hold(starts, burst, per_minute)


def used_up(rate: Rate, *, stored: bool = False) -> Spent:
    """The counters after a whole burst at NOW."""
    spent = Spent()
    for _ in range(rate.burst):
        start, _, spent = ask(spent, rate, NOW, stored=stored)
        assert start == NOW
    return spent


def first_start(spent: Spent, rate: Rate, *, stored: bool = False) -> float:
    """How long a run waits that asks again whenever it may."""
    now, in_turn = NOW, False
    for _ in range(100):
        start, until, spent = ask(spent, rate, now, in_turn=in_turn, stored=stored)
        if start is not None:
            return start - NOW
        assert until is not None
        now, in_turn = until, True
    raise AssertionError("it never starts")


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_rate_run_does_not_overtake_a_waiting_run_whose_message_is_late(burst: int) -> None:
    rate = Rate("crm", 20, burst)
    _, first, spent = ask(used_up(rate), rate, NOW + 0.1)
    _, second, spent = ask(spent, rate, NOW + 1.4)
    assert (first, second) == (NOW + 3, NOW + 6)
    _, _, spent = ask(spent, rate, NOW + 3.4, in_turn=True)
    _, until, spent = ask(spent, rate, NOW + 6.2)
    assert until == NOW + 9
    start, _, spent = ask(spent, rate, NOW + 6.5, in_turn=True)
    assert start == NOW + 6.5


def test_rate_run_keeps_its_turn_behind_a_run_whose_message_was_late() -> None:
    rate = Rate("crm", 20, 1)
    _, first, spent = ask(used_up(rate), rate, NOW)
    _, second, spent = ask(spent, rate, NOW)
    assert (first, second) == (NOW + 3, NOW + 6)
    start, _, spent = ask(spent, rate, NOW + 4.1, in_turn=True)
    assert start == NOW + 4.1, "its queue delays a message by whole seconds"
    assert ask(spent, rate, NOW + 6, in_turn=True)[0] == NOW + 7.1


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_rate_waiting_run_that_never_starts_delays_others_by_one_interval(burst: int) -> None:
    rate = Rate("crm", 20, burst)
    _, until, spent = ask(used_up(rate), rate, NOW)
    assert until == NOW + 3
    assert ask(spent, rate, until + 2.9)[1] == NOW + 6
    assert ask(spent, rate, until + 3)[0] == NOW + 6


def test_rate_run_with_a_slower_rate_waits_one_interval_of_the_faster_rate_for_late_messages() -> None:
    fast, slow = Rate("crm", 20, 1), Rate("crm", 1, 1)
    _, until, spent = ask(used_up(fast), fast, NOW)
    assert until == NOW + 3
    start, _, spent = ask(spent, fast, until, in_turn=True)
    assert start == until
    assert ask(spent, slow, until + 3)[0] == until + 3


@pytest.mark.parametrize("stored", [False, True])
def test_rate_starts_before_a_faster_rate_count_with_the_interval_of_the_faster_rate(stored: bool) -> None:
    slow, fast = Rate("crm", 1, 100), Rate("crm", 600, 1)
    assert first_start(used_up(slow, stored=stored), fast, stored=stored) <= 10


def test_rate_starts_before_a_slower_rate_are_used_up_at_the_faster_rate() -> None:
    fast, slow = Rate("crm", 600, 100), Rate("crm", 1, 1)
    assert first_start(used_up(fast), slow) == pytest.approx(10, abs=0.01)


@pytest.mark.parametrize(("burst", "expected"), [(100, 60), (1, 30)])
def test_rate_stored_rate_never_waits_longer_than_its_own_burst_takes(burst: int, expected: float) -> None:
    before, stored = used_up(Rate("crm", 1, burst), stored=True), Rate("crm", 2, 1)
    assert first_start(before, stored, stored=True) <= expected


def test_rate_wait_is_as_short_as_the_faster_rate_allows() -> None:
    slow, fast, spent = Rate("crm", 1, 1), Rate("crm", 600, 1), used_up(Rate("crm", 1, 1))
    for _ in range(10):
        _, _, spent = ask(spent, slow, NOW)
    assert first_start(spent, fast) <= 2


def test_rate_counters_of_a_clock_that_differs_by_ten_seconds_are_not_adapted() -> None:
    rate = Rate("crm", 60, 2)
    spent = replace(used_up(rate, stored=True), given=micro(NOW + 5))
    assert isinstance(
        decide_rate(spent, rate, now=NOW - 10, hold_seconds=HOLD, in_turn=False, draw=0.5, stored=True),
        TakeInstant,
    )


@examples(300)
@given(
    st.lists(st.tuples(st.integers(1, 600), st.integers(1, 20)), min_size=2, max_size=3),
    st.lists(st.tuples(st.floats(0, 20), st.integers(0, 2), st.booleans()), min_size=1, max_size=60),
)
def test_rate_of_jobs_with_different_rates_keeps_the_larger_burst_and_the_faster_rate(
    rates: list[tuple[int, int]], asked: list[tuple[float, int, bool]]
) -> None:
    of, spent, now, starts = [Rate("crm", *each) for each in rates], Spent(), NOW, list[float]()
    for seconds, number, in_turn in asked:
        now += seconds
        start, _, spent = ask(spent, of[number % len(of)], now, in_turn=in_turn)
        if start is not None:
            assert now <= start <= now + HOLD
            starts.append(start)
    hold(starts, max(rate.burst for rate in of), max(rate.per_minute for rate in of))


@examples(300)
@given(
    st.tuples(st.integers(1, 600), st.integers(1, 20)),
    st.tuples(st.integers(1, 600), st.integers(1, 20)),
    st.integers(0, 40),
    st.lists(st.tuples(st.floats(0, 20), st.booleans()), min_size=1, max_size=60),
)
def test_rate_that_is_stored_anew_keeps_the_larger_burst_and_the_faster_rate(
    before: tuple[int, int], after: tuple[int, int], changed: int, asked: list[tuple[float, bool]]
) -> None:
    spent, now, starts = Spent(), NOW, list[float]()
    for number, (seconds, in_turn) in enumerate(asked):
        now += seconds
        rate = Rate("crm", *(before if number < changed else after))
        start, _, spent = ask(spent, rate, now, in_turn=in_turn, stored=True)
        if start is not None:
            starts.append(start)
    hold(starts, max(before[1], after[1]), max(before[0], after[0]))
