"""Call the target of a run that has begun."""

from __future__ import annotations

from dataclasses import dataclass
from traceback import format_tb

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callback import CallbackToken
from duecourse.domain.runs.rendering import idempotency_key
from duecourse.domain.runs.run import Run
from duecourse.domain.targets.targets import Failed, Outcome, WorkflowTarget
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import Call, Caller, Clock
from duecourse.usecases.worker.work_item import WorkItem
from duecourse.usecases.workflows.payloads import Payloads, Prepared
from duecourse.usecases.workflows.workflows import Workflows

FINISH_MARGIN_SECONDS = 3
"""The time of an invocation that a worker reserves to record the end of an attempt."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls targets, with the run's own payload if its request had one."""

    caller: Caller
    payloads: Payloads
    clock: Clock
    workflows: Workflows

    def prepared(self, job: Job, run: Run) -> Prepared | Failed:
        """The job as this run calls it, or why it cannot be called: what its payload is made of is not there."""
        try:
            return self.payloads.prepared(job, run)
        except TemplateError as problem:
            return Failed(str(problem), retryable=False, code=problem.code)

    def call(self, item: WorkItem, run: Run, prepared: Prepared | Failed) -> Outcome:
        """The outcome of the call. Never raises: after any error the attempt has ended."""
        if isinstance(prepared, Failed):
            return prepared
        spare = item.context.lease_until - self.clock.now() - FINISH_MARGIN_SECONDS
        token = None if run.callback_hash is None else str(CallbackToken(run.tenant, run.attempt, item.context.secret))
        try:
            if isinstance(prepared.job.target, WorkflowTarget):
                return self.workflows.begin(run, item.report)
            job, key = prepared.job, idempotency_key(run, prepared.job)
            timeout = min(float(job.timeout_seconds), spare)
            outcome = self.caller.call(Call(job, run, key, timeout, token, prepared.taken))
        except TemplateError as problem:  # a job of a release without templates or their limits
            return Failed(f"a template of the job cannot be filled in: {problem}", retryable=False, code=problem.code)
        except Exception as problem:  # noqa: BLE001 - any error in the call ends the attempt, not its worker
            # Without the error's text, which may quote a header and so a secret.
            name, trace = type(problem).__name__, "".join(format_tb(problem.__traceback__))
            item.report.add("call_broke", alarming=True, error=name, traceback=trace)
            return Failed(f"the call broke inside Duecourse ({name})", code="internal")
        if isinstance(outcome, Failed) and outcome.detail is not None:
            item.report.add("target_refused", code=outcome.code, detail=outcome.detail)
        return outcome
