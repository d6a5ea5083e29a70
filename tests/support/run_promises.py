"""What a run promises, looked at on every decision and every write."""

from dataclasses import dataclass, field, replace

from duecourse.domain.jobs.job import Delivery, Job
from duecourse.domain.runs.decision import (
    LEASE_MARGIN_SECONDS,
    CancelAsked,
    Completed,
    DeadLettered,
    DeadlineCame,
    Decision,
    Ended,
    Evaluated,
    GivenUp,
    Start,
    StartRequest,
)
from duecourse.domain.runs.executions import execution_of
from duecourse.domain.runs.states import (
    Cancelled,
    Dead,
    Retrying,
    Running,
    RunState,
    Waiting,
)
from duecourse.domain.runs.transitions import wrote
from tests.support.run_parts import Write


@dataclass(slots=True)
class Promises:
    """Looks at every decision and every write."""

    begun: dict[int, float] = field(default_factory=dict)
    """When the invocation of each attempt is killed (true time)."""

    def seen(self, decision: Decision) -> None:
        assert decision.reason.strip()

    def wrote(self, write: Write) -> None:
        before, after = write.before, write.after
        assert after.state is not RunState.QUEUED
        if isinstance(write.thought.decision, Start):
            self._begins(write)
        else:
            assert after.state is not RunState.RUNNING or (before is not None and after.attempt in self.begun)
            assert after.attempt == (0 if before is None else before.attempt)
            assert before is None or after.attempts_allowed == before.attempts_allowed
        # A run that succeeded before its cancellation was noticed may go on without it, by the redrive of a step.
        if before is not None and (asked := before.cancel_requested) is not None and not _goes_on(write):
            assert after.cancel_requested == asked, "a wish that was noted is not forgotten"
        if before is not None and before.state.final:
            self._leaves_the_end(write)
        if before is not None and before.state is not RunState.DEAD and not _goes_on(write):
            self._is_of_this_attempt(write)
        if isinstance(after, Waiting):
            assert after.callback is not None
        if isinstance(before, Waiting) and after.attempt == before.attempt:
            assert execution_of(after) == execution_of(before), "an execution is not forgotten, and can be stopped"
        if isinstance(after, Retrying):
            assert after.attempt < after.attempts_allowed
        if isinstance(after, Dead) and not isinstance(before, Dead):
            self._dies(write, after)
        if isinstance(after, Cancelled):
            assert after.reason

    def _begins(self, write: Write) -> None:
        before, after = write.before, write.after
        context, now = write.thought.worker.context, write.at + write.thought.worker.skew
        assert isinstance(write.thought.job, Job)
        assert after.state is RunState.RUNNING
        assert after.attempt == (0 if before is None else before.attempt) + 1
        assert after.attempt <= after.attempts_allowed
        assert after.attempt not in self.begun, "an attempt never starts twice"
        assert (after.message_id, after.fencing_token) == (context.message_id, context.fencing_token)
        if before is not None:
            assert before.state in (RunState.RUNNING, RunState.RETRYING, RunState.DEAD) or _goes_on(write)
            assert before.cancel_requested is None or _goes_on(write)
            if isinstance(before, Running):
                assert now >= before.lease_until + LEASE_MARGIN_SECONDS
                assert write.at >= self.begun[before.attempt], "two attempts are never alive at once"
            if isinstance(before, Retrying):
                assert now >= before.not_before
            if not before.state.final:
                assert after.attempts_allowed == before.attempts_allowed
                assert write.thought.job.delivery is Delivery.AT_LEAST_ONCE
        self.begun[after.attempt] = write.thought.worker.killed_at

    def _leaves_the_end(self, write: Write) -> None:
        """A final record changes by a redrive only, of the run or of a job of its workflow, but for the message that
        carries a dead run.
        """
        before, after = write.before, write.after
        assert before is not None
        if _goes_on(write):
            assert isinstance(write.thought.decision, Start)
            return
        assert before.state is RunState.DEAD
        if after.state is RunState.DEAD:
            offered = _offered(write)
            assert offered is not None
            assert wrote(offered, before)
            assert (
                replace(after, fencing_token=before.fencing_token, message_id=before.message_id, nonce=before.nonce)
                == before
            )
            return
        assert isinstance(write.thought.decision, Start)
        offered = _offered(write)
        assert offered is not None
        brought_back = wrote(offered, before) and write.thought.worker.context.message_id != before.message_id
        assert brought_back or (offered.redrive and offered.attempt == before.attempt + 1)
        assert after.attempts_allowed > before.attempts_allowed or after.attempts_allowed > before.attempt

    def _is_of_this_attempt(self, write: Write) -> None:
        """Nothing of an attempt that is over changes the record."""
        before = write.before
        assert before is not None
        match write.thought.event:
            case Completed(named) | GivenUp(named) | DeadlineCame(named):
                # What was redriven carries its run on; what it once said changes nothing any more.
                if wrote(named, before):
                    assert isinstance(write.thought.decision, Start) or write.after.reason in (
                        "lost",
                        "deleted",
                        "cancelled",
                    )
                else:
                    assert named.attempt == before.attempt
            case Ended():
                assert before.state is RunState.RUNNING
                assert before.message_id == write.thought.worker.context.message_id
            case CancelAsked() | DeadLettered() | StartRequest():
                pass

    def _dies(self, write: Write, after: Dead) -> None:
        """By nonce and message id a redrive will be known."""
        assert after.message_id == write.thought.worker.context.message_id
        offered = _offered(write)
        if offered is not None:
            assert after.nonce == offered.nonce
        assert after.nonce
        assert after.cancel_requested is None, "what is to end is no death"
        assert after.error
        assert not after.notified
        assert isinstance(write.thought.job, Job)


def _goes_on(write: Write) -> bool:
    """Whether a run that has succeeded goes on by an evaluation: a dead job of its workflow was redriven."""
    succeeded = write.before is not None and write.before.state is RunState.SUCCEEDED
    return succeeded and isinstance(write.thought.event, Evaluated)


def _offered(write: Write) -> StartRequest | None:
    """What the worker's letter says; None at the end of a call."""
    match write.thought.event:
        case Ended():
            return None
        case StartRequest() as offered:
            return offered
        case other:
            return other.request
