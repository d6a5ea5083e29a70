"""What a world of runs is made of: letters, workers, what they think and write (see tests.support.run_world)."""

from dataclasses import dataclass

from duecourse.domain.jobs.job import DeadlineEvent, JobSnapshot
from duecourse.domain.runs.decision import (
    AttemptContext,
    CancelAsked,
    Completed,
    DeadlineCame,
    DeadlineChecked,
    Decision,
    Evaluated,
    Event,
    GivenUp,
    Start,
    StartRequest,
    Transition,
    WorkflowOutcome,
)
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import Failed
from duecourse.messages import MessageKind

LEASE_SECONDS = 120
"""How long an invocation lives."""

VISIBLE_AFTER_SECONDS = 30
"""How long after that its letter is seen again."""


@dataclass(slots=True, eq=False)
class Letter:
    """A message; `home` is `lane`, `dead` or `gone`. Whoever receives it hides it from others until a true time, if SQS
    does not deliver it twice.
    """

    kind: MessageKind
    request: StartRequest
    message_id: str
    not_before: float
    home: str = "lane"
    hidden_until: float = 0.0

    @property
    def names(self) -> int:
        """The attempt that its message names; the offer of a redrive names the next one."""
        return self.request.attempt - 1 if self.kind is MessageKind.REDRIVE else self.request.attempt

    def event(self) -> Event:
        """What it means for its run."""
        match self.kind:
            case MessageKind.START | MessageKind.REDRIVE:
                return self.request
            case MessageKind.COMPLETE:
                return Completed(self.request, "done")
            case MessageKind.FAIL:
                return GivenUp(self.request, Failed("given up", code="callback.failed"), 0.5)
            case MessageKind.DEADLINE:
                return DeadlineCame(self.request, 0.5)
            case MessageKind.EVALUATE:
                return Evaluated(self.request, WorkflowOutcome.OPEN)
            case MessageKind.CANCEL:
                return CancelAsked(self.request, "cancelled")
            case MessageKind.CHECK_START:
                return DeadlineChecked(self.request, DeadlineEvent.START)
            case MessageKind.CHECK_FINISH:
                return DeadlineChecked(self.request, DeadlineEvent.FINISH)
            case MessageKind.FORECAST:
                raise AssertionError("a forecast does not change its run")


@dataclass(slots=True, eq=False)
class Worker:
    """An invocation with one letter. `skew` is by how much its clock is wrong, `killed_at` a true time."""

    letter: Letter
    context: AttemptContext
    skew: float
    killed_at: float


@dataclass(frozen=True, slots=True, eq=False)
class Thought:
    """What a worker has decided about an event, with the job as it was then."""

    worker: Worker
    event: Event
    decision: Decision
    job: JobSnapshot


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """One write that came through, over `before`, at a true time."""

    thought: Thought
    before: Run | None
    at: float

    @property
    def after(self) -> Run:
        """What was written."""
        assert isinstance(self.thought.decision, Start | Transition)
        return self.thought.decision.run


@dataclass(slots=True, eq=False)
class Calling:
    """A call on its way, with the record and the job that it was begun with."""

    worker: Worker
    run: Run
    job: JobSnapshot
