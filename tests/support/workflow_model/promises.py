"""What the protocol of workflows promises, looked at in every state of a search.

I1 never early; I2 at most once; I3 never forgotten; I4 it ends; I5 a redrive goes on; I6 over is over; I7 at most
`at_once` items of a list are active before the first redrive; I8 a step with items succeeds if at most `max_failed` of
them failed, and fails once all have ended otherwise.
"""

from dataclasses import dataclass, field, replace

from duecourse.domain.runs.decision import STEPS_FAILED, WORKFLOW_OVER, Readiness, WorkflowOutcome
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.runs.transitions import may_run_again
from duecourse.domain.workflows.graph import StepOutcome, StepOutcomes, end_of, entry, numbers_in
from duecourse.messages import MessageKind, RunMessage
from tests.support.wait_queue_model import Kept
from tests.support.workflow_model.protocol import Protocol
from tests.support.workflow_model.records import with_entry
from tests.support.workflow_model.values import Broken, Letter, Seen, State
from tests.support.workflow_model.workflow_steps import WORKFLOW


@dataclass
class Promises:
    """Looks at writes and at states in which nothing is left to do; says what is to be remembered of a write."""

    protocol: Protocol
    runs: Kept
    ends: Kept
    crashes: int
    """That may happen, in all."""
    _ready: dict[int, int] = field(default_factory=dict)

    def beginning(self) -> Seen:
        """Nothing has happened."""
        nobody = self.ends.of(StepOutcomes(again=True))  # by which ends count only with those before them
        return Seen(nobody, self._ready_by(nobody), (0,) * len(self.protocol.graph.steps))

    def written(self, state: State, letter: Letter, run: Run, previous: Run | None, attempts: int) -> Seen:
        """A record is written over another one. `attempts`: how many other workers are at work on an attempt of it."""
        seen, workflow_run = state.seen, self.runs.values[state.records[0]]
        if run.state is RunState.RUNNING and run.cancel_requested is None:
            _is(not attempts or not run.is_step, f"I2 {run.job_id}: two attempts are believed alive")
            succeeded = previous is not None and previous.state is RunState.SUCCEEDED
            _is(not succeeded or not run.is_step, f"I2 {run.job_id} runs though it succeeded")
        if not run.is_step and run.job_id == WORKFLOW:
            if previous is not None and run.redriven_at not in (None, previous.redriven_at):
                seen = seen._replace(again=tuple(each + 1 for each in seen.again))
            if run.state is RunState.RUNNING and previous is not None and previous.state is RunState.DEAD:
                seen = seen._replace(late=0, told=False)
                if letter.message.kind is MessageKind.REDRIVE:
                    seen = seen._replace(owed=self._dead(state))
            elif self._over(run):
                seen = seen._replace(owed=0)
            return seen
        number = self.protocol.graph.numbers[run.job_id]
        bit = 1 << number
        begins = previous is None or may_run_again(previous)
        asked = letter.message.kind is MessageKind.REDRIVE or letter.moved
        if run.state is RunState.RUNNING and begins and self.protocol.graph.items is not None and not run.round:
            others = [self.runs.values[record] for place, record in enumerate(state.records[1:]) if place != number]
            active = sum(each is not None and not each.state.final and not each.round for each in others)
            _is(active < self.protocol.graph.items.at_once, f"I7 {run.job_id} begins beside {active} others")
        if run.state is RunState.RUNNING and begins and not asked:
            _is(bool(seen.ready & bit), f"I1 {run.job_id} begins early")
            if self._over(workflow_run):
                seen = seen._replace(late=seen.late | bit)
        if run.state is RunState.RUNNING and previous is not None and previous.state is RunState.DEAD:
            _is(bool(seen.again[number]), f"I2 {run.job_id} is redriven twice by one redrive")
            seen = seen._replace(again=_added(seen.again, number, -1))
        if run.state is RunState.RUNNING and previous is not None and previous.state.final:
            seen = self._withdrawn(seen, number, run.round, 0)
        if run.state is not RunState.DEAD:
            seen = seen._replace(owed=seen.owed & ~bit)
        if run.state.final and not (run.state is RunState.CANCELLED and run.reason == WORKFLOW_OVER):
            known: StepOutcomes = self.ends.values[seen.truth]
            if entry(end_of(run), run.round) > entry(known.of(number), known.round(number)):
                truth = self.ends.of(with_entry(known, number, end_of(run), run.round))
                seen = seen._replace(truth=truth, ready=seen.ready | self._ready_by(truth))
        return seen

    def noted(
        self, state: State, letter: Letter, number: int, end: StepOutcome | None, round: int, working: int
    ) -> Seen:
        """A step's end is noted. A step that has ended before the others are cancelled has nothing to hear. Where
        it is withdrawn, who comes after it may not begin any more, but those whose start is being worked on.
        """
        known: StepOutcomes = self.ends.values[state.seen.truth]
        had = entry(known.of(number), known.round(number))
        bit = 1 << number
        if end is None:
            seen = state.seen
            if letter.message.is_step and entry(None, round) > had:  # its own redrive
                seen = seen._replace(again=_added(seen.again, number, 1))
            return self._withdrawn(seen, number, round, working)
        _is(had >= entry(end, round), f"I1 an end of {self._id(number)} is noted that is none")
        return state.seen if state.seen.told else state.seen._replace(late=state.seen.late & ~bit)

    def _withdrawn(self, seen: Seen, number: int, round: int, working: int) -> Seen:
        known: StepOutcomes = self.ends.values[seen.truth]
        if entry(None, round) <= entry(known.of(number), known.round(number)):
            return seen
        truth = self.ends.of(with_entry(known, number, None, round))
        ready = seen.ready & (working | ~self.protocol.graph.after(1 << number)) | self._ready_by(truth)
        return seen._replace(truth=truth, ready=ready)

    def told(self, seen: Seen, message: RunMessage, run: Run | None) -> Seen:
        """A message is decided upon over this record: who began late has heard of the end."""
        if message.kind is MessageKind.CANCEL and message.is_step and run is not None:
            number = self.protocol.graph.numbers[message.job_id]
            return seen._replace(late=seen.late & ~(1 << number))
        return seen

    def followed(self, state: State, letter: Letter) -> Seen:
        """A message is done with: what follows from the end of the workflow's run, where this one carries it."""
        workflow_run: Run | None = self.runs.values[state.records[0]]
        if letter.message.is_step or workflow_run is None or not self._over(workflow_run):
            return state.seen
        carries = workflow_run.message_id == letter.message_id
        return state.seen._replace(told=True) if carries else state.seen

    def hold_at_rest(self, state: State) -> None:
        """Nothing is left to do."""
        workflow_run, *steps = (self.runs.values[number] for number in state.records)
        for number, run in enumerate(steps):
            alive = run is not None and not run.state.final
            _is(not alive, f"I4 {self._id(number)} never ends: it is {run and run.state}")
        final = workflow_run is not None and workflow_run.state.final
        _is(final, f"I4 the workflow's run is {_state_of(workflow_run)}")
        noted = StepOutcomes()
        for part in state.parts:
            noted = noted.joined(self.ends.values[part])
        _is(replace(noted, again=True) == self.ends.values[state.seen.truth], "I3 an end is not noted")
        _is(not state.seen.late, f"I6 {self._ids(state.seen.late)} began after the end and does not hear of it")
        if self._over(workflow_run):
            return
        self._items_counted(workflow_run, steps)
        known = self.protocol.state(noted)
        forgotten = [self._id(number) for number in known.to_start()]
        _is(not forgotten, f"I3 {', '.join(forgotten)} forgotten")
        wanted = WorkflowOutcome.DONE if workflow_run.state is RunState.SUCCEEDED else WorkflowOutcome.FAILED
        if workflow_run.attempt:
            _is(known.outcome is wanted, f"I5 the workflow's run is {workflow_run.state}, its steps {known.outcome}")
        crashed = state.left.crashes < self.crashes  # which may cost a redrive: a known gap
        _is(crashed or not state.seen.owed, f"I5 {self._ids(state.seen.owed)} not redriven with the workflow's run")

    def _items_counted(self, workflow_run: Run, steps: list[Run | None]) -> None:
        """By the records of the items: where a step's run has not succeeded, all of them have one."""
        items = self.protocol.graph.items
        if items is None or not workflow_run.attempt:
            return
        failed = sum(run is None or run.state is not RunState.SUCCEEDED for run in steps)
        said = f"I8 the step is {workflow_run.state}, {failed} items failed, {items.max_failed} may"
        _is(all(run is not None for run in steps), "I8 an item of an ended step has no record")
        _is((workflow_run.state is RunState.SUCCEEDED) == (failed <= items.max_failed), said)

    def _over(self, run: Run | None) -> bool:
        """Whether the workflow's run ended by anything but its steps."""
        return run is not None and run.state in (RunState.DEAD, RunState.CANCELLED) and run.reason != STEPS_FAILED

    def _dead(self, state: State) -> int:
        runs = [self.runs.values[number] for number in state.records[1:]]
        return sum(1 << i for i, run in enumerate(runs) if run is not None and run.state is RunState.DEAD)

    def _ready_by(self, truth: int) -> int:
        ready = self._ready.get(truth)
        if ready is None:
            state = self.protocol.state(self.ends.values[truth])
            numbers = range(len(self.protocol.graph.steps))
            ready = sum(1 << each for each in numbers if state.readiness(each) is Readiness.READY)
            self._ready[truth] = ready
        return ready

    def _id(self, number: int) -> str:
        return self.protocol.graph.steps[number].id

    def _ids(self, steps: int) -> str:
        return ", ".join(map(self._id, numbers_in(steps)))


def _added(counts: tuple[int, ...], number: int, more: int) -> tuple[int, ...]:
    return (*counts[:number], counts[number] + more, *counts[number + 1 :])


def _is(kept: bool, promise: str) -> None:
    if not kept:
        raise Broken(promise)


def _state_of(run: Run | None) -> str:
    return "without a record" if run is None else str(run.state)
