"""Follows the executions that calls have started in AWS services until their end (`completion: end`).

The event bus reports an end to the queue of callbacks. The worker then reads the result from the service, and a message
completes or fails the run, like that of a program. The execution is also read once an hour and at the deadlines of its
run, in case the event was lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.executions import execution_of
from duecourse.domain.runs.states import Run, Running, Waiting
from duecourse.domain.targets.executions import ended_by
from duecourse.domain.targets.targets import Execution, Failed, Outcome, Returned
from duecourse.messages import Command, Complete, Fail, message_about
from duecourse.ports import Executions, ExecutionUnavailableError
from duecourse.stores.executions import ExecutionStore
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report, format_error
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage
from duecourse.usecases.write_retry import WriteRetry

if TYPE_CHECKING:
    from duecourse.settings import LaneSettings
    from duecourse.usecases.parts import Parts

AGAIN_SECONDS = 60
"""The delay (seconds) after which an event is handled again: it may arrive before the item of its execution, or the
service cannot be reached.
"""

MAX_TRIES = 3
"""How often an event is handled. After that, the execution is read within an hour."""


def read_end(body: str) -> Execution | None:
    """Return the execution that a message of the event bus is about; None for another message."""
    try:
        event = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return ended_by(event) if isinstance(event, dict) else None


@dataclass(frozen=True, slots=True)
class FollowedExecutions:
    """The executions of the runs of a worker."""

    parts: Parts[LaneSettings]
    forwarder: Forwarder
    services: Executions

    def follow(self, execution: Execution, run: Running, report: Report, *, until: float) -> None:
        """Record which run waits for an execution; retried until an instant (UTC seconds). After an error, the end
        is noticed by the hourly read.
        """
        deadlines = run.deadlines
        last = self.parts.clock.now() if deadlines is None else deadlines.waiting_until
        retry = WriteRetry(self.parts.clock, self.parts.randomness, until)
        try:
            retry.until_deadline(
                lambda: self._store.put(execution, run, expires_at=int(last) + DAY_SECONDS), lambda _: None
            )
        except Exception as problem:  # noqa: BLE001 - whatever the error, the end of the call must be recorded
            report.counts["ExecutionsUnread"] += 1
            report.add("execution_not_recorded", alarming=True, run_id=run.run_id, error=format_error(problem))

    def ended(self, received: ReceivedMessage, report: Report) -> Disposition | None:
        """Handle an event about the end of an execution. Return None for a message that is no such event."""
        execution = read_end(received.body)
        if execution is None:
            return None
        try:
            settled = self._settle(execution, report)
        except Exception as problem:  # noqa: BLE001 - an error of one message must not fail the others
            self._unread(execution, report, format_error(problem))
            settled = False
        if settled:
            return Disposition.ACK
        if received.receive_count >= MAX_TRIES:
            reason = f"no run waits for it, or it could not be read, {MAX_TRIES} times"
            report.add("execution_ignored", execution=execution.id, reason=reason)
            return Disposition.ACK
        self.forwarder.postpone(received.receipt, AGAIN_SECONDS)
        return Disposition.RETAIN

    def _settle(self, execution: Execution, report: Report) -> bool:
        """Return whether the message for the run of an execution was sent, or is not needed."""
        owner = self._store.get(execution)
        if owner is None:
            return False
        tenant, name = owner
        run = self.parts.runs.get(tenant, name.job_id, name.local)
        if isinstance(run, Running):
            return False  # the record of the end of its call is not written yet
        follows = execution_of(run) if isinstance(run, Waiting) else None
        if run is None or follows is None or (follows.service, follows.id) != (execution.service, execution.id):
            return True  # the attempt of this execution has ended otherwise
        return self.has_ended(run, report)

    def has_ended(self, run: Run, report: Report) -> bool:
        """Return whether the execution of a run has ended and the message that ends the run was sent. An error of the
        service counts as an active execution.
        """
        execution = execution_of(run)
        if execution is None:
            return False
        try:
            outcome = self.services.end_of(execution, run)
        except Exception as problem:  # noqa: BLE001 - the deadline of the run must be decided, whatever the error
            self._unread(execution, report, _text(problem), run)
            return False
        if outcome is None:
            return False
        now = self.parts.clock.now()
        message = message_about(run, _command(outcome), now=now, nonce=self.parts.randomness.nonce())
        sent = self.forwarder.send(message, now, run.lane)
        report.add("execution_ended", alarming=not sent, tenant=run.tenant, run_id=run.run_id, sent=sent)
        return sent

    def stop(self, execution: Execution, run: Run, report: Report) -> None:
        """Request the end of an execution that its run no longer waits for, unless it has ended. An error does not
        affect the run.
        """
        tenant, run_id, stopped = run.tenant, run.run_id, execution.id
        try:
            if self.services.end_of(execution, run) is not None:
                return
            self.services.stop(execution, run)
        except Exception as problem:  # noqa: BLE001 - the run has ended, and its next attempt must start
            report.counts["ExecutionsNotStopped"] += 1
            error = _text(problem)
            report.add(
                "execution_not_stopped", alarming=True, tenant=tenant, run_id=run_id, execution=stopped, error=error
            )
        else:
            report.add("execution_stopped", tenant=tenant, run_id=run_id, execution=stopped)

    def _unread(self, execution: Execution, report: Report, error: str, run: Run | None = None) -> None:
        report.counts["ExecutionsUnread"] += 1
        tenant, run_id = (None, None) if run is None else (run.tenant, run.run_id)
        report.add(
            "execution_not_read", alarming=True, tenant=tenant, run_id=run_id, execution=execution.id, error=error
        )

    @property
    def _store(self) -> ExecutionStore:
        return self.parts.executions


def _text(problem: Exception) -> str:
    return str(problem) if isinstance(problem, ExecutionUnavailableError) else format_error(problem)


def _command(outcome: Outcome) -> Command:
    match outcome:
        case Returned(result):
            return Complete(result)
        case Failed():
            retryable = None if outcome.retryable else False
            return Fail(outcome.error, outcome.code, retryable=retryable)
