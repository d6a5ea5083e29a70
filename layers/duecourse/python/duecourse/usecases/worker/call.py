"""Calls the target of a run that has started."""

from __future__ import annotations

from dataclasses import dataclass, field
from traceback import format_tb
from typing import TYPE_CHECKING

from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.rendering import Prepared, call_values, idempotency_key
from duecourse.domain.runs.states import Run, Running
from duecourse.domain.targets.targets import CONNECTOR_UNAVAILABLE, Failed, Outcome, WorkflowTarget
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import Call, Caller
from duecourse.usecases.report import UNREADABLE, Report, format_error
from duecourse.usecases.worker.work_item import WorkItem
from duecourse.usecases.workflows.workflows import Workflows
from duecourse.usecases.write_retry import WriteRetry

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts

FINISH_MARGIN_SECONDS = 3
"""The time of an invocation that a worker reserves for recording the end of an attempt (seconds)."""

BEGIN_MARGIN_SECONDS = 15
"""A worker does not try again to start a workflow's steps if its lease ends within this time (seconds), because it must
record the end of the attempt.
"""


LONG_CALL_SECONDS = 10
"""A call that lasts longer (seconds) is listed across jobs. Shorter calls do not cost a write."""

LOOK_SECONDS = 5
"""How often an invocation looks for long calls."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls targets. Holds the calls in progress in a worker's invocation, and lists the runs whose calls are long."""

    parts: Parts[TableSettings]
    caller: Caller
    workflows: Workflows
    _in_progress: dict[str, Running] = field(default_factory=dict)

    def call(self, item: WorkItem, run: Running, prepared: Prepared | Failed) -> Outcome:
        """Return the outcome of the call. Never raises: any error ends the attempt."""
        if isinstance(prepared, Failed):
            return prepared
        spare = item.context.lease_until - self.parts.clock.now() - FINISH_MARGIN_SECONDS
        attempt, secret = run.attempts.attempt, item.context.secret
        token = None if run.attempts.callback is None else str(CallbackToken(run.tenant, attempt, secret))
        self._in_progress[run.fencing_token] = run
        try:
            if isinstance(prepared.job.target, WorkflowTarget):
                return self._begin(item, run)
            job, key = prepared.job, idempotency_key(run, prepared.job)
            timeout = min(float(job.timeout_seconds), spare)
            values = call_values(run, job, key, prepared.taken, token)
            outcome = self.caller.call(Call(job, run, key, timeout, token, values))
        except TemplateError as problem:
            return Failed(f"a template of the job cannot be filled in: {problem}", retryable=False, code=problem.code)
        except Exception as problem:  # noqa: BLE001 - any error in the call ends the attempt, not its worker
            return _broken(item, problem)
        finally:
            self._in_progress.pop(run.fencing_token, None)
        if isinstance(outcome, Failed) and outcome.detail is not None:
            item.report.add("target_refused", code=outcome.code, detail=outcome.detail)
            if outcome.code == CONNECTOR_UNAVAILABLE:
                item.report.counts["ConnectorsFailed"] += 1
        return outcome

    def list_long(self) -> Report:
        """List the runs whose calls have lasted LONG_CALL_SECONDS. An error has no effect on the calls, and the next
        call of this method tries again.
        """
        report, began = Report(), self.parts.clock.now() - LONG_CALL_SECONDS
        for run in [run for run in tuple(self._in_progress.values()) if run.attempts.started_at <= began]:
            try:
                self.parts.runs.list_running(run)
            except Exception as problem:  # noqa: BLE001 - the list is less important than the calls
                report.add("run_not_listed", run_id=run.run_id, error=format_error(problem))
            else:
                self._in_progress.pop(run.fencing_token, None)
        return report

    def _begin(self, item: WorkItem, run: Run) -> Outcome:
        """Start a workflow's steps. An error of the store does not fail the workflow: the start is retried until
        shortly before the lease ends, since repeated starts change nothing.
        """

        def begin() -> Outcome:
            try:
                return self.workflows.begin(run, item.report)
            except UNREADABLE as problem:
                return _broken(item, problem)

        def put_off(problem: Exception) -> None:
            item.report.add("begin_put_off", error=format_error(problem))

        retry = WriteRetry(self.parts.clock, self.parts.randomness, item.context.lease_until - BEGIN_MARGIN_SECONDS)
        return retry.until_deadline(begin, put_off)


def _broken(item: WorkItem, problem: Exception) -> Failed:
    """Return the outcome of a call that failed with an internal error. The outcome does not contain the error's text,
    which may quote a header and thus a secret.
    """
    name, trace = type(problem).__name__, "".join(format_tb(problem.__traceback__))
    item.report.add("call_broke", alarming=True, error=name, traceback=trace)
    return Failed(f"the call failed because of an internal error ({name})", code="internal")
