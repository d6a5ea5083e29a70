"""Stores of limits of concurrency keys, and the wait queues and locks of keys."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.ids import RunIdentity, key_queue
from duecourse.domain.jobs.job import Concurrency, Lane, Rate
from duecourse.domain.runs.overlap import KeyLimit, Lock, QueuePosition, position_in
from duecourse.gates.breaker import BreakerGate, BreakerState, counted_failure, replaced
from duecourse.gates.rate import Change, Move, PauseKey, RateGate, Recount, Spent, write_of
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import QueueWatch
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
    queues, queue = any_tables.wait_queues(), key_queue("crm")
    entries = [waiting("b", 60), waiting("a", 60), waiting("b", 0)]
    assert [queues.enter(each, expires_at=int(NOON) + 999) for each in entries] == [True] * 3
    assert not queues.enter(entries[1], expires_at=int(NOON) + 999)
    found = [str(each.name) for each in queues.waiting("default", queue, limit=9)]
    assert found == ["b.20261121T120000Z", "a.20261121T120100Z", "b.20261121T120100Z"]
    assert queues.length("default", queue, limit=2) == 2
    assert queues.waiting("default", "a", limit=9) == queues.waiting("other", queue, limit=9) == []
    assert queues.leave("default", queue, QueuePosition(int(NOON), "b.20261121T120000Z"), through=1)
    assert len(queues.waiting("default", queue, limit=9)) == 2


def test_key_limits_runs_of_a_higher_priority_wait_in_front(any_tables: Tables) -> None:
    queues, queue = any_tables.wait_queues(), key_queue("crm")
    entries = [waiting(f"p{priority}", 60 * priority, priority) for priority in (0, 1, 8, 9)] + [waiting("p9", 0, 9)]
    for each in entries:
        assert queues.enter(each, expires_at=int(NOON) + 999)
    expected = ["p9.20261121T120000Z", "p9.20261121T120900Z", "p8.20261121T120800Z", "p1.20261121T120100Z"]
    assert [str(each.name) for each in queues.waiting("default", queue, limit=4)] == expected
    position = position_in(queue, entries[2])
    assert not queues.leave("default", queue, replace(position, negated_priority=0), through=1)
    assert queues.leave("default", queue, position, through=1)


def test_key_limits_places_of_a_key_are_apart_from_the_locks_of_a_job(any_tables: Tables) -> None:
    runs, queue = any_tables.run_store(), key_queue("crm")
    first, second = Lock("a.20261121T120000Z", NOON, 2), Lock("b.20261121T120000Z", NOON, 2)
    assert runs.lock("default", queue, first, None) is None
    assert runs.lock("default", queue, second, None, place=1) is None
    assert runs.lock("default", queue, second, None) == first
    assert runs.locks("default", queue) == {0: first, 1: second}
    assert runs.locks("default", "crm") == runs.locks("other", queue) == {}


def test_key_limits_first_runs_and_places_are_read_together_whatever_their_numbers(any_tables: Tables) -> None:
    runs, queues, queue = any_tables.run_store(), any_tables.wait_queues(), key_queue("crm")
    assert queues.first_and_places("default", "crm", 2) == ([], {})
    places = {place: Lock(f"a.2026112{place}T120000Z", NOON, 2) for place in range(9)}
    for place, lock in places.items():
        assert runs.lock("default", queue, lock, None, place=place) is None
    entries = [waiting("a", 60 * number) for number in range(12)]
    for each in entries:
        assert queues.enter(each, expires_at=int(NOON) + 999)
    change = counted_failure()
    assert queues.change("default", "crm", BreakerGate(), change, expires_at=int(NOON) + 999)[0]
    assert queues.set_watch("default", queue, QueueWatch("n", NOON), None, expires_at=int(NOON) + 999)
    for limit in (1, 4, 9):
        assert queues.first_and_places("default", "crm", limit) == (entries[:limit], places)
    assert queues.first_and_places("other", "crm", 2) == ([], {})


def test_key_limits_limits_and_states_are_read_together(any_tables: Tables) -> None:
    queues, store = any_tables.wait_queues(), any_tables.job_store(SettableClock(NOON)).key_limits
    breaker, nothing = BreakerGate(), BreakerState()
    assert queues.read("default", [("crm-eu", breaker)], {"crm-eu"}) == ([nothing], {})
    assert store.put(FIVE)
    assert queues.change("default", "crm-eu", breaker, counted_failure(), expires_at=int(NOON) + 999)[0]
    gates = [("crm-eu", breaker), ("crm-us", breaker)]
    assert queues.read("default", gates, {"crm-eu", "crm-us"}) == ([BreakerState(1), nothing], {"crm-eu": FIVE})
    assert queues.read("default", gates, ()) == ([BreakerState(1), nothing], {})
    assert queues.read("other", [], {"crm-eu"}) == ([], {})


def test_key_limits_watch_of_a_key_is_apart_from_that_of_a_job(any_tables: Tables) -> None:
    queues, watch = any_tables.wait_queues(), QueueWatch("n", NOON)
    assert queues.set_watch("default", key_queue("crm"), watch, None, expires_at=int(NOON) + 999)
    assert queues.watch("default", key_queue("crm")) == watch
    assert queues.watch("default", "crm") is None


def test_key_limits_message_keeps_its_key() -> None:
    message = waiting("a", 0)
    assert read_run_message(message.to_json()) == message
    assert (message.wait_queue, replace(message, key=None).wait_queue) == ("*crm", "a")


def test_key_limits_starts_of_a_rate_are_counted_only_if_the_condition_of_a_move_holds(any_tables: Tables) -> None:
    queues = any_tables.wait_queues()

    def change(move: Change) -> tuple[bool, Spent]:
        return queues.change("default", "crm", RateGate(), write_of(move), expires_at=int(NOON) + 86_400)

    def spend(counter: str, low: int, high: int, *, to: int | None = None, step: int = 10) -> tuple[bool, Spent]:
        return change(Move(counter, low, high, step, to))

    def hold(until: int) -> tuple[bool, Spent]:
        return change(PauseKey(until))

    def recount(before: Spent, after: Spent) -> tuple[bool, Spent]:
        return change(Recount(before, after))

    assert queues.state("default", "crm", RateGate()) == Spent()
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
    assert spend("given", 100, 200, to=150) == (True, Spent(120, 150, 10))
    assert spend("given", 100, 200, step=7) == (True, Spent(120, 157, 10))
    assert queues.state("default", "crm", RateGate()) == Spent(120, 157, 10)
    assert recount(Spent(120, 157, 10), Spent(110, 130, 5)) == (True, Spent(110, 130, 5))
    assert hold(150) == (True, Spent(110, 130, 5, 150))
    assert hold(149) == (False, Spent(110, 130, 5, 150))
    assert spend("paid", 100, 200, step=5) == (False, Spent(110, 130, 5, 150))
    assert spend("paid", 149, 200, to=170) == (False, Spent(110, 130, 5, 150))
    assert spend("given", 100, 200, step=5) == (True, Spent(110, 135, 5, 150))
    assert recount(Spent(110, 135, 5), Spent(110, 135, 10)) == (False, Spent(110, 135, 5, 150))
    assert recount(Spent(110, 135, 5, 150), Spent(110, 135, 10, 150)) == (True, Spent(110, 135, 10, 150))
    assert spend("paid", 150, 200, to=170) == (True, Spent(170, 135, 10, 150))
    assert spend("paid", 150, 200) == (True, Spent(180, 135, 10, 150))
    assert queues.state("default", "erp", RateGate()) == queues.state("other", "crm", RateGate()) == Spent()


def test_key_limits_breaker_is_replaced_only_if_it_is_as_it_was_read(any_tables: Tables) -> None:
    queues, later = any_tables.wait_queues(), int(NOON) + 86_400

    def change(state: BreakerState, previous: BreakerState) -> tuple[bool, BreakerState]:
        return queues.change("default", "crm", BreakerGate(), replaced(previous, state), expires_at=later)

    def count() -> tuple[bool, BreakerState]:
        return queues.change("default", "crm", BreakerGate(), counted_failure(), expires_at=later)

    opened, probing = BreakerState(2, 100, 60), BreakerState(2, 100, 60, "token", 190)
    assert queues.state("default", "crm", BreakerGate()) == BreakerState()
    assert count() == (True, BreakerState(1))
    assert count() == (True, BreakerState(2))
    assert change(opened, BreakerState(1)) == (False, BreakerState(2))
    assert change(opened, BreakerState(2)) == (True, opened)
    assert change(opened, BreakerState(2)) == (True, opened), "only the response was lost"
    assert change(probing, opened) == (True, probing)
    assert change(replace(probing, probe="other"), opened) == (False, probing)
    assert queues.state("default", "crm", BreakerGate()) == probing
    assert count() == (True, replace(probing, failures=3))
    assert change(BreakerState(), probing) == (False, replace(probing, failures=3))
    assert change(BreakerState(), replace(probing, failures=3)) == (True, BreakerState())
    assert (
        queues.state("default", "crm", BreakerGate()) == queues.state("other", "crm", BreakerGate()) == BreakerState()
    )


def test_key_limits_rate_and_breaker_are_read_consistently_only_on_request() -> None:
    asked = []

    class Client:
        def get_item(self, **request: object) -> dict[str, object]:
            asked.append(request["ConsistentRead"])
            return {}

    queues = Tables(Client(), "jobs", "runs").wait_queues()
    for strongly in (False, True):
        assert queues.state("default", "crm", RateGate(), strongly=strongly) == Spent()
        assert queues.state("default", "crm", BreakerGate(), strongly=strongly) == BreakerState()
    assert asked == [False, False, True, True]


def test_key_limits_limits_are_read_consistently_with_the_states_of_gates() -> None:
    asked = []

    class Client:
        def batch_get_item(self, **request: dict[str, dict[str, object]]) -> dict[str, object]:
            asked.append({table: of.get("ConsistentRead") for table, of in request["RequestItems"].items()})
            return {"Responses": {}}

    queues = Tables(Client(), "jobs", "runs").wait_queues()
    assert queues.read("default", [("crm", RateGate())], {"crm"}) == ([Spent()], {})
    assert asked == [{"jobs": True, "runs": None}]
