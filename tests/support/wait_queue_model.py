"""What workers share: both tables and the lane, as values of a few jobs and a key. Every step makes a new state.

All that is large is held once (`Kept`, `Items`) and named by a number, so that states are compared and remembered
cheaply. Requests to the tables are evaluated by `duecourse.testing.table`, each once for the items that it concerns.
"""

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, NamedTuple

from duecourse.domain.ids import key_queue
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.overlap import PAUSE_PLACE, Lock, has_place, has_released, held_by
from duecourse.domain.runs.states import Run, RunState
from duecourse.gates.breaker import BreakerGate, BreakerState
from duecourse.gates.order import TIMED
from duecourse.gates.rate import RateGate, Spent
from duecourse.messages import RunMessage
from duecourse.stores.keys import LOCK, QUEUE_PREFIX, RUN_PREFIX, WATCH
from duecourse.stores.runs import RunStore
from duecourse.stores.table import Item, Put, Query, Scan, Table, Update
from duecourse.stores.waits import WaitQueues
from duecourse.testing.table import MemoryTables
from tests.support.replayed import Asked

VISIBLE_AFTER_SECONDS = 150
"""How long a delivered message is hidden from others."""

READS = frozenset({"job", "get", "query", "count"})

ACTIVE = frozenset({RunState.RUNNING, RunState.WAITING})


@dataclass
class Kept:
    """Numbers for values, from 1 on; 0 is None."""

    values: list[Any] = field(default_factory=lambda: [None])
    numbers: dict[Any, int] = field(default_factory=dict)

    def of(self, value: Any) -> int:
        """The number of a value."""
        if value is None:
            return 0
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.values)
            self.values.append(value)
        return number


RECORD, PLACE, QUEUED = RUN_PREFIX[:-1], LOCK, QUEUE_PREFIX[:-1]
"""Kinds of items, as are WATCH and those of gates: the sort keys up to the first `#`."""


class Stored(NamedTuple):
    """An item: whose it is (`owner`: a job, or the name of a key), its kind and the rest of its sort key, and what the
    stores read from it (`value`).
    """

    item: Item
    owner: str
    kind: str
    rest: str
    value: Any

    @property
    def name(self) -> str:
        """The run of a record."""
        return f"{self.owner}.{self.rest}"


@dataclass
class Items:
    """Numbers for items, from 0 on. `expires_at` is left out except in records: no store reads it, and nothing expires
    in a search.
    """

    values: list[Stored] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def of(self, item: Item) -> int:
        """The number of an item."""
        kind, _, rest = item["SK"]["S"].partition("#")
        kept = {name: item[name] for name in sorted(item) if name != "expires_at" or kind == RECORD}
        text = repr(kept)
        number = self.numbers.get(text)
        if number is None:
            number = self.numbers[text] = len(self.values)
            of, tenant, job_id = item["PK"]["S"].split("#")
            owner = key_queue(job_id) if of == "KEY" else job_id
            self.values.append(Stored(kept, owner, kind, rest, _read(kept, tenant, owner, kind, rest)))
        return number


def _read(item: Item, tenant: str, owner: str, kind: str, rest: str) -> Any:
    """What the stores read from an item."""
    tables = MemoryTables()
    tables.put_many(Table.RUNS, [item])
    runs, queues = RunStore(tables), WaitQueues(tables)
    if kind == RECORD:
        return runs.get(tenant, owner, rest)
    if kind == PLACE:
        return runs.locks(tenant, owner)[int(rest or 0)]
    if kind == QUEUED:
        return queues.waiting(tenant, owner, limit=1)[0]
    if kind == WATCH:
        return queues.watch(tenant, owner)
    return next(queues.state(tenant, owner[1:], gate) for gate in TIMED if gate.item == kind)


class Letter(NamedTuple):
    """A message in the lane, visible from a time on. `copy`: SQS delivers it once more under the same id."""

    visible: int
    message_id: int
    copy: int
    receives: int
    message: int


class Worker(NamedTuple):
    """An invocation with one letter. `node` is what it has been answered; `seen` are the entries of wait queues (owner
    and position) when it received the letter, none if its run had its place already. `most` is the highest limit of
    active runs that it or a worker beside it may have read (0: none); with a limit above 1, `beside` are the runs that
    were alive when it received the letter.
    """

    node: int
    message_id: int
    copy: int
    killed_at: int
    seen: tuple[tuple[str, str], ...]
    most: int = 0
    beside: tuple[str, ...] = ()


class Left(NamedTuple):
    """How much may still go wrong: `early` is how often time passes while something could be done, `limits` how often
    the limit of active runs changes, `refusals` how often the target refuses a call, which is no failure of it.
    """

    crashes: int = 0
    losses: int = 0
    copies: int = 0
    watches: int = 0
    early: int = 0
    failures: int = 0
    limits: int = 0
    refusals: int = 0


class State(NamedTuple):
    """Everything, by numbers of `Items` and `Kept`: `called` has each attempt that was called. `job` is the definition
    of the jobs that is in force. `paid` is when the paid starts begin. `probes` has the instants until which a breaker
    was open, at which a probe of it began, and at which its lease ends or it was given back.
    `active` are the runs that became active under a former limit, until they end or wait: they may continue beyond the
    present one.
    """

    time: int
    items: tuple[int, ...]
    lane: tuple[Letter, ...]
    workers: tuple[Worker, ...]
    left: Left
    called: tuple[tuple[int, int], ...]
    asked_to_end: tuple[tuple[int, int], ...]
    job: int = 0
    paid: tuple[float, ...] = ()
    probes: tuple[tuple[int, int, int], ...] = ()
    active: tuple[int, ...] = ()


def _pays(update: Update, before: Spent, after: Spent) -> bool:
    """Whether an update of a rate pays for a start. It counts anew if it also writes `given`: then it pays only for a
    slower rate.
    """
    names = {change.name for change in update.changes}
    return "paid" in names and ("given" not in names or after.step > before.step)


@dataclass
class Shared:
    """Answers questions: what DynamoDB and SQS do, without DynamoDB and SQS. Equal answers are the same object."""

    kept: Kept
    jobs: tuple[Job, ...] = ()
    items: Items = field(default_factory=Items)
    answers: dict[str, Any] = field(default_factory=dict)
    answered: dict[tuple[Asked, tuple[int, ...]], tuple[Any, tuple[int, ...]]] = field(default_factory=dict)
    named: dict[tuple[int, str], Job] = field(default_factory=dict)

    def stored(self, state: State, kind: str) -> list[Stored]:
        """The items of a kind."""
        return [stored for number in state.items if (stored := self.items.values[number]).kind == kind]

    def records(self, state: State) -> list[Run]:
        """The records of runs, in the order of the runs."""
        records = self.stored(state, RECORD)
        return [each.value for each in sorted(records, key=lambda each: self.kept.of(each.name))]

    def record(self, state: State, run_id: str) -> Run | None:
        """The record of a run."""
        return next((each.value for each in self.stored(state, RECORD) if each.name == run_id), None)

    def held(self, state: State, owner: str | None = None) -> list[Lock]:
        """The locks (of one wait queue) that a run holds whose end is not recorded: their items remain."""
        held = []
        for place in self.stored(state, PLACE):
            lock, whose = place.value, place.owner
            if not lock.holder or owner not in (None, whose):
                continue
            holder = self.record(state, str(held_by(lock.holder, whose)))
            if whose.startswith("*"):
                held += [lock] * has_place(lock, holder, whose[1:], now=state.time)
            elif holder is None or not has_released(lock, holder):
                held.append(lock)
        return held

    def is_paused(self, state: State, owner: str) -> bool:
        """Whether the key of this wait queue is paused."""
        places = (each for each in self.stored(state, PLACE) if each.owner == owner and each.rest == str(PAUSE_PLACE))
        return any(state.time < place.value.until for place in places)

    def job(self, state: State, job_id: str) -> Job:
        """A job as it is defined now."""
        return self.named.setdefault((state.job, job_id), replace(self.jobs[state.job], id=job_id))

    def tables(self, numbers: tuple[int, ...]) -> MemoryTables:
        """Both tables with these items."""
        tables = MemoryTables()
        tables.put_many(Table.RUNS, [self.items.values[number].item for number in numbers])
        return tables

    def answer(self, state: State, asked: Asked) -> tuple[Any, State]:
        """What a port answers, and the state after it."""
        match asked.what, asked.with_:
            case "job", (job_id,):
                return self.job(state, job_id), state
            case "send", (message, delay):
                return True, self.posted(state, message, delay)
        concerned = tuple(number for number in state.items if _concerns(asked, self.items.values[number].item))
        found = self.answered.get((asked, concerned))
        if found is None:
            assert getattr(asked.with_[0], "table", asked.with_[0]) is Table.RUNS, f"nobody answers {asked}"
            tables = self.tables(concerned)
            answer = getattr(tables, asked.what)(*asked.with_)
            reads = asked.what in READS
            after = concerned if reads else tuple(map(self.items.of, tables.scan(Scan(Table.RUNS)).items))
            found = self.answered[asked, concerned] = self.answers.setdefault(repr(answer), answer), after
        answer, after = found
        if asked.what in READS or not answer.held:
            return answer, state
        items = tuple(sorted({*state.items}.difference(concerned).union(after)))
        old, new = (next((self.items.values[number] for number in each), None) for each in (concerned, after))
        return answer, self._noted(state._replace(items=items), asked.with_[0], old, new)

    def _noted(self, state: State, write: Any, old: Stored | None, new: Stored | None) -> State:
        """The state with what the promises need to know of a write."""
        before = None if old is None else old.value
        if new is None:
            return state
        if new.kind == RECORD and new.value.state not in ACTIVE:
            number = self.kept.of(new.name)
            return state._replace(active=tuple(each for each in state.active if each != number))
        if new.kind == RateGate.item and _pays(write, before or Spent(), new.value):
            burst = max(job.rate.burst for job in self.jobs if job.rate is not None)
            # The worker may hold the start until then, as `start_paid_by`.
            paid = (new.value.paid - burst * new.value.step) / 1_000_000
            return state._replace(paid=(*state.paid, max(float(state.time), paid)))
        if new.kind == BreakerGate.item:
            return state._replace(probes=_probes(state, before or BreakerState(), new.value))
        return state

    def posted(self, state: State, message: RunMessage, delay: float = 0) -> State:
        """The state with a message in the lane."""
        letter = Letter(ceil(state.time + delay), self.kept.of(("sent", message.nonce)), 0, 0, self.kept.of(message))
        return state._replace(lane=tuple(sorted([*state.lane, letter])))


def _concerns(asked: Asked, item: Item) -> bool:
    """Whether a request reads or writes this item, if a query selects its whole partition."""
    match asked.with_:
        case (Query(partition=partition),):
            return bool(item["PK"]["S"] == partition)
        case (Table(), key) | (Put(item=key), _):
            pass
        case (write, _):
            key = write.key
    return bool(item["PK"] == key["PK"] and item["SK"] == key["SK"])


def _probes(state: State, before: BreakerState, after: BreakerState) -> tuple[tuple[int, int, int], ...]:
    if after.probe and after.probe != before.probe:
        return (*state.probes, (after.open_until, state.time, after.probe_until))
    if before.probe and not after.probe and after.open_until == before.open_until:  # it is given back
        return (*state.probes[:-1], (*state.probes[-1][:2], state.time))
    return state.probes
