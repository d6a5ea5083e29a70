"""A tick starts a round in every shard and leaves a sign of life, by which its absence is noticed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

import pytest

from duecourse.ports import InlineExecutor, StoreBusyError
from duecourse.stores.tick_mark import Overdue
from duecourse.testing.clock import SettableClock
from duecourse.testing.outbox import RecordedPings
from duecourse.usecases.dispatch.tick import SEARCHED_SHARDS, Tick, in_turn
from duecourse.usecases.ping import Pings, StagePing
from duecourse.usecases.report import Report
from tests.support.limits import MemoryMark

AT = 1_795_262_700.0
"""Five minutes past noon. It is the turn of none of the three shards."""


@dataclass
class Shards:
    """The part of CursorStore that a tick needs, with entries by slot. A slot in `broken` cannot be read, and those in
    `rare` have rare entries.
    """

    entries: dict[str, float] = field(default_factory=dict)
    broken: str | None = None
    rare: tuple[str, ...] = ()
    watermarks: dict[int, str] = field(default_factory=lambda: dict.fromkeys(range(3), "2026-11-21T10"))

    def watermark(self, shard: int) -> str | None:
        return self.watermarks.get(shard)

    def highest_shards(self, shards: int) -> int:
        return max(shards, 3)

    def has_due(self, slot: str, until: float, rare_until: float | None = None) -> bool:
        if slot == self.broken:
            raise StoreBusyError("the due index is throttled")
        reached = until if rare_until is None or slot not in self.rare else rare_until
        return self.entries.get(slot, inf) <= reached


class Queue:
    """ports.ShardQueue that refuses some shards."""

    def __init__(self, refused: Iterable[int] = ()) -> None:
        self.refused = list(refused)
        self.woken: list[int] = []

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        self.woken = list(shards)
        return [shard for shard in self.woken if shard in self.refused]


class Forgetful(MemoryMark):
    """A table that takes no mark."""

    def mark(self, at: float, overdue: frozenset[int] | None = None) -> None:
        raise ConnectionError("no route to the table")


class Unread(MemoryMark):
    """A table whose mark cannot be read."""

    def last(self) -> float | None:
        raise ConnectionError("no route to the table")


def tick(queue: Queue, mark: MemoryMark, shards: Shards | None = None, *, at: float = AT) -> Tick:
    """A tick of three shards."""
    clock = SettableClock(at)
    return Tick(shards or Shards(), queue, mark, clock, InlineExecutor(), 2, 300)  # type: ignore[arg-type]


def test_tick_stores_the_time_of_its_arrival() -> None:
    mark = MemoryMark()
    report = tick(Queue(), mark)()
    assert mark.at == AT
    assert report.counts["TicksSent"] == 3


def test_tick_that_reached_some_shards_is_stored() -> None:
    mark = MemoryMark()
    tick(Queue([1]), mark)()
    assert mark.at == AT


def test_tick_that_reached_no_shard_is_not_stored() -> None:
    mark = MemoryMark()
    report = tick(Queue([0, 1, 2]), mark)()
    assert mark.at is None
    assert report.counts["TicksRefused"] == 3


def test_tick_starts_rounds_and_reports_an_error_if_its_mark_cannot_be_stored() -> None:
    report = tick(Queue(), Forgetful())()
    (told, ticked) = report.events
    assert (told.action, told.alarming, told.facts["error"]) == (
        "tick_not_marked",
        True,
        "ConnectionError: no route to the table",
    )
    assert (ticked.action, ticked.alarming) == ("ticked", False)


def test_tick_starts_each_minute_with_another_shard_so_that_the_last_one_changes() -> None:
    assert all(sorted(in_turn(shards, minute)) == list(range(shards)) for shards in (1, 2, 16) for minute in range(40))
    last = {in_turn(16, minute)[-1] for minute in range(29_920_740, 29_920_740 + 32)}
    assert last == set(range(16))


def test_tick_wakes_shards_with_work_due_within_the_lookahead() -> None:
    due, later = AT + 300, AT + 301
    shards = Shards({"2026-11-21T12/0001": due, "2026-11-21T12/0002": later})
    queue = Queue()
    report = tick(queue, MemoryMark(AT - 60), shards)()
    assert queue.woken == [1]
    assert report.counts["TicksSent"] == 3
    assert report.events[-1].facts["woken"] == 1


def test_tick_wakes_shards_with_rare_work_due_within_twice_the_lookahead() -> None:
    slots = [f"2026-11-21T12/000{shard}" for shard in range(3)]
    shards = Shards(dict(zip(slots, (AT + 600, AT + 601, AT + 600), strict=True)), rare=(slots[0], slots[1]))
    queue = Queue()
    tick(queue, MemoryMark(AT - 60), shards)()
    assert queue.woken == [0]


@pytest.mark.parametrize("slot", ["2026-11-21T11/0002", "2026-11-21T12/0002", "2026-11-21T13/0002"])
def test_tick_reads_the_last_hour_and_the_hours_of_the_lookahead(slot: str) -> None:
    at = AT + 3600 - 540
    queue = Queue()
    tick(queue, MemoryMark(at - 60), Shards({slot: at}), at=at)()
    assert 2 in queue.woken


def test_tick_without_due_work_sends_no_message_but_counts() -> None:
    queue, mark = Queue([0, 1, 2]), MemoryMark(AT - 60)
    report = tick(queue, mark)()
    assert (queue.woken, mark.at) == ([], AT)
    assert (report.counts["TicksSent"], report.counts["TicksRefused"]) == (3, 0)


def test_tick_wakes_each_shard_without_due_work_once_in_fifteen_minutes() -> None:
    woken: Counter[int] = Counter()
    for minute in range(15):
        queue, at = Queue(), AT + 60 * minute
        tick(queue, MemoryMark(at - 60), at=at)()
        woken.update(queue.woken)
    assert woken == {0: 1, 1: 1, 2: 1}


@pytest.mark.parametrize("mark", [MemoryMark(), MemoryMark(AT - 151), Unread()], ids=["first", "gap", "unread"])
def test_tick_wakes_all_shards_the_first_time_and_after_missed_ticks(mark: MemoryMark) -> None:
    queue = Queue()
    tick(queue, mark)()
    assert sorted(queue.woken) == [0, 1, 2]


def test_tick_does_not_treat_one_late_tick_as_a_gap() -> None:
    queue = Queue()
    tick(queue, MemoryMark(AT - 150))()
    assert queue.woken == []


def test_tick_wakes_and_logs_a_shard_that_cannot_be_checked() -> None:
    queue = Queue()
    report = tick(queue, MemoryMark(AT - 60), Shards(broken="2026-11-21T12/0001"))()
    assert queue.woken == [1]
    (event,) = [event for event in report.events if event.action == "shard_not_checked"]
    assert (event.alarming, event.facts["shard"]) == (True, 1)


def test_tick_reports_a_shard_as_overdue_if_no_round_has_claimed_its_work() -> None:
    slot = "2026-11-21T12/0001"
    for due, overdue in ((AT - 120, 1), (AT - 119, 0)):
        assert tick(Queue(), MemoryMark(AT - 60), Shards({slot: due}))().counts["ShardsOverdue"] == overdue


def test_tick_reports_no_overdue_shard_just_after_missed_ticks() -> None:
    assert tick(Queue(), MemoryMark(AT - 600), Shards({"2026-11-21T12/0001": AT - 300}))().counts["ShardsOverdue"] == 0


def overdue_after(
    shards: Shards, *, known: Iterable[int] | None = (), at: float = AT, ago: float = 60
) -> frozenset[int] | None:
    """The overdue shards that a tick stores. The tick before was `ago` seconds earlier, and found those in `known`."""
    mark = MemoryMark(at - ago)
    if known is not None:
        mark.found = Overdue(at - ago, frozenset(known))
    tick(Queue(), mark, shards, at=at)()
    assert mark.found is None or mark.found.at == at
    return None if mark.found is None else mark.found.shards


def test_tick_stores_the_shards_with_overdue_work() -> None:
    slot = "2026-11-21T12/0001"
    assert overdue_after(Shards()) == set()
    assert overdue_after(Shards({slot: AT - 120})) == {1}
    assert overdue_after(Shards({slot: AT - 119})) == set()


def test_tick_keeps_a_shard_overdue_until_a_search_from_its_watermark_finds_no_work() -> None:
    old = Shards({"2026-11-21T10/0001": AT - 7000})
    assert overdue_after(old) == set(), "a tick reads only the last hour"
    assert overdue_after(old, known=[1, 2]) == {1}
    assert overdue_after(Shards(), known=[1, 2]) == set()
    assert overdue_after(Shards(watermarks={}), known=[1]) == {1}, "no round has ended"


def test_tick_treats_a_shard_that_cannot_be_checked_as_overdue() -> None:
    assert overdue_after(Shards(broken="2026-11-21T12/0001")) == {1}
    assert overdue_after(Shards(broken="2026-11-21T10/0001"), known=[1]) == {1}


@pytest.mark.parametrize(("known", "ago"), [(None, 60), ((), 151)], ids=["tick_of_1.0.0", "gap"])
def test_tick_searches_all_shards_if_it_is_not_known_which_were_overdue(known: Iterable[int] | None, ago: int) -> None:
    old = Shards({"2026-11-21T10/0001": AT - 7000})
    assert overdue_after(old, known=known, ago=ago) == {1}


def test_tick_searches_a_limited_number_of_shards() -> None:
    many, searched = SEARCHED_SHARDS + 5, list[int]()

    class Many(Shards):
        def highest_shards(self, shards: int) -> int:
            return many

        def watermark(self, shard: int) -> str | None:
            searched.append(shard)
            return "2026-11-21T12"

    assert overdue_after(Many(), known=None) == set(range(SEARCHED_SHARDS, many))
    assert len(searched) == SEARCHED_SHARDS


def pinged_by(given: Tick, problem: str | None = None) -> tuple[list[str], Report]:
    """The pings of a tick of a stage with a monitor."""
    pinger = RecordedPings(problem=problem)
    ping = StagePing(Pings(pinger, given.clock), "https://hc.example.com/stage")
    return pinger.urls, replace(given, ping=ping)()


def test_tick_of_a_healthy_stage_pings_its_monitor() -> None:
    urls, report = pinged_by(tick(Queue(), MemoryMark(AT - 60)))
    assert urls == ["https://hc.example.com/stage"]
    assert report.counts["PingsFailed"] == 0


def test_tick_that_is_refused_or_finds_overdue_work_pings_nothing() -> None:
    refused, _ = pinged_by(tick(Queue([1]), MemoryMark()))
    overdue, report = pinged_by(tick(Queue(), MemoryMark(AT - 60), Shards({"2026-11-21T12/0001": AT - 121})))
    assert report.counts["ShardsOverdue"] == 1
    assert refused == overdue == []


def test_tick_monitor_that_does_not_answer_is_counted_and_fails_no_tick() -> None:
    mark = MemoryMark(AT - 60)
    urls, report = pinged_by(tick(Queue(), mark), "the response has the status 500")
    assert (len(urls), report.counts["PingsFailed"], mark.at) == (2, 1, AT)


def test_tick_raises_capacity_after_its_messages_with_the_time_of_the_tick_before() -> None:
    asked: list[tuple[float | None, int]] = []

    @dataclass
    class Capacity:
        """The part of Prescale that a tick uses."""

        queue: Queue

        def after_tick(self, last_tick: float | None, shards: int, _report: Report) -> None:
            assert self.queue.woken
            asked.append((last_tick, shards))

    for mark in (MemoryMark(AT - 60), MemoryMark(), Unread()):
        queue = Queue()
        replace(tick(queue, mark, Shards({"2026-11-21T12/0001": AT})), prescale=Capacity(queue))()  # type: ignore[arg-type]
    assert asked == [(AT - 60, 3), (None, 3), (None, 3)]
