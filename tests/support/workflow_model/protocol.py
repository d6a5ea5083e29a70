"""What a worker does with a message about a workflow's run or a step's, step by step.

Every decision is the project's own code; what is said here once more is the order of reads, writes and sends of the use
cases, each named where it is restated. A method is a stage: it asks, is answered, and says which stage comes next.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.runs.decision import (
    AttemptContext,
    Drop,
    Ended,
    FollowUp,
    Hold,
    Readiness,
    Reschedule,
    RetryLater,
    Start,
    StepTurn,
    Suspend,
    Transition,
    Withdraw,
)
from duecourse.domain.runs.states import Dead, Final, Retrying, Run, RunState
from duecourse.domain.runs.transitions import as_step, decide, may_run_again
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.workflows.graph import end_of
from duecourse.messages import MessageKind
from duecourse.usecases.worker.work_item import event_of
from duecourse.usecases.workflows.workflows import Found
from tests.support.workflow_model.records import plain
from tests.support.workflow_model.values import (
    EARLY,
    LEASE_SECONDS,
    Call,
    Circumstances,
    Delete,
    Done,
    Letter,
    NoteEnd,
    Question,
    Read,
    Send,
    Stage,
    Write,
)
from tests.support.workflow_model.workflow_steps import WorkflowSteps

Steps = Generator[Question, Any, Stage]


class Protocol(WorkflowSteps):
    """All that a worker does, from a message's receipt to its deletion: usecases/worker."""

    def receive(self, letter: Letter) -> Steps:
        """LaneWorker._work_on, up to the first decision. (A first delivery of the workflow's own start reads no record:
        its write finds out. Here it reads.)
        """
        found = yield from self._look(letter)
        waits = isinstance(found, StepTurn) and (found.over or found.readiness is Readiness.WAITS)
        if self.changed == "who waits is dropped without a look at its record" and waits:
            return Stage("done", (letter, "deleted"))
        (run,) = yield Read((("own", 0),))
        if run is not None and may_run_again(run):
            found = yield from self._look(letter, run)
        return Stage("decide", (letter, found, run))

    def decide(self, letter: Letter, found: Found, run: Run | None) -> Steps:
        """LaneWorker._step."""
        message = letter.received
        paused, now = yield Circumstances(run)
        definition: Job = self.workflow
        if message.is_step:
            step = self.steps[self.graph.numbers[message.job_id]]
            given = as_step(replace(step, state=JobState.PAUSED) if paused else step, message)
            assert isinstance(given, Job)
            definition = given
        context = AttemptContext(letter.message_id, "", EARLY + LEASE_SECONDS, int(EARLY))
        decision = decide(event_of(message, 0.5, found), definition, run, context, now=now)
        match decision:
            case Start(new, previous):
                if self.changed == "a skipped step stays skipped" and previous is not None and previous.attempt == 0:
                    return Stage("effects", (letter, previous))
                return Stage("start", (letter, plain(new), previous))
            case Transition(new, previous):
                return Stage("write", (letter, plain(new), previous))
            case FollowUp(past):
                return Stage("effects", (letter, past))
            case Drop():
                return Stage("done", (letter, "deleted"))
            case RetryLater():
                return Stage("done", (letter, "retained"))
            case Withdraw(final, following):
                return Stage("withdraw", (letter, final, following))
            case Hold() | Suspend():
                # LaneWorker._hold.
                accepted = yield Send(Letter(letter.message, replaced=(letter.id,)))
                return Stage("done", (letter, "deleted" if accepted else "retained"))
            case Reschedule():
                return Stage("done", (letter, "retained"))
            case other:
                raise AssertionError(f"the model knows nothing of {other}")

    def withdraw(self, letter: Letter, final: Run, following: int) -> Steps:
        """LaneWorker._step: Workflows.withdraw, then another decision."""
        number = self.graph.numbers[letter.message.job_id]
        if self.changed != "a step runs again before its end is withdrawn":
            yield from self._withdraw({number: following})
        return (yield from self._again(letter, final))

    def start(self, letter: Letter, run: Run, previous: Run | None) -> Steps:
        """Starter.start, for jobs that allow overlap. (The deadline is armed before: the model lets it come at any
        time.)
        """
        conflict = yield Write(run, previous)
        if conflict is not None:
            return (yield from self._again(letter, conflict))
        return Stage("call" if run.is_step else "begin", (letter, run))

    def write(self, letter: Letter, run: Run, previous: Run | None) -> Steps:
        """TransitionWriter.write."""
        conflict = yield Write(run, previous)
        if conflict is not None:
            return (yield from self._again(letter, conflict))
        return Stage("effects", (letter, run))

    def _again(self, letter: Letter, conflict: Run) -> Steps:
        """LaneWorker._work_on, after a conflict: the record as it was found, and then a new look."""
        found = yield from self._look(letter, conflict)
        if self.changed == "a step runs again before its end is withdrawn" and isinstance(found, StepTurn):
            found = replace(found, round=conflict.round + 1)
        return Stage("decide", (letter, found, conflict))

    def call(self, letter: Letter, run: Run) -> Steps:
        """Calls.call, of a step."""
        outcome = yield Call()
        return Stage("finish", (letter, run, outcome))

    def begin(self, letter: Letter, run: Run) -> Steps:
        """Calls.call, of a workflow."""
        accepted = yield from self._begin(run)
        outcome: Outcome = Returned() if accepted else Failed("not all accepted", code="workflow.start")
        return Stage("finish", (letter, run, outcome))

    def finish(self, letter: Letter, run: Run, outcome: Outcome) -> Steps:
        """TransitionWriter.finish."""
        definition = self.steps[self.graph.numbers[run.job_id]] if run.is_step else self.workflow
        context = AttemptContext(letter.message_id, "", EARLY + LEASE_SECONDS, int(EARLY))
        decision = decide(Ended(outcome, 0.5), definition, run, context, now=EARLY)
        assert isinstance(decision, Transition)
        new = plain(decision.run)
        if self.changed == "an end is noted before its record is written" and new.is_step and new.state.final:
            yield NoteEnd(self.graph.numbers[new.job_id], end_of(new), new.round)
        found = yield Write(new, run)
        if found is None:
            return Stage("effects", (letter, new))
        if found.attempt != run.attempt or found.state is not RunState.RUNNING:
            return Stage("done", (letter, "deleted"))
        return Stage("finish", (letter, found, outcome))

    def effects(self, letter: Letter, run: Run) -> Steps:
        """SideEffects.perform."""
        if run.workflow is not None and isinstance(run, Final) and not run.notified:
            if self.changed == "the message is deleted before what follows is sent":
                yield Delete()
            if not (yield from self._ended(run)):
                return Stage("done", (letter, "retained"))
        match run:
            case Retrying():
                following = letter.message.to_start(run.attempt + 1, nonce="", not_before=EARLY)
                accepted = yield Send(Letter(following))
                return Stage("done", (letter, "deleted" if accepted else "retained"))
            case Dead():
                if not run.notified:
                    yield Write(replace(run, notified=True), run)
                evaluated = letter.message.kind is MessageKind.EVALUATE
                if evaluated and run.message_id != letter.message_id:
                    return Stage("done", (letter, "deleted"))
                if evaluated and not letter.replaced and (yield Send(Letter(letter.message, replaced=(letter.id,)))):
                    return Stage("done", (letter, "deleted"))
                return Stage("done", (letter, "dead"))
            case _:
                return Stage("done", (letter, "deleted"))

    def done(self, letter: Letter, fate: str) -> Steps:
        """LaneWorker.handle: the disposition."""
        yield Done(fate)
        raise AssertionError
