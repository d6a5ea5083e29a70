"""What every step changes: the world answers workers, and other things happen.

A send and a delete are done at once, since to do them later is to be received later; so is the first read after a
message is received. A worker dies only right after what others can see (a write, a send), or in its call: to die later
is the same. Its message comes again; so does that of one whose process failed, or whose answer was lost.
"""

from collections.abc import Iterator
from dataclasses import replace

from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.workflows.graph import StepOutcomes, entry
from duecourse.messages import MessageKind, RunMessage
from tests.support.wait_queue_model import Kept
from tests.support.workflow_model.events import Events
from tests.support.workflow_model.promises import Promises
from tests.support.workflow_model.protocol import Protocol
from tests.support.workflow_model.records import anonymous, ids_of, with_entry, with_part
from tests.support.workflow_model.values import (
    EARLY,
    LATE,
    Call,
    Case,
    Circumstances,
    Delete,
    Done,
    Letter,
    Mark,
    NoteEnd,
    Read,
    Send,
    Stage,
    State,
    Step,
    Write,
    fewer,
    lowest,
    posting,
    with_number,
    working,
)
from tests.support.workflow_model.workers import Node, Workers

OUTCOMES: tuple[tuple[str | None, Outcome], ...] = (
    (None, Returned()),
    ("failures", Failed("no", retryable=False, code="no")),
    ("retries", Failed("not now", code="later")),
)
"""How a step's call ends, and which of `Left` that takes."""


class World:
    """The states of a case and the steps between them; `changed` names a mutant."""

    def __init__(self, case: Case, changed: str | None = None) -> None:
        self.case = case
        self.protocol = Protocol(case.graph, case.attempts, changed)
        self.overwrites = changed == "an end is written over whatever it was"
        self.runs, self.ends, self.letters = Kept(), Kept(), Kept()
        self.promises = Promises(self.protocol, self.runs, self.ends, case.left.crashes)
        self.workers = Workers(self.protocol, self.runs, self.ends)
        self._anonymous: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self.events = Events(case.graph, self.protocol, self.runs, self.letters)
        self._first: dict[tuple[int, int], tuple[int, int]] = {}

    def beginning(self) -> State:
        """The workflow's run is due."""
        protocol = self.protocol
        start = RunMessage(protocol.identity, protocol.workflow.lane, EARLY, "")
        nobody = self.ends.of(StepOutcomes())
        records = (0,) * (len(self.case.graph.steps) + 1)
        lane = (self.letters.of(Letter(start)),)
        parts = (nobody,) * len(self.case.graph.parts)
        return State(records, parts, lane, (), (), self.case.left, 0, self.promises.beginning())

    def steps(self, state: State) -> Iterator[Step]:
        """Everything that may happen next."""
        for place, number in enumerate(state.workers):
            if place and state.workers[place - 1] == number:
                continue
            others = working(state, state.workers[:place] + state.workers[place + 1 :])
            yield from self._asked(others, number)
        if len(state.workers) < self.case.workers:
            for place, number in enumerate(state.lane):
                if not place or state.lane[place - 1] != number:
                    yield from self._delivered(state, place, number)
        yield from self.events(state)

    def _delivered(self, state: State, place: int, number: int) -> Iterator[Step]:
        letter: Letter = self.letters.values[number]
        run = self.protocol.run_number(letter.message)
        if letter.replaced and run and state.paused >> (run - 1) & 1:
            return  # to look again before it is resumed is to wait for longer
        id_ = letter.id or lowest(self._named(state, run))
        if (number, id_) not in self._first:
            named = letter._replace(id=id_)
            self._first[(number, id_)] = self.letters.of(named), self.workers.at(Stage("receive", (named,)))
        named_number, node = self._first[(number, id_)]
        taken = posting(state, state.lane[:place] + state.lane[place + 1 :])
        for said, after in self._asked(taken, node):
            yield ("received:", *said), after
        if state.left.copies:
            copied = fewer(taken, "copies")
            copied = copied._replace(lane=with_number(copied.lane, named_number))
            for said, after in self._asked(copied, node):
                yield ("received for the first time:", *said), after

    def _asked(self, state: State, number: int) -> Iterator[Step]:
        """What the worker at this node asks for is done; `state` is without it."""
        node = self.workers.nodes[number]
        match node.question:
            case Read():
                for place, key in node.unread:
                    value = self._read(state, node, *key)
                    following = node.following.get((place, value)) or self.workers.reads(node, place, value)
                    yield from self._on(state, following, (node, "reads", key, value))
            case Write(run, previous):
                standing = self.runs.values[state.records[node.run]]
                if standing == previous:
                    after = self._written(state, node, run, previous)
                    yield from self._on(after, self.workers.answered(number, None), (node, "writes", run), visible=True)
                else:
                    yield from self._on(state, self.workers.answered(number, standing), (node, "writes not", run))
            case NoteEnd(step, end, round):
                working_on = sum({1 << self.workers.nodes[each].run >> 1 for each in state.workers})
                seen = self.promises.noted(state, node.letter, step, end, round, working_on)
                part = self.case.graph.part_of(step)
                known: StepOutcomes = self.ends.values[state.parts[part]]
                first = entry(end, round) > entry(known.of(step), known.round(step))
                if self.overwrites or first:
                    known = with_entry(known, step, end, round)
                after = with_part(state, part, self.ends.of(known))._replace(seen=seen)
                said = (node, "notes", end or "again", step)
                yield from self._on(after, self.workers.answered(number, (known, first)), said, visible=True)
            case Mark(part):
                after = with_part(state, part, self.ends.of(replace(self.ends.values[state.parts[part]], again=True)))
                yield from self._on(after, self.workers.answered(number, None), (node, "marks", part), visible=True)
            case other:
                raise AssertionError(f"{other} is answered at once")

    def _on(self, state: State, number: int, said: tuple[object, ...], *, visible: bool = False) -> Iterator[Step]:
        """The worker goes on to this node: what nobody sees is done at once."""
        node = self.workers.nodes[number]
        if visible and state.left.crashes:
            yield (*said, "and dies"), self._back(fewer(state, "crashes"), node)
        match node.question:
            case Read() | Write() | NoteEnd() | Mark():
                yield said, working(state, with_number(state.workers, number))
            case Circumstances(run):
                seen = self.promises.told(state.seen, node.letter.message, run)
                paused = bool(node.run and state.paused >> (node.run - 1) & 1)
                for now in self._times(state, node, run):
                    following = self.workers.answered(number, (paused, now))
                    told = state if seen is state.seen else state._replace(seen=seen)
                    yield from self._on(told, following, said)
            case Send(letter):
                sent = posting(state, with_number(state.lane, self.letters.of(letter)))
                yield from self._on(sent, self.workers.answered(number, True), (*said, letter), visible=True)
                if state.left.refusals:
                    refused = fewer(state, "refusals")
                    yield from self._on(refused, self.workers.answered(number, False), (*said, "refused:", letter))
            case Call():
                for takes, outcome in OUTCOMES:
                    if takes is None or getattr(state.left, takes):
                        ended = state if takes is None else fewer(state, takes)
                        yield from self._on(
                            ended, self.workers.answered(number, outcome), (*said, "call", takes or "ok")
                        )
            case Delete():
                yield from self._on(state, self.workers.answered(number, None), (*said, "deletes its message"))
            case Done(fate):
                yield from self._done(state, node, fate, (*said, fate))

    def _done(self, state: State, node: Node, fate: str, said: tuple[object, ...]) -> Iterator[Step]:
        if fate != "retained":
            state = state._replace(seen=self.promises.followed(state, node.letter))
        match fate:
            case "deleted":
                yield said, state
            case "retained":
                yield said, self._back(state, node)
            case _:
                if state.left.copies:  # SQS delivers a dead run's message until its receives are used up
                    yield (*said, "and comes again"), self._back(fewer(state, "copies"), node)
                dead = with_number(state.dead, self.letters.of(node.letter)) if state.left.returns else state.dead
                yield said, state._replace(dead=dead)

    def _read(self, state: State, node: Node, what: str, which: int) -> int:
        match what:
            case "own":
                return state.records[node.run]
            case "part":
                return state.parts[which]
            case "of":
                run: Run | None = self.runs.values[state.records[0]]
                if run is None:
                    return 0
                return int(not run.state.final) + 2 * int((run.redriven_at or EARLY) - EARLY)
            case _:
                return self._seen_by_others(state.records[which])

    def _seen_by_others(self, record: int) -> int:
        if record not in self._anonymous:
            run = self.runs.values[record]
            self._anonymous[record] = 0 if run is None else self.runs.of(anonymous(run))
        return self._anonymous[record]

    def _written(self, state: State, node: Node, run: Run, previous: Run | None) -> State:
        attempts = sum(
            1 for each in state.workers if self.workers.nodes[each].run == node.run and self.workers.nodes[each].attempt
        )
        seen = self.promises.written(state, node.letter, run, previous, 0 if node.attempt else attempts)
        records = (*state.records[: node.run], self.runs.of(run), *state.records[node.run + 1 :])
        return state._replace(records=records, seen=seen)

    def _times(self, state: State, node: Node, run: Run | None) -> tuple[float, ...]:
        """A lease is over only where its worker is dead; its own message comes no sooner, others may."""
        if run is None or run.state is not RunState.RUNNING:
            return (LATE,) if node.letter.message.kind is MessageKind.DEADLINE else (EARLY,)
        others = (self.workers.nodes[each] for each in state.workers)
        if any(each.run == node.run and each.attempt == run.attempt for each in others):
            return (EARLY,)
        return (LATE,) if run.message_id == node.letter.message_id else (EARLY, LATE)

    def _back(self, state: State, node: Node) -> State:
        """The worker's message is in the lane again; what nobody knows of it is forgotten."""
        if node.deleted:
            return state
        letter = node.letter
        if not letter.replaced and not letter.moved and not self._named(state, node.run) >> letter.id & 1:
            letter = letter._replace(id=0)
        return state._replace(lane=with_number(state.lane, self.letters.of(letter)))

    def _named(self, state: State, run: int) -> int:
        """The numbers that messages about a run have, wherever they are known."""
        record = state.records[run]
        if record not in self._ids:
            self._ids[record] = ids_of(self.runs.values[record])
        named = self._ids[record]
        for each in (*state.lane, *state.dead):
            letter: Letter = self.letters.values[each]
            if (letter.id or letter.replaced) and self.protocol.run_number(letter.message) == run:
                named |= letter.ids
        for number in state.workers:
            node = self.workers.nodes[number]
            if node.run == run:
                named |= node.ids
        return named
