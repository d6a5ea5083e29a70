"""A tick starts a round in every shard and leaves a sign of life, by which its absence is noticed."""

from __future__ import annotations

from collections.abc import Iterable

from duecourse.testing.clock import SettableClock
from duecourse.usecases.dispatch.tick import Tick, in_turn
from tests.support.limits import MemoryMark

NOON = 1_795_262_400.0


class Shards:
    """What a tick needs of ports.CursorStore."""

    def highest_shards(self, shards: int) -> int:
        return max(shards, 3)


class Queue:
    """ports.ShardQueue that refuses some shards."""

    def __init__(self, refused: Iterable[int] = ()) -> None:
        self.refused = list(refused)

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        return [shard for shard in shards if shard in self.refused]


class Forgetful(MemoryMark):
    """A table that takes no mark."""

    def mark(self, at: float) -> None:
        raise ConnectionError("no route to the table")


def tick(queue: Queue, mark: MemoryMark) -> Tick:
    return Tick(Shards(), queue, mark, SettableClock(NOON), 2)  # type: ignore[arg-type]


def test_a_tick_leaves_when_it_came() -> None:
    mark = MemoryMark()
    report = tick(Queue(), mark)()
    assert mark.at == NOON
    assert report.counts["TicksSent"] == 3


def test_a_tick_that_reached_some_shards_is_one() -> None:
    mark = MemoryMark()
    tick(Queue([1]), mark)()
    assert mark.at == NOON


def test_a_tick_that_reached_no_shard_is_none() -> None:
    mark = MemoryMark()
    report = tick(Queue([0, 1, 2]), mark)()
    assert mark.at is None
    assert report.counts["TicksRefused"] == 3


def test_rounds_begin_though_the_sign_of_life_is_lost_and_that_is_told() -> None:
    report = tick(Queue(), Forgetful())()
    (told, ticked) = report.events
    assert (told.action, told.alarming, told.facts["error"]) == (
        "tick_not_marked",
        True,
        "ConnectionError: no route to the table",
    )
    assert (ticked.action, ticked.alarming) == ("ticked", False)


def test_each_minute_begins_with_another_shard_so_that_none_is_always_the_last() -> None:
    assert all(sorted(in_turn(shards, minute)) == list(range(shards)) for shards in (1, 2, 16) for minute in range(40))
    last = {in_turn(16, minute)[-1] for minute in range(29_920_740, 29_920_740 + 32)}
    assert last == set(range(16))
