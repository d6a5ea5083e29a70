"""The places of a job whose limit of active runs was lowered: every order in which workers read and take them.

Workers read all locks at one instant, and then the records of their holders one after the other. The whole worker is
searched by test_wait_queue_protocol.py; here are more runs at once.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import pytest

from duecourse.domain.runs.overlap import free_place

Choice = Callable[[Collection[int], int, int], int | None]
"""Which place a run takes: by the active places, the limit and the number of its worker."""


class Taker(NamedTuple):
    """A worker that takes a place for its run: the locks that it has read, and the places whose holders are active, as
    far as it has read their records. It has not begun without locks, and is done with `done`.
    """

    locks: tuple[int | None, ...] | None = None
    read: int = 0
    active: tuple[int, ...] = ()
    done: bool = False


class State(NamedTuple):
    """The holder of each place, the active runs, and the workers. Runs of workers have their numbers."""

    locks: tuple[int | None, ...]
    active: frozenset[int]
    takers: tuple[Taker, ...]


def steps(state: State, limit: int, choice: Choice) -> Iterator[State]:
    """Every step that may come next."""
    for run in state.active:
        yield state._replace(active=state.active - {run})
    for number, taker in enumerate(state.takers):
        if taker.done:
            continue
        if taker.locks is None:
            yield with_taker(state, number, Taker(state.locks))
        elif taker.read < len(taker.locks):
            seen = taker.locks[taker.read] in state.active
            active = (*taker.active, taker.read) if seen else taker.active
            yield with_taker(state, number, taker._replace(read=taker.read + 1, active=active))
        else:
            yield took(state, number, taker, choice(taker.active, limit, number))


def took(state: State, number: int, taker: Taker, place: int | None) -> State:
    """The state after a worker has chosen: its write has the condition that the lock is the one that it read."""
    assert taker.locks is not None
    if place is None or taker.locks[place] != state.locks[place]:
        return with_taker(state, number, Taker())
    locks = (*state.locks[:place], number, *state.locks[place + 1 :])
    started = with_taker(state, number, Taker(done=True))
    return started._replace(locks=locks, active=state.active | {number})


def with_taker(state: State, number: int, taker: Taker) -> State:
    return state._replace(takers=(*state.takers[:number], taker, *state.takers[number + 1 :]))


def most_beside_a_start(before: int, limit: int, takers: int, choice: Choice) -> int:
    """The most runs that are active at once after a start, if `before` runs are active when the limit is lowered."""
    holders = tuple(range(100, 100 + before))
    beginning = State(holders, frozenset(holders), (Taker(),) * takers)
    found, states, seen = 0, [beginning], {beginning}
    while states:
        state = states.pop()
        for following in steps(state, limit, choice):
            if len(following.active) > len(state.active):
                found = max(found, len(following.active))
            if following not in seen:
                seen.add(following)
                states.append(following)
    return found


def first(active: Collection[int], limit: int, _: int) -> int | None:
    return free_place(active, limit)


def any_of_them(active: Collection[int], limit: int, number: int) -> int | None:
    free = [place for place in range(limit) if place not in active]
    return free[-(number % 2)] if len(active) < limit else None


def first_within(active: Collection[int], limit: int, _: int) -> int | None:
    return free_place([place for place in active if place < limit], limit)


@pytest.mark.parametrize(("before", "limit", "takers"), [(2, 1, 2), (3, 2, 2), (4, 2, 2), (2, 2, 3)])
def test_places_lowered_limit_holds_for_each_start(before: int, limit: int, takers: int) -> None:
    assert most_beside_a_start(before, limit, takers, first) == limit


def test_places_lowered_limit_would_not_hold_if_a_run_took_any_free_place() -> None:
    assert most_beside_a_start(3, 2, 2, any_of_them) == 3


def test_places_lowered_limit_would_not_hold_if_runs_beyond_it_did_not_count() -> None:
    assert most_beside_a_start(3, 2, 2, first_within) == 3


@pytest.mark.parametrize(
    ("active", "limit", "place"),
    [([], 2, 0), ([0], 2, 1), ([1], 2, 0), ([0, 1], 2, None), ([5], 2, 0), ([0, 5], 2, None), ([1, 2], 5, 0)],
)
def test_places_run_takes_the_first_free_place(active: list[int], limit: int, place: int | None) -> None:
    assert free_place(active, limit) == place


@pytest.mark.parametrize(
    ("active", "ahead", "place"),
    [([], 2, 0), ([0], 1, 1), ([0], 2, None), ([2], 1, 0), ([], 3, None), ([0, 1], 1, None), ([7], 1, 0)],
)
def test_places_run_leaves_a_place_for_each_run_ahead_of_it(active: list[int], ahead: int, place: int | None) -> None:
    assert free_place(active, 3, ahead) == place
