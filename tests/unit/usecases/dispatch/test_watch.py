"""The tick looks for what no other function can report."""

from dataclasses import dataclass, field

import pytest

from duecourse.ports import Depth, InlineExecutor
from duecourse.testing.clock import SettableClock
from duecourse.usecases.dispatch.watch import MAINTENANCE, SHARDS, Heartbeat, StageWatch
from duecourse.usecases.report import Report
from tests.support.limits import MemoryMark

AT = 1_795_262_700.0
MINUTE = int(AT) // 60
EMPTY, WAITING, READ = Depth(0, 0, 0), Depth(3, 0, 1), Depth(3, 2, 0)


@dataclass
class Queues:
    """ports.QueueDepths: the answers of each queue, the last one again and again."""

    said: dict[str, list[Depth]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def depth_of(self, queue: str) -> Depth:
        self.asked.append(queue)
        said = self.said.get(queue, [EMPTY])
        return said.pop(0) if len(said) > 1 else said[0]


@dataclass
class Source:
    """ports.EventSource."""

    reason: str | None = None

    def problem(self) -> str | None:
        return self.reason


@dataclass
class Quota:
    """ports.ConcurrencyQuota."""

    has: int = 1_000
    asked: int = 0

    def executions(self) -> int:
        self.asked += 1
        return self.has


def looked(
    queues: Queues,
    *,
    minute: int = MINUTE + 1,
    source: Source | None = None,
    quota: Quota | None = None,
    silent: float = 0,
    before: bool = False,
) -> Report:
    """The report of a look. The maintenance functions ended `silent` seconds ago."""
    mark, clock, report = MemoryMark(AT), SettableClock(AT), Report()
    for name in MAINTENANCE:
        mark.beat(name, AT - silent)
    names = (("high", "low"), ("high bulk",), ("archive",))
    watch = StageWatch(queues, source or Source(), mark, clock, InlineExecutor(), *names, quota or Quota(), 1_000)
    if before:
        watch.before(report)
    else:
        watch.after(minute, mark.marks(), report)
    return report


def test_watch_reports_waiting_rounds_if_their_messages_exist_before_new_ones_are_sent() -> None:
    assert looked(Queues({SHARDS: [WAITING]}), before=True).counts["RoundsWaiting"] == 1
    assert not looked(Queues(), before=True).counts


@pytest.mark.parametrize(
    ("said", "unread"),
    [([EMPTY], 0), ([READ], 0), ([WAITING], 1), ([WAITING, READ], 0), ([WAITING, EMPTY], 0)],
    ids=["empty", "read", "unread", "received meanwhile", "done meanwhile"],
)
def test_watch_reports_a_queue_as_unread_if_nothing_is_in_flight_twice(said: list[Depth], unread: int) -> None:
    even = MINUTE + MINUTE % 2
    assert looked(Queues({"low": list(said)}), minute=even).counts["QueuesUnread"] == unread


def test_watch_alternates_between_queues_and_bulk_queues() -> None:
    even, odd = Queues(), Queues()
    looked(even, minute=2)
    looked(odd, minute=1)
    assert (even.asked, odd.asked) == (["high", "low"], ["high bulk"])


def test_watch_reports_silent_maintenance_after_two_hours() -> None:
    assert looked(Queues(), silent=7_200).counts["MaintenanceSilent"] == 0
    assert looked(Queues(), silent=7_201).counts["MaintenanceSilent"] == 3


def test_watch_counts_the_silence_of_maintenance_in_a_new_stage_from_its_first_tick() -> None:
    mark, clock, report = MemoryMark(AT), SettableClock(AT), Report()
    watch = StageWatch(Queues(), Source(), mark, clock, InlineExecutor(), (), (), (), Quota(), 1_000)
    watch.after(MINUTE + 1, mark.marks(), report)
    assert not report.counts
    assert mark.ended == dict.fromkeys(MAINTENANCE, AT)


def test_watch_examines_the_archive_every_fifteen_minutes() -> None:
    queues, source = Queues({"archive": [WAITING]}), Source("the event source is Disabled")
    assert not looked(queues, minute=16, source=source).counts
    found = looked(queues, minute=15, source=source)
    assert (found.counts["ArchiveStopped"], found.counts["LettersWaiting"]) == (1, 3)


def test_watch_compares_the_quota_of_the_account_with_the_setting_once_an_hour() -> None:
    quota = Quota(999)
    reports = [looked(Queues(), minute=minute, quota=quota) for minute in range(MINUTE, MINUTE + 60)]
    assert quota.asked == 1
    assert sum(report.counts["QuotaBelowSetting"] for report in reports) == 1
    (found,) = (event for report in reports for event in report.events if event.action == "quota_below_setting")
    assert (found.facts, found.alarming) == ({"quota": 999, "setting": 1_000}, True)


def test_watch_accepts_a_quota_that_is_not_below_the_setting() -> None:
    report = looked(Queues(), minute=60, quota=Quota(1_000))
    assert not report.counts
    assert not report.events


def test_watch_logs_a_quota_that_cannot_be_read_and_counts_it_neither_as_fine_nor_as_failed() -> None:
    class Unreadable(Quota):
        def executions(self) -> int:
            raise ConnectionError("no route to Lambda")

    report = looked(Queues(), minute=60, quota=Unreadable())
    assert not report.counts
    (found,) = report.events
    assert (found.action, found.alarming) == ("quota_not_read", False)


def test_watch_counts_a_failed_check_without_raising_an_error() -> None:
    class Broken(Queues):
        def depth_of(self, queue: str) -> Depth:
            raise ConnectionError("no route to SQS")

    assert looked(Broken(), before=True).counts["WatchesFailed"] == 1
    assert looked(Broken()).counts["WatchesFailed"] == 1


def test_watch_heartbeat_of_a_maintenance_function_stores_its_end() -> None:
    mark = MemoryMark(AT)
    Heartbeat(mark, SettableClock(AT + 5))("audit")
    assert mark.marks() == {"tick": AT, "audit": AT + 5}
