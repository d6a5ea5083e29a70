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
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import RetryLater, Start
from duecourse.domain.runs.overlap import Skip, Wait
from duecourse.domain.runs.rendering import Prepared
from duecourse.domain.runs.states import Queued, Retrying, Run
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.domain.targets.template import TemplateError
from duecourse.gates.gate import At, Ended, Gate, KeyBusyError, Note, Starting, Write
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
    """A gate of an attempt, its key, and its state when the attempt looked at it or entered."""

    gate: AnyGate
    key: str
    state: Any


@dataclass(frozen=True, slots=True)
class Admitted:
    """A start that may go on to the next gate. It has the lock of its job, and what the gates before have given it.

    `waited`: the run has waited before. `prepared`: the job as this run calls it, if it was read; a failure if nothing
    can be called. In this case the attempt starts and fails.
    """

    start: Start
    job: Job
    waited: bool
    prepared: Prepared | Failed | None = None
    tickets: tuple[Ticket, ...] = ()

    def ticket(self, gate: AnyGate) -> Ticket | None:
        """Return the ticket of a gate."""
        return next((each for each in self.tickets if each.gate is gate), None)

    def with_ticket(self, ticket: Ticket) -> Admitted:
        """Return the start with another ticket, which replaces that of the same gate."""
        others = tuple(each for each in self.tickets if each.gate is not ticket.gate)
        return replace(self, tickets=(*others, ticket))


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
        """Ask the gates. Some are read before the run takes what it would keep while it waits; a start is paid last."""
        looked = self._look(admitted)
        placed = self._take_place(looked, lease_until) if isinstance(looked, Admitted) else looked
        return self._enter_all(placed) if isinstance(placed, Admitted) else placed

    def _look(self, admitted: Admitted) -> Admitted | Delayed:
        for gate in self.items.gates:
            if not gate.looks or not _applies(gate, admitted):
                continue
            admitted, ticket = self._at(gate, admitted)
            if ticket is None:
                continue
            ticket = replace(ticket, state=self.items.wait_queues.state(admitted.job.tenant, ticket.key, gate))
            decision = gate.look(
                ticket.state, self._starting(ticket, admitted, self._limit(gate, ticket.key, admitted.job, None))
            )
            if isinstance(decision, At):
                return Delayed(gate, ticket.key, decision, admitted)
            admitted = admitted.with_ticket(ticket)
        return admitted

    def _take_place(self, admitted: Admitted, lease_until: float) -> Admitted | KeyWait | Conflict:
        """Return the start with a place of its key, if it needs one."""
        run, job = admitted.start.run, admitted.job
        if (limit := limit_of(run, job)) is None or isinstance(admitted.prepared, Failed):
            return admitted
        prepared: Prepared | Failed | None = admitted.prepared
        key = run.name.own_key
        if job.concurrency is not None:
            prepared = admitted.prepared or self.prepared(job, run)
            found = rendered(prepared, partial(key_of, job.concurrency))
            if isinstance(found, Failed):  # nothing is called
                return replace(admitted, prepared=found)
            key = found
        start = with_priority(admitted.start, job, key)
        match self.places.take_key(start, key, limit, lease_until):
            case Held():
                return replace(admitted, start=replace(start, run=replace(start.run, key=key)), prepared=prepared)
            case Wait() as wait:
                return KeyWait(wait, start, key)
            case Conflict() as past:
                return past
            case RetryLater() | Skip():
                raise AssertionError("a run waits for its key")

    def _enter_all(self, admitted: Admitted) -> Admitted | Delayed:
        for gate in self.items.gates:
            if not _applies(gate, admitted):
                continue
            ticket = admitted.ticket(gate)
            if ticket is None:
                admitted, ticket = self._at(gate, admitted)
            if ticket is None:
                continue
            entered = self._enter(ticket, admitted)
            if isinstance(entered, Delayed):
                return entered
            admitted = admitted.with_ticket(entered)
        return admitted

    def not_started(self, admitted: Admitted) -> None:
        """Give back what the gates can take back, because the start was not recorded."""
        run, now = admitted.start.run, self.clock.now()
        for ticket in admitted.tickets:
            gate = ticket.gate
            give_back = partial(gate.not_started, run=run)
            self.items.settle(run.tenant, ticket.key, gate, ticket.state, give_back, now)

    def called(self, ticket: Ticket, admitted: Admitted, outcome: Outcome) -> list[Note]:
        """Record the outcome of a call at one of its gates. Return what to report."""
        notes, state, run = list[Note](), ticket.state, admitted.start.run
        limit = self._limit(ticket.gate, ticket.key, admitted.job, outcome)[0]
        for number in range(1 + MAX_WRITES):
            now = self.clock.now()
            write = ticket.gate.called(state, Ended(run, ticket.key, limit, outcome, number > 0, now))
            if write is None:
                break
            made, state = self.items.write(run.tenant, ticket.key, ticket.gate, write, now)
            if made and write.note is not None:
                notes.append(write.note)
        return notes

    def _at(self, gate: AnyGate, admitted: Admitted) -> tuple[Admitted, Ticket | None]:
        """Return the ticket of a gate with its key. None if the key, and thus the call, cannot be prepared."""
        prepared = admitted.prepared or self.prepared(admitted.job, admitted.start.run)
        key = rendered(prepared, partial(gate.key, getattr(admitted.job, gate.name)))
        if isinstance(key, Failed):
            return replace(admitted, prepared=key), None
        return replace(admitted, prepared=prepared), Ticket(gate, key, None)

    def _enter(self, ticket: Ticket, admitted: Admitted) -> Ticket | Delayed:
        gate, key, tenant = ticket.gate, ticket.key, admitted.job.tenant
        if (standing := self._standing(ticket, admitted)) is not None:
            return Delayed(gate, key, standing, admitted)
        limit = self._limit(gate, key, admitted.job, None)
        state = self.items.wait_queues.state(tenant, key, gate) if ticket.state is None else ticket.state
        for _ in range(MAX_WRITES):
            start = self._starting(ticket, admitted, limit)
            decision = gate.enter(state, start)
            if isinstance(decision, Write):
                made, state = self.items.write(tenant, key, gate, decision, start.now)
                if not made or decision.then is None:
                    continue
                decision = decision.then(state)
            if isinstance(decision, At):
                return Delayed(gate, key, decision, admitted)
            self.clock.sleep_until(decision.at)
            return Ticket(gate, key, state)
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

    def _starting(self, ticket: Ticket, admitted: Admitted, limit: tuple[Any, bool]) -> Starting[Any]:
        now, draw, start = self.clock.now(), self.randomness.draw(), admitted.start
        return Starting(start.run, start.continued, ticket.key, *limit, admitted.waited, GATE_HOLD_SECONDS, now, draw)

    def _limit(self, gate: AnyGate, key: str, job: Job, outcome: Outcome | None) -> tuple[Any, bool]:
        """Return the limit for the key, and whether it is stored. It is read only if the gate needs it."""
        of_job = getattr(job, gate.name)
        stored = self.jobs.key_limits.get(job.tenant, key) if gate.reads_limit(outcome) else None
        common = None if stored is None else stored.limit(gate.limit)
        return (replace(of_job, key=key), False) if common is None else (common, True)


def rendered(prepared: Prepared | Failed, render: Callable[[Job], str]) -> str | Failed:
    """Return the key that is rendered for the job as the run calls it, or the failure if a value is missing."""
    if isinstance(prepared, Failed):
        return prepared
    try:
        return render(prepared.job)
    except TemplateError as problem:
        return Failed(str(problem), retryable=False, code=problem.code)


def _applies(gate: AnyGate, admitted: Admitted) -> bool:
    """Return whether the job has a limit of the gate. A workflow's run calls nothing itself."""
    limited = getattr(admitted.job, gate.name) is not None and not admitted.start.run.is_workflow
    return limited and not isinstance(admitted.prepared, Failed)
