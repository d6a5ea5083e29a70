"""The list of delayed runs across jobs, on every emulator that executes conditions rightly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from duecourse.domain.ids import RunIdentity, RunName
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import RunState
from duecourse.messages import RunMessage
from duecourse.ports import Input, Listed, StateMark, Timer
from duecourse.stores.delayed_runs import DelayedRuns
from duecourse.stores.inputs import Inputs
from duecourse.stores.run_item import Listing
from duecourse.stores.runs import FoundRun
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run
from tests.support.tables import Tables

TENANT = "default"
LATER = int(NOON) + 400 * 86_400
JOBS = ("alpha", "beta")
GENERATION = int(NOON * 1000)


def suffix(number: int) -> str:
    return f".m{number:08}"


@pytest.fixture
def tables(any_tables: Tables) -> Tables:
    """Tables with two jobs."""
    for name in JOBS:
        made = job("", id=name)
        assert any_tables.job_store(SettableClock(NOON)).create(made, cursor(made))
    return any_tables


def requested(tables: Tables, number: int, seconds: int, job_id: str = "alpha", tenant: str = TENANT) -> RunName:
    """Request a run that is due so many seconds after noon; its name."""
    due = int(NOON) + seconds
    wanted = Input(
        suffix=suffix(number),
        requested_at=NOON,
        requested_by="anna",
        fingerprint="f",
        generation=GENERATION,
        expires_at=LATER,
        occurrence=due,
        delayed=True,
    )
    assert tables.inputs().put(tenant, job_id, wanted) is None
    assert tables.inputs().get(tenant, job_id, wanted.suffix) == wanted
    return RunName(job_id, due, wanted.suffix)


def delayed(tables: Tables, number: int, seconds: int, job_id: str = "alpha", generation: int = GENERATION) -> RunName:
    """Request a run and write its timer; its name."""
    name = requested(tables, number, seconds, job_id)
    at = name.occurrence
    identity = RunIdentity(TENANT, job_id, at, at, generation, suffix=name.suffix, requested_by="anna")
    tables.timers().put(Timer(RunMessage(identity, Lane.NORMAL, float(at), f"nonce{number}"), at))
    return name


def page(
    tables: Tables,
    *,
    first: int = 0,
    end: int = LATER,
    now: float = NOON,
    limit: int = 10,
    examined: int = 100,
    after: StateMark | None = None,
) -> Listed[FoundRun, StateMark]:
    return tables.delayed_runs().page(TENANT, first, end, now=now, limit=limit, examined=examined, after=after)


def names(found: Listed[FoundRun, StateMark]) -> list[RunName]:
    return [each.run.name for each in found.items]


def test_delayed_runs_are_listed_across_jobs_in_the_order_of_their_due_times(tables: Tables) -> None:
    third, first, second = delayed(tables, 1, 900, "beta"), delayed(tables, 2, 300), delayed(tables, 3, 600, "beta")
    requested(tables, 4, 500, tenant="other")
    found = page(tables)
    assert (names(found), found.following) == ([first, second, third], None)
    one = found.items[0].run
    assert (one.state, one.due, one.requested_by) == (RunState.QUEUED, NOON + 300, "anna")
    assert one.attempts_allowed == job("").attempts_allowed


def test_delayed_runs_window_contains_its_start_but_not_its_end(tables: Tables) -> None:
    due = [delayed(tables, number, 100 * number) for number in range(1, 6)]
    start, end = int(NOON) + 200, int(NOON) + 400
    assert names(page(tables, first=start, end=end)) == due[1:3]
    assert names(page(tables, first=start, end=start)) == []
    assert names(page(tables, first=end, end=start)) == []


def test_delayed_runs_that_are_due_are_no_longer_listed(tables: Tables) -> None:
    _, second = delayed(tables, 1, 300), delayed(tables, 2, 301)
    assert names(page(tables, now=NOON + 300.5)) == [second]
    assert names(page(tables, now=NOON + 301)) == []


def test_delayed_runs_need_a_timer_and_a_job_and_no_record(tables: Tables) -> None:
    requested(tables, 1, 300)  # the request was interrupted before the timer
    delayed(tables, 2, 300, "unknown")
    delayed(tables, 3, 300, generation=GENERATION - 1)  # of an earlier job with the same id
    ended = delayed(tables, 4, 300)
    record = run(job("", id="alpha"), RunState.CANCELLED, after=300, suffix=ended.suffix, attempt=0)
    assert record.name == ended
    assert tables.run_store().write(record, None) is None
    kept = delayed(tables, 5, 300)
    assert names(page(tables)) == [kept]


def test_delayed_runs_immediate_requests_are_not_listed(tables: Tables) -> None:
    name = delayed(tables, 1, 300)
    wanted = tables.inputs().get(TENANT, "alpha", name.suffix)
    assert wanted is not None
    assert tables.inputs().put(TENANT, "alpha", replace(wanted, suffix=suffix(2), delayed=False)) is None
    found = tables.inputs().get(TENANT, "alpha", suffix(2))
    assert found is not None
    assert not found.delayed
    assert names(page(tables)) == [name]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_delayed_runs_pages_have_each_run_once_also_with_equal_due_times(tables: Tables, limit: int) -> None:
    due = {delayed(tables, number, 300 + 60 * (number // 6), JOBS[number % 2]) for number in range(18)}
    listed, after, pages = list[RunName](), None, 0
    while pages == 0 or after is not None:
        found = page(tables, limit=limit, after=after)
        listed += names(found)
        after, pages = found.following, pages + 1
    assert len(listed) == len(due)
    assert set(listed) == due
    assert [name.occurrence for name in listed] == sorted(name.occurrence for name in due)


def test_delayed_runs_page_continues_after_its_mark_has_come_due(tables: Tables) -> None:
    due = [delayed(tables, number, 100 * number) for number in range(1, 6)]
    first = page(tables, limit=2)
    assert names(first) == due[:2]
    assert names(page(tables, after=first.following, now=NOON + 350)) == due[3:]
    assert names(page(tables, after=first.following, end=int(NOON) + 150)) == []


def test_delayed_runs_page_checks_a_bounded_number_of_entries(tables: Tables) -> None:
    for number in range(40):
        requested(tables, number, 300 + number)
    last = delayed(tables, 40, 900)
    found = page(tables, examined=30)
    assert (names(found), found.following is None) == ([], False)
    rest = page(tables, examined=30, after=found.following)
    assert (names(rest), rest.following) == ([last], None)


def test_delayed_runs_are_charged_before_they_are_checked(tables: Tables) -> None:
    for number in range(60):
        delayed(tables, number, 300)
    paid: list[int] = []

    def refuse(requests: int) -> None:
        paid.append(requests)
        raise PermissionError

    window = {"now": NOON, "limit": 100, "examined": 100, "charge": refuse}
    with pytest.raises(PermissionError):
        tables.delayed_runs().page(TENANT, 0, LATER, **window)
    assert paid == [1 + (8 + 60) // 50]
    assert tables.delayed_runs().page("other", 0, LATER, **window).items == []
    paid.clear()
    window["charge"] = paid.append
    assert len(tables.delayed_runs().page(TENANT, 0, LATER, **window).items) == 60
    assert paid == [1 + (8 + 60) // 50, 1]


def test_delayed_runs_of_other_than_the_chosen_jobs_are_skipped(tables: Tables) -> None:
    for number in range(30):
        delayed(tables, number, 300, "beta")
    kept = delayed(tables, 30, 600)
    found = tables.delayed_runs().page(
        TENANT, 0, LATER, now=NOON, limit=1, examined=100, chosen=lambda job_ids: job_ids & {"alpha"}
    )
    assert names(found) == [kept]


def test_delayed_runs_listed_by_fewer_partitions_are_found_by_more(tables: Tables) -> None:
    few, many = (Listing(partitions=count) for count in (2, 16))
    due: Sequence[RunName] = []
    for number in range(8):
        name = delayed(tables, number, 300 + number)
        wanted = tables.inputs().get(TENANT, "alpha", name.suffix)
        assert wanted is not None
        again = replace(wanted, suffix=suffix(100 + number))
        inputs = Inputs(tables.both(), few if number % 2 else many)
        assert inputs.put(TENANT, "alpha", again) is None
        identity = RunIdentity(TENANT, "alpha", name.occurrence, name.occurrence, GENERATION, suffix=again.suffix)
        at = float(name.occurrence)
        tables.timers().put(Timer(RunMessage(identity, Lane.NORMAL, at, "n"), name.occurrence))
        due = [*due, name, RunName("alpha", name.occurrence, again.suffix)]
    found = DelayedRuns(tables.both(), listing=many).page(TENANT, 0, LATER, now=NOON, limit=50, examined=50)
    assert set(names(found)) == set(due)
