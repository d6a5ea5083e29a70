"""The dead-letter reconciler. It reads the messages in the dead-letter queue. It records a run as dead if no other
message carries it, sends commands again, and deletes messages that are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, assert_never

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.pause import ended
from duecourse.domain.runs.decision import (
    AttemptContext,
    DeadLettered,
    Drop,
    FollowUp,
    Hold,
    MissedDeadline,
    PutBack,
    RemainingCatchUp,
    Reschedule,
    RetryLater,
    Start,
    Suspend,
    Transition,
    Withdraw,
)
from duecourse.domain.runs.states import Dead, Discard, RunState
from duecourse.domain.runs.transitions import decide
from duecourse.messages import MessageError, OperationMessage, RunMessage, read_message
from duecourse.ports import (
    Conflict,
    DeadLetterQueue,
    DeadMessage,
    Executor,
    InlineExecutor,
    Outgoing,
)
from duecourse.usecases.report import Report, about, format_error
from duecourse.usecases.worker.attempt import TransitionWriter
from duecourse.usecases.worker.effects import SideEffects
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage, WorkItem, start_request_of

if TYPE_CHECKING:
    from duecourse.settings import LaneSettings
    from duecourse.usecases.parts import Parts

MAX_CONCURRENT_RECEIVES = 8
"""The maximum number of concurrent receives, once one of them has returned messages."""

HIDDEN_SECONDS = 3600
"""If a call did not reach the end of the queue, the messages that it read stay hidden for this time (seconds), so that
the next calls receive the others. At about 8,000 messages a call, twelve calls receive nearly as many as SQS allows in
flight (120,000).
"""

MARGIN_SECONDS = 5


@dataclass(frozen=True, slots=True)
class ReconcileDeadLetters:
    """The use case. One instance serves many calls."""

    parts: Parts[LaneSettings]
    queue: DeadLetterQueue
    transitions: TransitionWriter
    effects: SideEffects
    executor: Executor = field(default_factory=InlineExecutor)

    def __call__(self, deadline: float) -> Report:
        """Read every message once, as far as time allows (`deadline`: UTC seconds). The messages become visible again
        when this call ends, or later if it did not read all messages.
        """
        report = Report()
        seen: dict[str, DeadMessage] = {}
        more, wide = True, 1
        try:
            while more and self.parts.clock.now() < deadline - MARGIN_SECONDS:
                more = self._wave(wide, seen, report, deadline)
                wide = MAX_CONCURRENT_RECEIVES
        except BaseException:
            more = False
            raise
        finally:
            self.queue.hide(list(seen.values()), HIDDEN_SECONDS if more else 0)
        report.counts["DeadLettersKept"] += len(seen)
        counts = {name: count for name, count in report.counts.items() if count}
        report.add("reconciled", kept=len(seen), all_seen=not more, counts=counts)
        return report

    def _wave(self, wide: int, seen: dict[str, DeadMessage], report: Report, deadline: float) -> bool:
        """Handle the messages of `wide` receives. Add those that stay in the queue to `seen`. Return False if there are
        no more messages.
        """
        answers = self.executor.map(self._receive, range(wide))
        found = [message for messages, _ in answers for message in messages]
        fresh = list({message.message_id: message for message in found if message.message_id not in seen}.values())
        # If a message became visible in the meantime, only its newest receipt is valid.
        seen.update({message.message_id: replace(message, body="") for message in found})
        looks = self.executor.map(self._look, fresh)
        for message, (gone, _) in zip(fresh, looks, strict=True):
            if gone:
                del seen[message.message_id]
        for _, part in [*looks, *answers]:
            report.merge(part)
        self.parts.run_counts.write(report, deadline)
        return bool(fresh) and not any(part.counts["ReconciliationsFailed"] for _, part in answers)

    def _receive(self, _: int) -> tuple[list[DeadMessage], Report]:
        """Receive the next messages. Return an empty result if the queue does not respond: the work so far is valid and
        is reported.
        """
        report = Report()
        try:
            return self.queue.receive(), report
        except Exception as problem:  # noqa: BLE001 - after any error the next call tries again
            report.counts["ReconciliationsFailed"] += 1
            report.add("dead_letter_failed", alarming=True, error=format_error(problem))
            return [], report

    def _look(self, found: DeadMessage) -> tuple[bool, Report]:
        """Handle one message. Return whether it was deleted from the queue."""
        report = Report()
        try:
            message = read_message(found.body)
        except MessageError as problem:
            report.counts["DeadLettersUnreadable"] += 1
            report.add("dead_letter_unreadable", alarming=True, message_id=found.message_id, error=str(problem))
            return False, report
        report = Report(about(message))
        try:
            if isinstance(message, OperationMessage):
                gone = self._is_over(message, report)
            else:
                gone = self._act(found, message, report)
            if gone:
                self.queue.delete(found)
                report.counts["DeadLettersRemoved"] += 1
        except Exception as problem:  # noqa: BLE001 - an error of one message must not stop the others
            report.counts["ReconciliationsFailed"] += 1
            report.add("dead_letter_failed", alarming=True, error=format_error(problem))
            return False, report
        return gone, report

    def _is_over(self, message: OperationMessage, report: Report) -> bool:
        """Return whether an operation no longer needs its message. Otherwise it has stalled, and the message stays in
        the queue, where it sets off an alarm. A redrive by the operator continues the operation.
        """
        operation = self.parts.jobs.operations.get(message.tenant, message.operation)
        over = operation is None or not operation.is_running(self.parts.clock.now())
        reason = "the operation has ended" if over else "the operation continues if this message is redriven"
        report.add("dead_letter_removed" if over else "dead_letter_kept", reason=reason, asked="operation")
        return over

    def _act(self, found: DeadMessage, message: RunMessage, report: Report) -> bool:
        now = self.parts.clock.now()
        if message.watch is not None:  # the watch of a wait queue, independent of the run in the message
            return self._resend(message, "it monitors a wait queue", report)
        context = AttemptContext(
            message_id=found.message_id,
            fencing_token=f"reconcile/{found.message_id}",
            lease_until=now,
            expires_at=int(now) + self.parts.settings.run_retention_days * DAY_SECONDS,
        )
        run = self.parts.runs.get(message.tenant, message.job_id, message.name.local)
        job = self.parts.jobs.snapshot(message.tenant, message.job_id)
        job = ended(job, now) if isinstance(job, Job) else job
        received = ReceivedMessage(found.message_id, found.receipt, 1, "reconcile", found.body)
        item = WorkItem(message, received, context, report)
        decision = decide(DeadLettered(start_request_of(message), message.requests_attempt), job, run, context, now=now)
        facts: dict[str, Any] = {"asked": message.kind}
        match decision:
            case RetryLater(_, reason):
                report.add("dead_letter_kept", reason=reason, **facts)
                return False
            case Drop(reason):
                report.add("dead_letter_removed", reason=reason, **facts)
                return True
            case Reschedule(_, reason):
                return self._resend(message, reason, report)
            case FollowUp(past, reason):
                report.add("followed_up", reason=reason, **facts)
                return self.effects.perform(item, past, job) is Disposition.ACK
            case Transition(Dead(discard=Discard()) as after, Dead(discard=None) as before, reason):
                if self.parts.runs.write(after, before) is not None:
                    return False  # the next call decides about the record that was found
                report.add("run_discarded", reason=reason, **facts)
                return True
            case Transition():
                if isinstance(self.transitions.write(item, decision, job), Conflict):
                    return False  # another message carries the run after all; the next call handles this
                report.counts["DeadLettersRecorded"] += decision.run.state is RunState.DEAD
                return decision.run.state is not RunState.DEAD
            case Start() | RemainingCatchUp() | Withdraw() | Hold() | PutBack() | Suspend() | MissedDeadline():
                raise AssertionError("runs are not started from the dead-letter queue")
            case other:
                assert_never(other)

    def _resend(self, message: RunMessage, reason: str, report: Report) -> bool:
        report.counts["DeadLettersResent"] += 1
        report.add("dead_letter_resent", alarming=True, reason=reason, asked=message.kind)
        again = message.again(nonce=self.parts.randomness.nonce(), not_before=self.parts.clock.now())
        return self.parts.lanes.send([Outgoing(again, 0)])[0]
