"""Stores of limits of concurrency keys, and the wait queues and locks of keys."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.ids import RunIdentity, key_line
from duecourse.domain.jobs.job import Concurrency, Lane, Rate
from duecourse.domain.runs.overlap import KeyLimit, Lock, QueuePosition, position_in
from duecourse.gates.breaker import BreakerGate, BreakerState, counted_failure, replaced
from duecourse.gates.rate import Change, Hold, Move, RateGate, Recount, Spent, write_of
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import Watch
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, stored_job
from tests.support.tables import Tables

FIVE = KeyLimit("default", "crm-eu", {"concurrency": 5}, NOON, "ann")


def test_key_limits_limit_comes_back_as_it_was_written(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON)).key_limits
    assert store.get("default", "crm-eu") is None
    assert store.put(FIVE)
    assert store.get("default", "crm-eu") == FIVE
    assert store.get("other", "crm-eu") is None
    closed = replace(FIVE, values={"concurrency": 0})
    assert not store.put(closed)
    assert store.get("default", "crm-eu") == closed
    rate = replace(FIVE, values={"per_minute": 60, "burst": 10})
    assert not store.put(rate)
    assert store.get("default", "crm-eu") == rate
    assert store.delete("default", "crm-eu")
    assert not store.delete("default", "crm-eu")
    assert store.get("default", "crm-eu") is None


def test_key_limits_are_listed_page_by_page(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON)).key_limits
    for key in "cab":
        assert store.put(replace(FIVE, key=key))
    assert store.put(replace(FIVE, tenant="other"))
    first = store.page("default", limit=2, after=None)
    assert ([each.key for each in first.items], first.following) == (["a", "b"], "b")
    second = store.page("default", limit=2, after="b")
    assert ([each.key for each in second.items], second.following) == (["c"], None)


def test_key_limits_job_keeps_its_key_and_limit(any_tables: Tables) -> None:
    store = any_tables.job_store(SettableClock(NOON))
    made = stored_job(store, concurrency=Concurrency("crm-{{payload.region}}", 5), rate=Rate("crm", 60, 10))
    assert store.get("default", made.id) == made


def waiting(job_id: str, second: int, priority: int = 0) -> RunMessage:
    at = int(NOON) + second
    identity = RunIdentity("default", job_id, at, at, generation=5, wait_priority=priority)
    return RunMessage(identity, Lane.NORMAL, float(at), f"{job_id}-{second}", waited=True, key="crm")


def test_key_limits_runs_of_several_jobs_wait_in_one_queue_by_due_time(any_tables: Tables) -> None:
    lines, line = any_tables.wait_queues(), key_line("crm")
    entries = [waiting("b", 60), waiting("a", 60), waiting("b", 0)]
    assert [lines.enter(each, expires_at=int(NOON) + 999) for each in entries] == [True] * 3
    assert not lines.enter(entries[1], expires_at=int(NOON) + 999)
    found = [str(each.name) for each in lines.waiting("default", line, limit=9)]
    assert found == ["b.20261121T120000Z", "a.20261121T120100Z", "b.20261121T120100Z"]
    assert lines.length("default", line, limit=2) == 2
    assert lines.waiting("default", "a", limit=9) == lines.waiting("other", line, limit=9) == []
    assert lines.leave("default", line, QueuePosition(int(NOON), "b.20261121T120000Z"), through=1)
    assert len(lines.waiting("default", line, limit=9)) == 2


def test_key_limits_runs_of_a_higher_priority_wait_in_front(any_tables: Tables) -> None:
    lines, line = any_tables.wait_queues(), key_line("crm")
    entries = [waiting(f"p{priority}", 60 * priority, priority) for priority in (0, 1, 8, 9)] + [waiting("p9", 0, 9)]
    for each in entries:
        assert lines.enter(each, expires_at=int(NOON) + 999)
    expected = ["p9.20261121T120000Z", "p9.20261121T120900Z", "p8.20261121T120800Z", "p1.20261121T120100Z"]
    assert [str(each.name) for each in lines.waiting("default", line, limit=4)] == expected
    position = position_in(line, entries[2])
    assert not lines.leave("default", line, replace(position, negated_priority=0), through=1)
    assert lines.leave("default", line, position, through=1)


def test_key_limits_places_of_a_key_are_apart_from_the_locks_of_a_job(any_tables: Tables) -> None:
    runs, line = any_tables.run_store(), key_line("crm")
    first, second = Lock("a.20261121T120000Z", NOON, 2), Lock("b.20261121T120000Z", NOON, 2)
    assert runs.lock("default", line, first, None) is None
    assert runs.lock("default", line, second, None, place=1) is None
    assert runs.lock("default", line, second, None) == first
    assert runs.locks("default", line) == {0: first, 1: second}
    assert runs.locks("default", "crm") == runs.locks("other", line) == {}


def test_key_limits_watch_of_a_key_is_apart_from_that_of_a_job(any_tables: Tables) -> None:
    lines, watch = any_tables.wait_queues(), Watch("n", NOON)
    assert lines.set_watch("default", key_line("crm"), watch, None, expires_at=int(NOON) + 999)
    assert lines.watch("default", key_line("crm")) == watch
    assert lines.watch("default", "crm") is None


def test_key_limits_message_keeps_its_key() -> None:
    message = waiting("a", 0)
    assert read_run_message(message.to_json()) == message
    assert (message.line, replace(message, key=None).line) == ("*crm", "a")


def test_key_limits_starts_of_a_rate_are_counted_only_if_the_condition_of_a_move_holds(any_tables: Tables) -> None:
    lines = any_tables.wait_queues()

    def change(move: Change) -> tuple[bool, Spent]:
        return lines.change("default", "crm", RateGate(), write_of(move), expires_at=int(NOON) + 86_400)

    def spend(counter: str, low: int, high: int, *, to: int | None = None, step: int = 10) -> tuple[bool, Spent]:
        return change(Move(counter, low, high, step, to))

    def hold(until: int) -> tuple[bool, Spent]:
        return change(Hold(until))

    def recount(before: Spent, after: Spent) -> tuple[bool, Spent]:
        return change(Recount(before, after))

    assert lines.state("default", "crm", RateGate()) == Spent()
    assert spend("paid", 100, 200) == (False, Spent())
    assert spend("paid", 100, 200, to=110) == (True, Spent(110, step=10))
    assert spend("paid", 100, 200, to=110) == (False, Spent(110, step=10))
    assert spend("paid", 100, 110) == (True, Spent(120, step=10))
    assert spend("paid", 100, 110) == (False, Spent(120, step=10))
    assert spend("paid", 121, 200) == (False, Spent(120, step=10))
    assert spend("paid", 100, 200, step=11) == (False, Spent(120, step=10))
    assert recount(Spent(120, 1, 10), Spent(130, 1, 20)) == (False, Spent(120, step=10))
    assert recount(Spent(120, 0, 10), Spent(130, 0, 20)) == (True, Spent(130, step=20))
    assert recount(Spent(120, 0, 10), Spent(130, 0, 20)) == (False, Spent(130, step=20))
    assert recount(Spent(130, 0, 20), Spent(120, 0, 10)) == (True, Spent(120, step=10))
    assert spend("line", 100, 200, to=150) == (True, Spent(120, 150, 10))
    assert spend("line", 100, 200, step=7) == (True, Spent(120, 157, 10))
    assert lines.state("default", "crm", RateGate()) == Spent(120, 157, 10)
    assert recount(Spent(120, 157, 10), Spent(110, 130, 5)) == (True, Spent(110, 130, 5))
    assert hold(150) == (True, Spent(110, 130, 5, 150))
    assert hold(149) == (False, Spent(110, 130, 5, 150))
    assert spend("paid", 100, 200, step=5) == (False, Spent(110, 130, 5, 150))
    assert spend("paid", 149, 200, to=170) == (False, Spent(110, 130, 5, 150))
    assert spend("line", 100, 200, step=5) == (True, Spent(110, 135, 5, 150))
    assert recount(Spent(110, 135, 5), Spent(110, 135, 10)) == (False, Spent(110, 135, 5, 150))
    assert recount(Spent(110, 135, 5, 150), Spent(110, 135, 10, 150)) == (True, Spent(110, 135, 10, 150))
    assert spend("paid", 150, 200, to=170) == (True, Spent(170, 135, 10, 150))
    assert spend("paid", 150, 200) == (True, Spent(180, 135, 10, 150))
    assert lines.state("default", "erp", RateGate()) == lines.state("other", "crm", RateGate()) == Spent()


def test_key_limits_breaker_is_replaced_only_if_it_is_as_it_was_read(any_tables: Tables) -> None:
    lines, later = any_tables.wait_queues(), int(NOON) + 86_400

    def change(state: BreakerState, previous: BreakerState) -> tuple[bool, BreakerState]:
        return lines.change("default", "crm", BreakerGate(), replaced(previous, state), expires_at=later)

    def count() -> tuple[bool, BreakerState]:
        return lines.change("default", "crm", BreakerGate(), counted_failure(), expires_at=later)

    opened, probing = BreakerState(2, 100, 60), BreakerState(2, 100, 60, "token", 190)
    assert lines.state("default", "crm", BreakerGate()) == BreakerState()
    assert count() == (True, BreakerState(1))
    assert count() == (True, BreakerState(2))
    assert change(opened, BreakerState(1)) == (False, BreakerState(2))
    assert change(opened, BreakerState(2)) == (True, opened)
    assert change(opened, BreakerState(2)) == (True, opened), "only the response was lost"
    assert change(probing, opened) == (True, probing)
    assert change(replace(probing, probe="other"), opened) == (False, probing)
    assert lines.state("default", "crm", BreakerGate()) == probing
    assert count() == (True, replace(probing, failures=3))
    assert change(BreakerState(), probing) == (False, replace(probing, failures=3))
    assert change(BreakerState(), replace(probing, failures=3)) == (True, BreakerState())
    assert lines.state("default", "crm", BreakerGate()) == lines.state("other", "crm", BreakerGate()) == BreakerState()


def test_key_limits_rate_and_breaker_are_read_consistently_only_on_request() -> None:
    asked = []

    class Client:
        def get_item(self, **request: object) -> dict[str, object]:
            asked.append(request["ConsistentRead"])
            return {}

    lines = Tables(Client(), "jobs", "runs").wait_queues()
    for strongly in (False, True):
        assert lines.state("default", "crm", RateGate(), strongly=strongly) == Spent()
        assert lines.state("default", "crm", BreakerGate(), strongly=strongly) == BreakerState()
    assert asked == [False, False, True, True]
