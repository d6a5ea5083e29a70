"""A received message and its event in the domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.decision import (
    AttemptContext,
    CancelAsked,
    Completed,
    DeadlineCame,
    DeadlineChecked,
    Evaluated,
    Event,
    GivenUp,
    StartRequest,
    StepTurn,
    WorkflowOutcome,
)
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import Failed
from duecourse.limits import FAILED_SHARE
from duecourse.messages import (
    MAX_REPLACED,
    Cancel,
    CheckDeadline,
    CheckFinish,
    CheckForecast,
    CheckStart,
    Complete,
    Evaluate,
    Fail,
    Redrive,
    RunMessage,
    StartAttempt,
)
from duecourse.usecases.report import Report
from duecourse.usecases.workflows.workflows import Evaluation, Found


class Disposition(Enum):
    """ACK: the message is deleted. RETAIN: it stays in its queue."""

    ACK = "ack"
    RETAIN = "retain"


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A delivery of a message. `receive_count` counts from 1; `request_id` identifies the invocation. `sent_at` is when
    the message was sent (UTC seconds; None: unknown).
    """

    message_id: str
    receipt: str
    receive_count: int
    request_id: str
    body: str
    sent_at: float | None = None


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A parsed received message. `context` has the deadline and the token of this delivery; `report` collects the
    actions. `near_limit`: another failed delivery could move the message to the dead-letter queue although the run is
    not dead. `received_at`: when this worker received the message (UTC seconds). `places`: the number of places of the
    run's key when its attempt took one (None: no attempt has started).
    """

    message: RunMessage
    received: ReceivedMessage
    context: AttemptContext
    report: Report
    near_limit: bool = False
    received_at: float = 0.0
    places: int | None = None

    def carries(self, run: Run) -> bool:
        """Return whether this message, or one that it replaces, may have written the record of the run. A message that
        was replaced often no longer names every message before it.
        """
        before = [name for name, _ in self.message.replaces]
        return run.message_id in {self.received.message_id, *before} or len(before) == MAX_REPLACED


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """The configuration of a worker of a lane, or of callbacks (`lane` is None). `max_receive_count` comes from the
    redrive policy: a message received more often moves to the dead-letter queue. `failed_share`: the
    share of failed attempts above which the stage's alarm counts them.
    """

    lane: Lane | None
    max_receive_count: int
    run_retention_days: int
    failed_share: float = FAILED_SHARE


CANCELLED = "cancelled"
"""The default reason of a cancellation."""


def event_of(message: RunMessage, draw: float, found: Found = None) -> Event:
    """Return the event of a message. `draw` is a random number in [0, 1). `found` is the state of the workflow's run
    that concerns the message.
    """
    request = start_request_of(message)
    if isinstance(found, StepTurn):
        request = replace(request, turn=found)
    match message.command:
        case StartAttempt() | Redrive():
            return request
        case Evaluate():
            evaluation = found if isinstance(found, Evaluation) else Evaluation(WorkflowOutcome.OPEN)
            request = replace(request, turn=evaluation.turn)
            return Evaluated(request, evaluation.outcome, evaluation.error, evaluation.result)
        case Complete(result, worker):
            return Completed(request, result, worker)
        case Fail() as failure:
            return GivenUp(request, _failed(failure), draw, failure.worker)
        case CheckDeadline(deadline_message_id, lease_until):
            return DeadlineCame(request, draw, deadline_message_id, lease_until)
        case CheckStart() | CheckFinish() as check:
            return DeadlineChecked(request, check.deadline)
        case Cancel(reason):
            return CancelAsked(request, reason or CANCELLED)
        case CheckForecast():
            raise AssertionError("a forecast does not change its run")
        case other:
            assert_never(other)


def start_request_of(message: RunMessage) -> StartRequest:
    """Return the start request of a message. A redrive refers to the attempt that died, if any had started, and
    requests the next one.
    """
    redrive = isinstance(message.command, Redrive)
    return StartRequest(
        message.identity,
        nonce=message.nonce,
        attempt=message.starts,
        caught_up_at=message.caught_up_at,
        final=message.final,
        redrive=redrive,
        following=message.following,
        rules=message.rules,
        replaces=message.replaces,
    )


def _failed(failure: Fail) -> Failed:
    return Failed(
        failure.error or "it failed without an error message",
        retry_after=failure.retry_after,
        code=failure.code or "callback.failed",
        forbidden=failure.retryable is False,
    )
