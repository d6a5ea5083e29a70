"""The log of a run: names of portions, positions in it, and when it can still grow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.runs.logs import (
    CLOSING_LINE,
    LATE_SECONDS,
    MAX_PORTIONS,
    LogSource,
    PortionName,
    Position,
    folder_of,
    may_grow,
    moved,
    portion_of,
    portion_of_call,
    read_of,
    stored_as,
)
from duecourse.domain.runs.states import RunState
from tests.support.jobs import NOON, job
from tests.support.runs import TOKEN, run, waiting_run

WORK, CALL = LogSource.WORK, LogSource.CALL
names = st.builds(
    PortionName,
    st.integers(1, 999_999_999),
    st.sampled_from(LogSource),
    st.integers(1, 10),
    st.integers(1, MAX_PORTIONS + 1),
)


@given(names, names)
def test_logs_names_are_read_again_and_ordered_by_their_numbers(first: PortionName, second: PortionName) -> None:
    assert PortionName.parse(str(first)) == first

    def order(of: PortionName) -> tuple[object, ...]:
        return of.attempt, of.source, of.delivery, of.number

    assert (str(first) < str(second)) == (order(first) < order(second))


@pytest.mark.parametrize("text", ["", "1/work-01-001.txt", "000000001/other-01-001.txt", "000000001/work-01-001"])
def test_logs_other_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a portion"):
        PortionName.parse(text)


@given(st.lists(st.tuples(names, st.integers(1, 65_536)), min_size=1, max_size=11))
def test_logs_positions_are_read_again(portions: list[tuple[PortionName, int]]) -> None:
    position = None
    for name, size in portions:
        position = moved(position, name, size)
    assert position is not None
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize("text", ["", "1", "1:", "x:work.1.1.5", "1:work.1.1", "1:work.1.1.5,", "1:other.1.1.5"])
def test_logs_other_positions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a position"):
        Position.parse(text)


def test_logs_read_continues_in_a_portion_that_has_grown_and_beside_it() -> None:
    position = moved(None, PortionName(2, WORK, 1, 3), 40)
    assert read_of(position, PortionName(1, WORK, 1, 9)) is None
    assert read_of(position, PortionName(2, WORK, 1, 2)) is None
    assert read_of(position, PortionName(2, WORK, 1, 3)) == 40
    assert read_of(position, PortionName(2, WORK, 1, 4)) == 0
    assert read_of(position, PortionName(2, CALL, 1, 1)) == 0, "the call's log arrives later and is sorted earlier"
    assert read_of(position, PortionName(3, WORK, 1, 1)) == 0
    position = moved(position, PortionName(2, CALL, 1, 1), 7)
    assert str(position) == "2:call.1.1.7,work.1.3.40"


def test_logs_portion_is_stored_without_callback_tokens() -> None:
    portion = portion_of(2, 1, 1, f"calling with {TOKEN} now")
    hidden = "*" * len(str(TOKEN))
    assert (portion.text, portion.accepted) == (f"calling with {hidden} now", True)
    assert portion_of_call(2, str(TOKEN)).text == hidden


@pytest.mark.parametrize("read", range(len(f"a {TOKEN} ")))
def test_logs_portion_that_grows_keeps_the_positions_of_the_text_that_was_read(read: int) -> None:
    whole = f"a {TOKEN} b\n"
    first, second = (portion_of(2, 1, 1, text).text for text in (whole[:read], whole))
    printed = first + second[len(first) :]
    assert len(printed) == len(whole)
    assert printed.endswith(" b\n")
    assert str(TOKEN) not in printed


def test_logs_full_log_ends_with_a_line_that_says_so() -> None:
    last = portion_of(1, 2, MAX_PORTIONS, "last")
    assert (str(last.name), last.text) == ("000000001/work-02-100.txt", "last")
    for number in (MAX_PORTIONS + 1, MAX_PORTIONS + 2, 999_999):
        beyond = portion_of(1, 2, number, "lost")
        assert (str(beyond.name), beyond.text, beyond.accepted) == ("000000001/work-02-101.txt", CLOSING_LINE, False)


def test_logs_key_has_the_tenant_the_run_and_the_attempt() -> None:
    of = waiting_run(job(id="steady"))
    key, content = stored_as(of, portion_of(of.attempt, 1, 1, "\N{SNOWMAN}"))
    assert key == "logs/default/steady/20261121T120000Z/000000002/work-01-001.txt"
    assert content.decode() == "\N{SNOWMAN}"
    assert folder_of(of, 3) == "logs/default/steady/20261121T120000Z/000000003/"


@pytest.mark.parametrize("state", [RunState.WAITING, RunState.RUNNING])
def test_logs_grow_while_the_attempt_is_in_progress(state: RunState) -> None:
    of = waiting_run(job(id="steady"), state)
    assert may_grow(of, None, NOON)
    assert may_grow(of, of.attempt, NOON)


def test_logs_of_an_earlier_attempt_stop_growing_shortly_after_the_next_one_has_begun() -> None:
    of = waiting_run(job(id="steady"))
    assert of.started_at is not None
    assert may_grow(of, of.attempt - 1, of.started_at + LATE_SECONDS - 0.1)
    assert not may_grow(of, of.attempt - 1, of.started_at + LATE_SECONDS)


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED])
def test_logs_stop_growing_shortly_after_the_run_has_ended(state: RunState) -> None:
    of = run(job(id="steady"), state, finished_at=NOON)
    assert may_grow(of, None, NOON + LATE_SECONDS - 0.1)
    assert not may_grow(of, None, NOON + LATE_SECONDS)


def test_logs_of_a_failed_attempt_stop_growing_while_the_run_continues() -> None:
    of = run(job(id="steady"), RunState.RETRYING, finished_at=NOON)
    assert may_grow(of, None, NOON + 3600)
    assert not may_grow(of, of.attempt, NOON + LATE_SECONDS)
    assert may_grow(of, of.attempt + 1, NOON + 3600)
