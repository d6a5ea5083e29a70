"""Asks the gates of an attempt in their order, and executes what they return.

This remains if a later gate makes the run wait, or if the start fails before its record is written:

| gate | writes | if a later gate makes the run wait | if the start fails |
|---|---|---|---|
| overlap | lock or place | it remains, and the run leaves the wait queue | another start takes it after its end |
| look | nothing | | |
| key | place | it remains | it is free after its end, or once the record shows another state |
| enter | what the gate returns | a start that a rate has counted is lost | `not_started` gives a probe back |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.decision import RetryLater, Start
from duecourse.domain.runs.overlap import KeyLimit, Skip, Wait
from duecourse.domain.runs.rendering import Prepared
from duecourse.domain.runs.states import Queued, Retrying, Run
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.domain.targets.template import TemplateError
from duecourse.gates.gate import At, CallEnd, Gate, KeyBusyError, Note, Starting, Write
from duecourse.gates.key import key_of, limit_of, with_priority
from duecourse.gates.order import TIMED
from duecourse.gates.places import Held, Overlaps
from duecourse.ports import Clock, Conflict, Randomness

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.waits import WaitQueues

MAX_WRITES = 4
"""The maximum number of writes if other workers write first."""

BUSY_SECONDS = 2
"""A run tries again after this time (seconds) if other workers were first at each write."""

GATE_HOLD_SECONDS = 2.0
"""A worker holds a run up to this many seconds until its start. The queue delivers a message up to a second after the
instant of its run, and so the starts of a key come up to a second and a few requests after the instants. A run that
cannot be held waits again, behind all others.
"""

AnyGate = Gate[Any, Any]


@dataclass(frozen=True, slots=True)
class Ticket:
    """A gate of an attempt, its key and the limit for it, and its state when it was read or the attempt entered.
    `stored`: the limit applies to all jobs with the key.
    """

    gate: AnyGate
    key: str
    state: Any
    limit: Any
    stored: bool


@dataclass(frozen=True, slots=True)
class Admitted:
    """A start that may go on to the next gate. It has the lock of its job, and what the gates before have given it.

    `waited`: the run has waited before. `ended`: see `Held`. `prepared`: the job as this run calls it, if it was read;
    a failure if nothing can be called. In this case the attempt starts and fails, and no gate is asked. `key` has this
    number of `places` (None: the run needs none).
    """

    start: Start
    job: Job
    waited: bool
    ended: Run | None = None
    prepared: Prepared | Failed | None = None
    tickets: tuple[Ticket, ...] = ()
    key: str = ""
    places: int | None = None


@dataclass(frozen=True, slots=True)
class Delayed:
    """This gate makes the run wait. `admitted` has what the gates before it have given the run."""

    gate: AnyGate
    key: str
    until: At
    admitted: Admitted


@dataclass(frozen=True, slots=True)
class KeyWait:
    """The run waits in the wait queue of its key. `start` has its priority there."""

    wait: Wait
    start: Start
    key: str


@dataclass(frozen=True, slots=True)
class GateItems:
    """The items of gates."""

    wait_queues: WaitQueues
    clock: Clock
    gates: tuple[AnyGate, ...] = TIMED

    def hold(self, tenant: str, key: str, until: float) -> None:
        """Start no attempt with the key at any gate before `until` (UTC seconds). Raises KeyBusyError."""
        kept_from = max(until, self.clock.now())
        for gate in self.gates:
            # The writes have conditions, so the state need not be read.
            if not self.settle(tenant, key, gate, gate.state(), partial(gate.held, until=until), kept_from):
                raise KeyBusyError(key)

    def open(self, tenant: str, key: str) -> None:
        """Let attempts with the key start at all gates. Raises KeyBusyError."""
        for gate in self.gates:
            # A stale read could show the wanted state, and nothing would be written.
            now, state = self.clock.now(), self.wait_queues.state(tenant, key, gate, strongly=True)
            if not self.settle(tenant, key, gate, state, partial(gate.opened, now=now), now):
                raise KeyBusyError(key)

    def pause(self, tenant: str, key: str, gate: AnyGate, until: float) -> None:
        """Start no attempt with the key at a gate before `until` (UTC seconds)."""
        if (write := gate.held(gate.state(), until)) is not None:
            self.write(tenant, key, gate, write, until)

    def settle(
        self,
        tenant: str,
        key: str,
        gate: AnyGate,
        state: Any,
        decide: Callable[[Any], Write[Any] | None],
        kept_from: float,
    ) -> bool:
        """Make the write on which the gate decides. Return False if other workers were first each time."""
        for _ in range(MAX_WRITES):
            if (write := decide(state)) is None:
                return True
            made, state = self.write(tenant, key, gate, write, kept_from)
            if made:
                return True
        return False

    def write(self, tenant: str, key: str, gate: AnyGate, write: Write[Any], kept_from: float) -> tuple[bool, Any]:
        """Change the item, and keep it for a day from `kept_from` on. Return whether it was changed, and its state."""
        return self.wait_queues.change(tenant, key, gate, write, expires_at=ceil(kept_from) + DAY_SECONDS)


@dataclass(frozen=True, slots=True)
class Gates:
    """Executes the decisions of gates. A stored limit of a key replaces the limit of the job."""

    items: GateItems
    places: Overlaps
    jobs: JobStore
    prepared: Callable[[Job, Run], Prepared | Failed]
    clock: Clock
    randomness: Randomness

    def admit(self, admitted: Admitted, lease_until: float) -> Admitted | Delayed | KeyWait | Conflict:
        """Ask the gates. Some are asked before the run takes what it would keep while it waits; a start is paid
        last.
        """
        admitted = self._read(admitted)
        if isinstance(admitted.prepared, Failed):  # nothing is called
            return admitted
        for ticket in admitted.tickets:
            decision = ticket.gate.look(ticket.state, self._starting(ticket, admitted))
            if isinstance(decision, At):
                return Delayed(ticket.gate, ticket.key, decision, admitted)
        placed = self._take_place(admitted, lease_until)
        return self._enter_all(placed) if isinstance(placed, Admitted) else placed

    def _read(self, admitted: Admitted) -> Admitted:
        """Return the start with the tickets of its gates, and the number of places of its key. The items are read in
        one request, so a later gate may see an older state; its writes have conditions.
        """
        run, job = admitted.start.run, admitted.job
        gates = [] if run.is_workflow else [each for each in self.items.gates if getattr(job, each.name) is not None]
        keys, key, places = list[str](), run.name.own_key, limit_of(run, job)
        if gates or (places is not None and job.concurrency is not None):
            prepared = self.prepared(job, run)
            if isinstance(prepared, Failed):
                return replace(admitted, prepared=prepared)
            try:
                keys = [gate.key(getattr(job, gate.name), prepared.job) for gate in gates]
                key = key if job.concurrency is None else key_of(job.concurrency, prepared.job)
            except TemplateError as problem:
                return replace(admitted, prepared=Failed(str(problem), retryable=False, code=problem.code))
            admitted = replace(admitted, prepared=prepared)
        asked = list(zip(keys, gates, strict=True))
        limited = {each for each, gate in asked if gate.reads_limit(None)} | (set() if places is None else {key})
        states, limits = self.items.wait_queues.read(job.tenant, asked, limited)
        tickets = (
            Ticket(gate, each, state, *_limit(gate, each, job, limits.get(each) if gate.reads_limit(None) else None))
            for (each, gate), state in zip(asked, states, strict=True)
        )
        if places is not None and key in limits and (stored := limits[key].concurrency) is not None:
            places = stored
        return replace(admitted, tickets=tuple(tickets), key=key, places=places)

    def _take_place(self, admitted: Admitted, lease_until: float) -> Admitted | KeyWait | Conflict:
        """Return the start with a place of its key, if it needs one."""
        key, places = admitted.key, admitted.places
        if places is None:
            return admitted
        start = with_priority(admitted.start, admitted.job, key)
        brief = admitted.job.completion is Completion.RESPONSE and not admitted.tickets
        match self.places.take_key(start, key, places, lease_until, admitted.ended, brief=brief):
            case Held():
                return replace(admitted, start=replace(start, run=replace(start.run, key=key)))
            case Wait() as wait:
                return KeyWait(wait, start, key)
            case Conflict() as past:
                return past
            case RetryLater() | Skip():
                raise AssertionError("a run waits for its key")

    def _enter_all(self, admitted: Admitted) -> Admitted | Delayed:
        tickets = list[Ticket]()
        for ticket in admitted.tickets:
            entered = self._enter(ticket, admitted)
            if isinstance(entered, Delayed):
                return entered
            tickets.append(entered)
        return replace(admitted, tickets=tuple(tickets))

    def not_started(self, admitted: Admitted) -> None:
        """Give back what the gates can take back, because the start was not recorded."""
        run, now = admitted.start.run, self.clock.now()
        for ticket in admitted.tickets:
            gate = ticket.gate
            give_back = partial(gate.not_started, run=run)
            self.items.settle(run.tenant, ticket.key, gate, ticket.state, give_back, now)

    def called(self, ticket: Ticket, admitted: Admitted, outcome: Outcome) -> list[Note]:
        """Record the outcome of a call at one of its gates. Return what to report."""
        notes, gate, key, state = list[Note](), ticket.gate, ticket.key, ticket.state
        run, job, limit = admitted.start.run, admitted.job, ticket.limit
        if gate.reads_limit(outcome):
            limit, _ = _limit(gate, key, job, self.jobs.key_limits.get(job.tenant, key))
        for number in range(1 + MAX_WRITES):
            now = self.clock.now()
            write = gate.called(state, CallEnd(run, key, limit, outcome, number > 0, now))
            if write is None:
                break
            made, state = self.items.write(run.tenant, key, gate, write, now)
            if made and write.note is not None:
                notes.append(write.note)
        return notes

    def _enter(self, ticket: Ticket, admitted: Admitted) -> Ticket | Delayed:
        gate, key, state = ticket.gate, ticket.key, ticket.state
        if (standing := self._standing(ticket, admitted)) is not None:
            return Delayed(gate, key, standing, admitted)
        for _ in range(MAX_WRITES):
            start = self._starting(ticket, admitted)
            decision = gate.enter(state, start)
            if isinstance(decision, Write):
                made, state = self.items.write(admitted.job.tenant, key, gate, decision, start.now)
                if not made or decision.then is None:
                    continue
                decision = decision.then(state)
            if isinstance(decision, At):
                return Delayed(gate, key, decision, admitted)
            self.clock.sleep_until(decision.at)
            return replace(ticket, state=state)
        return Delayed(gate, key, At(self.clock.now() + BUSY_SECONDS), admitted)

    def _standing(self, ticket: Ticket, admitted: Admitted) -> At | None:
        """Return the instant that the run keeps. The message is another one, or it is repeated: its worker may have
        died before it sent the message for this instant.
        """
        run = admitted.start.continued
        if not ticket.gate.keeps or not isinstance(run, Queued | Retrying) or run.wait is None:
            return None
        if (run.wait.gate, run.wait.key) != (ticket.gate.name, ticket.key):
            return None
        at = run.not_before or 0.0
        return At(at, run.wait.in_turn) if at > self.clock.now() else None

    def _starting(self, ticket: Ticket, admitted: Admitted) -> Starting[Any]:
        start, key, limit, stored = admitted.start, ticket.key, ticket.limit, ticket.stored
        now, draw = self.clock.now(), self.randomness.draw()
        return Starting(
            run=start.run,
            continued=start.continued,
            key=key,
            limit=limit,
            stored=stored,
            waited=admitted.waited,
            hold_seconds=GATE_HOLD_SECONDS,
            now=now,
            draw=draw,
        )


def _limit(gate: AnyGate, key: str, job: Job, limits: KeyLimit | None) -> tuple[Any, bool]:
    """Return the limit for the key, and whether it is stored."""
    stored = None if limits is None else limits.limit(gate.limit)
    return (replace(getattr(job, gate.name), key=key), False) if stored is None else (stored, True)
