"""Starts that the rate of a key allows."""

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import Rate
from duecourse.domain.runs.rate import (
    AGAIN_SECONDS,
    LINE_SECONDS,
    AskAgain,
    JoinLine,
    Pay,
    Spent,
    decide_rate,
    interval,
    moved,
    start_paid_by,
)
from tests.support.examples import examples

NOW = 1_000_000.0


def ask(spent: Spent, rate: Rate, now: float, *, in_turn: bool = False) -> tuple[float | None, float | None, Spent]:
    """The start that was paid, or the instant until which the run waits, and the counters."""
    decision = decide_rate(spent, rate, now=now, hold_seconds=1.0, in_turn=in_turn, draw=0.5)
    match decision:
        case AskAgain(at):
            return None, at, spent
        case Pay(move):
            made, after = moved(spent, move)
            assert made
            return max(now, start_paid_by(after, rate)), None, after
        case JoinLine(move):
            made, after = moved(spent, move)
            assert made
            return None, after.line / 1_000_000, after


def test_rate_interval_is_rounded_up() -> None:
    assert interval(Rate("crm", 60, 1)) == 1_000_000
    assert interval(Rate("crm", 7, 1)) == 8_571_429


def test_rate_full_line_is_asked_again_later() -> None:
    rate, spent = Rate("crm", 1, 1), Spent()
    answers = []
    for _ in range(20):
        *answer, spent = ask(spent, rate, NOW)
        answers.append(answer)
    waits = [until - NOW for _, until in answers if until is not None]
    assert waits[:15] == [60.0 * number for number in range(1, 16)]
    assert set(waits[15:]) == {(AGAIN_SECONDS + LINE_SECONDS) / 2}


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
            assert now <= start <= now + 1
            starts.append(start)
        elif until is not None:
            assert until > now
    starts.sort()
    for number, begin in enumerate(starts):
        for count, end in enumerate(starts[number:], 1):
            assert count <= burst + (end - begin) * per_minute / 60 + 0.001
