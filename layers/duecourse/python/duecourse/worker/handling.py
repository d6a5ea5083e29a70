"""A worker's processing of one message: check that the attempt is still current, work, report, delete."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from duecourse.client import ApiError, ApiUnreachableError, Client
from duecourse.worker.keeper import Keeper
from duecourse.worker.log_sender import LogSender
from duecourse.worker.queue import TaskMessage, TaskMessageError, TaskQueue, WorkerRun, read_run
from duecourse.worker.report import (
    MAX_RETRY_AFTER,
    Completion,
    DoNotRetry,
    Failed,
    Failure,
    Report,
    ReportOutcome,
    Retry,
    WorkerName,
    persistently,
    refused_result,
    report_of,
    report_of_raised,
    verdict_of,
)

log = logging.getLogger("duecourse.worker")

MAX_HIDDEN_SECONDS = 43_200
"""SQS hides a message for at most twelve hours, including all extensions (quota "Message visibility timeout")."""

Task = Callable[[WorkerRun], object]


@dataclass(frozen=True, slots=True)
class Handler:
    """Processes messages. Safe to use from several threads. Exceptions that a task raises do not propagate."""

    queue: TaskQueue
    client: Client
    task: Task
    name: WorkerName
    hidden_seconds: int = field(kw_only=True)
    clock: Callable[[], float] = field(kw_only=True)
    """Returns seconds that never decrease."""
    pause: Callable[[float], object] = field(kw_only=True)
    """Waits this number of seconds."""

    def handle(self, received: TaskMessage) -> None:
        """Process a message. It is deleted when its run does not need further work. Otherwise it becomes
        visible again later.
        """
        try:
            run = read_run(received.body)
        except TaskMessageError as error:
            # The queue's redrive policy applies: the worker does not delete messages of other senders.
            log.error("a message is not from Duecourse and remains in the queue: it %s", error)  # noqa: TRY400
            return
        keeper = Keeper(
            self.queue, received, run, self.client, self.name, hidden_seconds=self.hidden_seconds, clock=self.clock
        )
        sender = LogSender(run, self.client, received.deliveries, clock=self.clock, over=keeper.end)
        run = replace(run, beat=keeper.beat, wake=keeper.wake, begin_log=sender.begin)
        keeper.beat()  # fencing: an attempt that is over or cancelled is not started
        if keeper.over():
            self.queue.delete(received)
            return
        with keeper:
            report = self._perform(run)
            sender.finish(self.pause)
            if run.token is None:
                done_with = self._settle(received, run, report)
            else:
                done_with = keeper.over() or self._report(run, run.token, report)
        if done_with:
            self.queue.delete(received)

    def _perform(self, run: WorkerRun) -> Report:
        if run.cancelled.is_set():
            return Failure("cancelled before the work began", retryable=False)
        try:
            returned = self.task(run)
        except (Failed, Retry, DoNotRetry) as asked:
            # In ASCII: the text can contain line breaks, and a log entry is one line.
            log.info("run %s: %s: %a", run.run_id, type(asked).__name__, str(asked))
            return report_of_raised(asked)
        except (Exception, SystemExit) as raised:
            log.warning("run %s: attempt %d failed", run.run_id, run.attempt, exc_info=raised)
            return report_of_raised(raised)
        return report_of(returned)

    def _settle(self, received: TaskMessage, run: WorkerRun, report: Report) -> bool:
        """Return whether the message of a run without a callback can be deleted. After a failure, the message stays in
        the queue and is delivered again, because only the queue records the failure.
        """
        if isinstance(report, Completion) or report.retryable is False:
            return True
        if report.retry_after is not None:
            wish = int(min(report.retry_after, MAX_RETRY_AFTER, MAX_HIDDEN_SECONDS - self.hidden_seconds))
            self.queue.hide(received, wish)
        log.info("run %s: its message remains in the queue", run.run_id)
        return False

    def _report(self, run: WorkerRun, token: str, report: Report) -> bool:
        """Report to the API. Returns whether the message can be deleted."""
        try:
            persistently(lambda: self.name.reported(lambda name: self._tell(run, token, report, name)), self.pause)
        except ApiUnreachableError as error:
            log.error("run %s: the result was not reported, so the run will be processed again: %s", run.run_id, error)  # noqa: TRY400
            return False
        except ApiError as error:
            return self._refused(run, token, report, error)
        log.info("run %s: attempt %d is %s", run.run_id, run.attempt, _word(report))
        return True

    def _tell(self, run: WorkerRun, token: str, report: Report, name: str | None) -> None:
        match report:
            case Completion(result):
                self.client.complete_run(run.run_id, token, result=result, worker=name)
            case Failure():
                self.client.fail_run(
                    run.run_id,
                    token,
                    report.error,
                    code=report.code,
                    retryable=report.retryable,
                    retry_after=report.retry_after,
                    worker=name,
                )

    def _refused(self, run: WorkerRun, token: str, report: Report, error: ApiError) -> bool:
        match verdict_of(error):
            case ReportOutcome.OVER:
                log.info("run %s: its attempt %d is over; the work is abandoned: %s", run.run_id, run.attempt, error)
                return True
            case ReportOutcome.BAD_RESULT if isinstance(report, Completion):
                return self._report(run, token, refused_result(error))
            case ReportOutcome.BAD_RESULT | ReportOutcome.REFUSED | ReportOutcome.LATER:
                log.error(
                    "run %s: the result was not reported, so the run will be processed again: %s", run.run_id, error
                )
                return False


def _word(report: Report) -> str:
    return "completed" if isinstance(report, Completion) else "failed"
