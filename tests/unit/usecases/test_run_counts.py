"""The counts of a process: when it writes them, and what happens to those that it could not write."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.runs.counts import FRESH_SECONDS, MAX_TENANTS, Hours, RunCount, hour_of
from duecourse.ports import NoAnswerError
from duecourse.stores.keys import RATE, tenant_key
from duecourse.stores.table import Put, Table
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, failing, lost
from duecourse.testing.stores import MemoryStores
from duecourse.usecases.report import Report
from duecourse.usecases.run_counts import RunCounts
from tests.support.jobs import NOON

HOUR = 3600
OK, DEAD = RunCount.SUCCEEDED, RunCount.DEAD


class Process:
    """The counts of one process, over tables in memory. Its writes take at most ten seconds."""

    def __init__(self) -> None:
        self.stores, self.clock = MemoryStores(), SettableClock(NOON)
        self.counts = RunCounts(self.stores.run_counts(), self.clock, slowest_seconds=10)
        self.writes = 0

    def write(self, *, left: float = 60, **faults: Any) -> Report:
        """The end of an invocation that has this many seconds left."""
        report = Report()
        counts = replace(self.counts, store=around(self.counts.store, **({"add": self._noted} | faults)))
        counts.write(report, self.clock.now() + left)
        return report

    def _noted(self, real: Any, *given: Any) -> None:
        self.writes += 1
        real(*given)

    def stored(self, tenant: str = "acme") -> dict[int, dict[str, int]]:
        """The stored counts that are not 0, by seconds after the first hour."""
        found = self.counts.store.read(tenant, Hours.of(None, None, self.clock.now()))
        return {
            hour - hour_of(NOON): {kind.value: count for kind, count in counts.items() if count}
            for hour, counts in found.items()
        }


@pytest.fixture
def process() -> Process:
    return Process()


def test_run_counts_of_a_rare_run_are_written_at_once(process: Process) -> None:
    for _ in range(3):
        process.counts.add("acme", OK)
        assert process.write().events == []
        process.clock.advance(600)
    assert (process.stored(), process.writes) == ({0: {"succeeded": 3}}, 3)


def test_run_counts_of_many_runs_are_written_once_a_minute_and_none_is_lost(process: Process) -> None:
    for _ in range(601):
        process.counts.add("acme", OK)
        process.write()
        process.clock.advance(1)
    assert (process.stored(), process.writes) == ({0: {"succeeded": 601}}, 11)


def test_run_counts_of_each_tenant_are_written_once_a_minute(process: Process) -> None:
    for _ in range(2):
        for tenant in ("acme", "other"):
            process.counts.add(tenant, DEAD)
            process.write()
    assert process.writes == 2
    process.clock.advance(60)
    process.write()
    assert process.stored() == process.stored("other") == {0: {"dead": 2}}


def test_run_counts_of_a_minute_across_an_hour_are_written_to_both_hours(process: Process) -> None:
    process.counts.add("acme", OK)
    process.write()
    process.clock.set(hour_of(NOON) + HOUR - 1)
    process.counts.add("acme", OK)
    process.clock.advance(1)
    process.counts.add("acme", DEAD)
    process.write()
    assert process.stored() == {0: {"succeeded": 2}, HOUR: {"dead": 1}}
    assert process.writes == 3


def test_run_counts_that_could_not_be_written_are_kept_reported_and_written_a_minute_later(process: Process) -> None:
    process.counts.add("acme", OK)
    (event,) = process.write(add=failing(OSError("throttled"))).events
    assert (event.action, event.alarming) == ("run_counts_not_written", False)
    assert event.facts == {"tenant": "acme", "error": "OSError: throttled"}
    process.counts.add("acme", OK)
    process.write()
    assert process.stored() == {}, "the minute is not over"
    process.clock.advance(60)
    process.write()
    assert process.stored() == {0: {"succeeded": 2}}


def test_run_counts_may_be_added_twice_if_the_response_is_lost(process: Process) -> None:
    process.counts.add("acme", OK)
    process.write(add=lost(NoAnswerError("timeout")))
    process.clock.advance(60)
    process.write()
    assert process.stored() == {0: {"succeeded": 2}}


def test_run_counts_that_an_invocation_has_no_time_to_write_are_written_by_the_next_one(process: Process) -> None:
    process.counts.write_postponed(Report(), process.clock.now() + 60)
    process.counts.add("acme", OK)
    process.counts.write_postponed(Report(), process.clock.now() + 60)
    assert process.stored() == {}, "an invocation writes at its end"
    process.write(left=9)
    assert process.stored() == {}
    process.counts.write_postponed(Report(), process.clock.now() + 60)
    assert process.stored() == {0: {"succeeded": 1}}


def test_run_counts_of_many_tenants_are_written_in_bounded_portions(process: Process) -> None:
    tenants = [f"tenant-{number:02}" for number in range(MAX_TENANTS + 5)]
    for tenant in tenants:
        process.counts.add(tenant, OK)
    process.write()
    assert process.writes == MAX_TENANTS
    process.write()
    assert process.writes == len(tenants)
    assert all(process.stored(tenant) == {0: {"succeeded": 1}} for tenant in tenants)


def test_run_counts_forget_tenants_without_recent_runs(process: Process) -> None:
    process.counts.add("acme", OK)
    process.write()
    process.clock.advance(60)
    process.counts.add("other", OK)
    process.write()
    assert [*process.counts._held] == ["other"]


@pytest.mark.parametrize(("state", "stored"), [("erased", {}), ("suspended", {0: {"succeeded": 1}})])
def test_run_counts_kept_for_long_are_not_written_for_an_erased_tenant(
    process: Process, state: str, stored: dict[int, dict[str, int]]
) -> None:
    process.counts.add("acme", OK)
    closed = {"closed": {"S": state}, "closed_at": {"N": str(NOON)}}
    process.stores.tables.write(Put(Table.JOBS, tenant_key("acme", RATE) | closed))
    process.clock.advance(FRESH_SECONDS + 1)
    process.write()
    assert process.stored() == stored
