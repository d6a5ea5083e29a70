"""What usecases/workflows/workflows.py does, step by step: each method restates the one that it names."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.decision import STEPS_FAILED, WORKFLOW_OVER, Readiness, StepTurn, WorkflowOutcome
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.runs.transitions import may_run_again
from duecourse.domain.workflows.check import workflow_fields
from duecourse.domain.workflows.graph import Graph, GraphRun, StepOutcomes, WorkflowRef, end_of, numbers_in
from duecourse.domain.workflows.state import WorkflowState
from duecourse.messages import MessageKind, RunMessage
from duecourse.usecases.workflows.workflows import Evaluation, Found, WorkflowMessages
from tests.support.jobs import job
from tests.support.workflow_model.records import anonymous
from tests.support.workflow_model.values import (
    DEADLINE_SECONDS,
    EARLY,
    Letter,
    Mark,
    NoteEnd,
    Question,
    Read,
    Send,
    WorkflowRun,
)

WORKFLOW = "nightly"
OCCURRENCE = int(EARLY) - 1


class Constant:
    """ports.Randomness, for what the model does not tell apart."""

    def nonce(self) -> str:
        """Messages are told apart by their letters."""
        return ""

    def draw(self) -> float:
        """In [0, 1)."""
        return 0.5


class WorkflowSteps:
    """Over one graph. `changed` names a mutant (`cases.MUTANTS`): the protocol with one line changed, which must not
    keep the promises. A step is tried `attempts` times.
    """

    def __init__(self, graph: Graph, attempts: int = 2, changed: str | None = None) -> None:
        self.graph = graph
        self.changed = changed
        at = OCCURRENCE - 3600.0
        fields = workflow_fields("g", DEADLINE_SECONDS)
        self.workflow = job("0 0 1 1 *", id=WORKFLOW, at=at, missed=MissedPolicy(grace_seconds=86_400), **fields)
        retry = RetryPolicy(max_attempts=attempts)
        self.steps = [job("0 0 1 1 *", id=each.id, at=at, overlap=Overlap.ALLOW, retry=retry) for each in graph.steps]
        self.identity = RunIdentity("default", WORKFLOW, OCCURRENCE, OCCURRENCE, self.workflow.generation)
        self.of_run = replace(self.identity, workflow=f"{WORKFLOW}@g")
        inside = GraphRun(WorkflowRef(WORKFLOW, "g"), graph, self.of_run.name)
        self.messages = WorkflowMessages(self.of_run, inside, EARLY, Constant())

    def run_number(self, message: RunMessage) -> int:
        """Which run a message is about: 0 for the workflow's."""
        return self.graph.numbers[message.job_id] + 1 if message.is_step else 0

    def state(self, known: StepOutcomes) -> WorkflowState:
        """The workflow's run, by these ends."""
        return WorkflowState(self.graph, OCCURRENCE, "", known)

    def _look(self, letter: Letter, run: Run | None = None) -> Generator[Question, Any, Found]:
        """Workflows.look."""
        message = letter.message
        if message.workflow is None:
            return None
        if message.kind is MessageKind.EVALUATE and not message.is_step:
            return (yield from self._evaluation())
        starts = message.kind is MessageKind.START and message.attempt == 1
        if message.is_step and (starts or (run is not None and may_run_again(run))):
            return (yield from self._turn(message, run))
        return None

    def _turn(self, message: RunMessage, run: Run | None) -> Generator[Question, Any, Found]:
        """Workflows._turn."""
        number = self.graph.numbers[message.job_id]
        first = self.changed == "a start asks whether its workflow's run is over, then for the ends"
        of = (yield from self._workflow_run()) if first else WorkflowRun(True)
        ends = yield from self._ends_before(number, own=run is not None)
        readiness = self.state(ends).readiness(number)
        if not first and readiness is not Readiness.WAITS:
            asks = self.changed != "a start does not ask whether its workflow's run is over"
            asks &= run is None or self.changed != "who was stopped does not ask whether its workflow's run is over"
            of = (yield from self._workflow_run()) if asks else WorkflowRun(True)
        return StepTurn(readiness, not of.alive, ends.round(number), workflow_redriven_at=of.redriven_at)

    def _withdraw(self, rounds: dict[int, int]) -> Generator[Question, Any, None]:
        """Workflows._withdraw, WorkflowStore.withdraw."""
        own = self.graph.parts_of(sum(1 << number for number in rounds))
        known = yield from self._read(own)
        if self.changed != "the parts are not marked before an end is withdrawn":
            for part in sorted(own if known.rounds else set(self.graph.parts)):
                yield Mark(part)
        for number, following in rounds.items():
            yield NoteEnd(number, None, following)

    def _evaluation(self) -> Generator[Question, Any, Found]:
        """Workflows._evaluation."""
        state = yield from self._known()
        outcome = self._outcome(state)
        if outcome is not WorkflowOutcome.FAILED:
            return Evaluation(outcome)
        failed = yield from self._records(state.failed)
        if any(not run.state.final for run in failed):
            return Evaluation(WorkflowOutcome.OPEN)
        return Evaluation(outcome)

    def _outcome(self, state: WorkflowState) -> WorkflowOutcome:
        """WorkflowState.outcome."""
        failed, outcome = len(state.failed), state.outcome
        most = 0 if self.graph.items is None else self.graph.items.max_failed
        if self.changed == "a failed item fails its step, whatever may fail" and failed:
            return outcome if outcome is WorkflowOutcome.OPEN else WorkflowOutcome.FAILED
        if self.changed == "an item too many may fail" and outcome is WorkflowOutcome.FAILED and failed == most + 1:
            return WorkflowOutcome.DONE
        if self.changed == "a step fails before all of its items have ended" and failed > most:
            return WorkflowOutcome.FAILED
        return outcome

    def _begin(self, run: Run) -> Generator[Question, Any, bool]:
        """Workflows.begin; whether all was accepted."""
        state = yield from self._known()
        dead: list[Run] = []
        if run.redriven_at is not None:
            failed = yield from self._records(numbers_in(state.known.failed & ~self.graph.carried_over.any))
            dead = [each for each in failed if each.state is RunState.DEAD]
            if self.changed != "who begins a redriven run again redrives who has died since":
                dead = [each for each in dead if each.workflow_redriven_at != run.redriven_at]
        if dead:
            yield from self._withdraw({self.graph.numbers[each.job_id]: each.round + 1 for each in dead})
            state = yield from self._known()
        wanted = self.messages.starts(state, state.to_start())
        open_ = state.outcome is WorkflowOutcome.OPEN
        if not open_ and self.changed != "who begins a run with nothing to start does not evaluate it":
            wanted.append(self.messages.evaluate())
        return (yield from self._send_all(wanted))

    def _ended(self, run: Run) -> Generator[Question, Any, bool]:
        """Workflows.ended; whether all was accepted."""
        following = yield from self._after_step(run) if run.is_step else self._after_run(run)
        return (yield from self._send_all(following))

    def _after_step(self, run: Run) -> Generator[Question, Any, list[RunMessage]]:
        """Workflows._after_step."""
        number = self.graph.numbers[run.job_id]
        if run.state is RunState.CANCELLED and run.reason == WORKFLOW_OVER:
            if self.changed == "who was cancelled with a workflow's run that is back does not start itself":
                return []
            alive = self.changed == "who was cancelled starts itself, whatever has become of its workflow's run"
            state = self.state((yield from self._ends_before(number, own=True)))
            if alive or (yield from self._is_alive()):
                return self.messages.starts(state, state.to_start([number]))
            return [self.messages.evaluate()] if state.known.again else []
        early: StepOutcomes | None = None
        if self.changed == "other parts are read before the own end is noted":
            early = (yield from self._known()).known
        if self.changed == "starts are sent before the end is noted":
            state = yield from self._known()
            state = self.state(state.known.having(number, end_of(run)))
            downstream = list(self.graph.downstream[number])
            yield from self._send_all(self.messages.starts(state, state.to_start(downstream)))
            yield NoteEnd(number, end_of(run), run.round)
            return [] if state.outcome is WorkflowOutcome.OPEN else [self.messages.evaluate()]
        known, first = yield NoteEnd(number, end_of(run), run.round)
        parts = {self.graph.part_of(number)}
        while missing := self.state(known).parts_wanted(number) - parts:
            known = known.joined(early if early is not None else (yield from self._read(missing)))
            parts |= missing if early is None else set(self.graph.parts)
        state = self.state(known)
        direct = not known.again or self.changed == "only the jobs directly after a redriven one are looked at"
        if self.graph.items is not None:
            first |= self.changed == "an end that was noted before opens one item"
            starts = state.to_start(self.graph.opened(number, known, last=first and not run.round))
        else:
            starts = state.to_start(
                list(self.graph.downstream[number]) if direct else numbers_in(self.graph.after(1 << number))
            )
        if not state.settled(number) and number not in starts and state.readiness(number) is not Readiness.WAITS:
            starts.append(number)
        if number in starts and not (yield from self._is_alive()):
            starts.remove(number)
        following = self.messages.starts(state, starts)
        again = run.round and self.changed != "a redriven success does not have its workflow's run evaluated"
        if again or self._outcome(state) is not WorkflowOutcome.OPEN:
            following.append(self.messages.evaluate())
        return following

    def _after_run(self, run: Run) -> Generator[Question, Any, list[RunMessage]]:
        """Workflows._after_run."""
        if not run.state.final or run.state is RunState.SKIPPED or run.attempt == 0:
            return []
        if run.reason == STEPS_FAILED and self.changed == "a death by steps is not looked at once more":
            return []
        succeeded = run.state is RunState.SUCCEEDED
        if succeeded and not any(step.may_fail for step in self.graph.steps):
            return []
        if succeeded and self.changed == "a success is not looked at once more":
            return []
        state = yield from self._known()
        if succeeded or run.reason == STEPS_FAILED:
            written = WorkflowOutcome.DONE if succeeded else WorkflowOutcome.FAILED
            return [] if state.outcome is written else [self.messages.evaluate()]
        if self.changed == "who is due is not cancelled with the workflow's run":
            return []
        if self.changed == "only who is due is cancelled with the workflow's run":
            due = [each for each in state.to_start() if state.readiness(each) is Readiness.READY]
            return self.messages.cancellations(due)
        return self.messages.cancellations(state.to_cancel())

    def _is_alive(self) -> Generator[Question, Any, bool]:
        """Workflows._is_alive."""
        return (yield from self._workflow_run()).alive

    def _workflow_run(self) -> Generator[Question, Any, WorkflowRun]:
        """Workflows._workflow_run."""
        (found,) = yield Read((("of", 0),))
        assert isinstance(found, WorkflowRun)
        return found

    def _known(self) -> Generator[Question, Any, WorkflowState]:
        """Workflows._known."""
        return self.state((yield from self._read(set(self.graph.parts))))

    def _ends_before(self, number: int, *, own: bool) -> Generator[Question, Any, StepOutcomes]:
        """Workflows._ends_before."""
        mine = 1 << number
        parts = self.graph.parts_of(self.graph.upstream[number] | (mine if own else 0))
        ends = yield from self._read(parts)
        if self.changed == "an end before one that is withdrawn counts":
            return replace(ends, again=False)
        if ends.again and (more := self.graph.parts_of(self.graph.before(number) | mine) - parts):
            ends = ends.joined((yield from self._read(more)))
        return ends

    def _read(self, parts: set[int]) -> Generator[Question, Any, StepOutcomes]:
        """WorkflowStore.read."""
        return _joined((yield Read(tuple(("part", part) for part in sorted(parts))))) if parts else StepOutcomes()

    def _records(self, numbers: list[int]) -> Generator[Question, Any, list[Run]]:
        """Workflows._records."""
        found = (yield Read(tuple(("seen", number + 1) for number in numbers))) if numbers else []
        return [anonymous(run) for run in found if run is not None]

    def _send_all(self, messages: Sequence[RunMessage]) -> Generator[Question, Any, bool]:
        """Forwarder.send_all: each is accepted or not."""
        accepted = True
        for message in messages:
            accepted &= yield Send(Letter(message))
        return accepted


def _joined(ends: Sequence[StepOutcomes]) -> StepOutcomes:
    joined = StepOutcomes()
    for each in ends:
        joined = joined.joined(each)
    return joined
