"""An explicit-state model of the seats of workflows' steps: all orders of the operations of a few runs of one workflow.

Each run has one step, whose job has a seat. A worker takes the lock and writes the run's record in two operations. It
ends the run and releases the lock in two operations, and may die in between. A step's worker reads the workflow's run,
and then, within its invocation, starts a call that lasts as long as the invocation may. The lock, the records and the
decisions are the project's own; time passes between operations. Promised in every state: at most one call of the step's
job with a seat is in progress.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from duecourse.domain.jobs.job import Lane, Overlap
from duecourse.domain.runs.decision import Start
from duecourse.domain.runs.overlap import Lock, called_in_workflow, latest
from duecourse.domain.runs.states import Attempts, Dead, Deadlines, Final, Run, Running, RunState, Waiting
from duecourse.domain.runs.transitions import becomes, cancelled, dead, succeeded, waiting
from duecourse.domain.tenants.seats import Starting, has_seat
from duecourse.domain.workflows.check import workflow_fields
from duecourse.gates.places import Held, Overlaps
from duecourse.limits import WORKER_SECONDS
from duecourse.stores.run_item import lock_item, to_item
from duecourse.stores.runs import RunStore
from duecourse.stores.table import Table
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import MemoryStores
from tests.support.jobs import NOON, job
from tests.support.runs import run

INVOCATION = WORKER_SECONDS[Lane.NORMAL]
DEADLINE_SECONDS = 120
"""After this time a run of the workflow is ended by its deadline; it may be cancelled at any time."""

WORKFLOW = job("* * * * *", id="nightly", **workflow_fields("g", DEADLINE_SECONDS))
STEP = job("", id="extract", overlap=Overlap.ALLOW, workflow="nightly", seated=True)


class Call(NamedTuple):
    """A step's worker that has read its workflow's run, or calls: until when it may be at work."""

    until: float
    in_workflow: float | None
    began: bool = False
    seated: bool = False


class One(NamedTuple):
    """A run of the workflow: its record, the start that is to be written, its step."""

    record: Run | None = None
    starts: Start | None = None
    ended: bool = False
    worker: Call | None = None
    called: bool = False


class State(NamedTuple):
    """What is true at `now` (UTC seconds)."""

    now: float
    lock: Lock | None
    runs: tuple[One, ...]


@dataclass(frozen=True)
class Rules:
    """How far the clocks of the workflow's workers and of the step's are ahead of the time, and the faults that a
    test plants.
    """

    workflow_clock: float = 0.0
    step_clock: float = 0.0
    released: Callable[[Lock | None], Lock | None] = lambda lock: lock
    written: Callable[[float], float] = lambda called_until: called_until
    asked: Callable[[Run | None, float], float | None] = called_in_workflow


@dataclass(frozen=True)
class Broken:
    """The path to a state that breaks the promise."""

    path: tuple[str, ...]


def explore(rules: Rules, *, runs: int, tick: float, horizon: float) -> int | Broken:
    """Try all orders, each state once, the shortest way first; how many states there are."""
    begin = NOON + 60 * runs  # all of them have come due
    first = State(begin, None, (One(),) * runs)
    seen: dict[State, tuple[State, str] | None] = {first: None}
    pending = deque([first])
    while pending:
        state = pending.popleft()
        if sum(each.worker is not None and each.worker.seated for each in state.runs) > 1:
            return Broken(tuple(_way(seen, state)))
        for name, following in _moves(rules, state, tick, begin + horizon):
            if following not in seen:
                seen[following] = state, name
                pending.append(following)
    return len(seen)


def _way(seen: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    path = list[str]()
    while (came := seen[state]) is not None:
        state, name = came
        path.insert(0, name)
    return path


def _moves(rules: Rules, state: State, tick: float, horizon: float) -> Iterator[tuple[str, State]]:
    if state.now < horizon:
        yield f"{tick:g} s pass", _later(state, state.now + tick)
    for number, one in enumerate(state.runs):
        if number and state.runs[number - 1].record is None:
            continue  # runs come in their order, so that like states are one
        for name, lock, after in (*_workflow(rules, state, number, one), *_step(rules, state, one)):
            others = (*state.runs[:number], after, *state.runs[number + 1 :])
            yield f"run {number} {name}", State(state.now, lock, others)


def _later(state: State, now: float) -> State:
    """Invocations end at their deadlines, whatever they do."""

    def passed(one: One) -> One:
        worker = one.worker if one.worker is not None and now < one.worker.until else None
        starts = one.starts if one.starts is not None and now < one.starts.run.lease_until else None
        return one._replace(worker=worker, starts=starts)

    return State(now, state.lock, tuple(map(passed, state.runs)))


def _workflow(rules: Rules, state: State, number: int, one: One) -> Iterator[tuple[str, Lock | None, One]]:
    """What the workers of the workflow's run may do."""
    record, now = one.record, state.now + rules.workflow_clock
    records = tuple(each.record for each in state.runs if each.record is not None)
    if one.ended and record is not None:
        free = _released(state.lock, records, record, now)
        yield "releases the lock", rules.released(free), one._replace(ended=False)
        yield "dies before it releases the lock", state.lock, one._replace(ended=False)
        return
    if one.starts is not None:
        yield "writes its start", state.lock, one._replace(record=one.starts.run, starts=None)
        yield "dies before it writes its start", state.lock, one._replace(starts=None)
        return
    if _may_start(record, now):
        started = _started(record, number, now)
        taken, lock = _taken(state.lock, records, Start(started, record, "due", record), now)
        if isinstance(taken, Held):
            until = rules.written(latest(started.called_until, taken.called_until, 0.0) or 0.0)
            starts = Start(replace(started, called_until=until), record, "due", record)
            yield "takes the lock", lock, one._replace(starts=starts)
    if record is None or isinstance(record, Final):
        return
    assert isinstance(record, Running | Waiting)
    assert record.deadlines is not None
    if isinstance(record, Running):
        yield "has begun", state.lock, one._replace(record=waiting(record, record.deadlines))
    yield "is cancelled", state.lock, one._replace(record=cancelled(record, "cancelled", now), ended=True)
    if record.deadlines.waiting_until <= now:
        over = dead(record, "attempts_exhausted", now)
        yield "ends by its deadline", state.lock, one._replace(record=over, ended=True)
    if one.called and one.worker is None and isinstance(record, Waiting):
        yield "succeeds", state.lock, one._replace(record=succeeded(record, None, now), ended=True)


def _may_start(record: Run | None, now: float) -> bool:
    """A new run, a redrive, or one whose worker has died."""
    match record:
        case None | Dead():
            return True
        case Running(lease_until=until):
            return now > until + 10
        case _:
            return False


def _started(record: Run | None, number: int, now: float) -> Running:
    if record is None:
        fresh = run(WORKFLOW, RunState.QUEUED, after=60 * number, attempt=0, lane=Lane.NORMAL)
        record = replace(fresh, identity=replace(fresh.identity, workflow="nightly@g"))
    return becomes(record, Running)(
        attempts=Attempts(record.attempt + 1, now, now),
        lease_until=now + INVOCATION,
        deadlines=Deadlines(now + DEADLINE_SECONDS),
    )


def _step(rules: Rules, state: State, one: One) -> Iterator[tuple[str, Lock | None, One]]:
    """What the worker of the step may do. Its first attempt is its only one: others have no seat."""
    now, worker = state.now + rules.step_clock, one.worker
    if worker is None:
        if not one.called and one.record is not None and not isinstance(one.record, Final):
            told = rules.asked(one.record, now)
            read = Call(state.now + INVOCATION, told)
            yield "is read by its step", state.lock, one._replace(worker=read)
    elif not worker.began:
        start = Starting(STEP.generation, now, first=True, in_workflow=worker.in_workflow)
        seated = has_seat(STEP, Lane.NORMAL, start)
        calls = worker._replace(began=True, seated=seated, in_workflow=None)
        yield (
            f"has its step called {'with a seat' if seated else 'in bulk'}",
            state.lock,
            one._replace(worker=calls, called=True),
        )
        yield "loses its step's worker", state.lock, one._replace(worker=None)
    else:
        yield "has its step's call end", state.lock, one._replace(worker=None)


@cache
def _released(lock: Lock | None, records: tuple[Run, ...], record: Run, now: float) -> Lock | None:
    """The lock after its release."""
    overlaps, store = _overlaps(lock, records, now)
    overlaps.release(WORKFLOW, record)
    return store.locked("default", WORKFLOW.id)


@cache
def _taken(lock: Lock | None, records: tuple[Run, ...], start: Start, now: float) -> tuple[object, Lock | None]:
    """The answer to a start, and the lock after it."""
    overlaps, store = _overlaps(lock, records, now)
    return overlaps.take(WORKFLOW, start, now + INVOCATION), store.locked("default", WORKFLOW.id)


def _overlaps(lock: Lock | None, records: tuple[Run, ...], now: float) -> tuple[Overlaps, RunStore]:
    stores, clock = MemoryStores(), SettableClock(now)
    locks = () if lock is None else (lock_item("default", WORKFLOW.id, lock),)
    stores.tables.put_many(Table.RUNS, [*map(_item, records), *locks])
    runs = stores.run_store()
    return Overlaps(runs, stores.wait_queues(), stores.job_store(clock), clock), runs


_item = cache(to_item)
