"""The payload of a run. It is not stored but computed from the run and its job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from duecourse.domain.runs.rendering import call_values, idempotency_key, render_document
from duecourse.domain.runs.states import RunState
from duecourse.domain.runs.transitions import own_job
from duecourse.domain.targets.targets import Failed, WorkflowTarget
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import GraphMissingError
from duecourse.usecases.runs.commands import JobGoneError
from duecourse.usecases.runs.lists import Runs
from duecourse.usecases.workflows.workflows import Payloads

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore

NOTHING_SENT = "the run ended before its first attempt, so no request was sent"

TOKEN = "{{callback_token}}"
"""A placeholder for the callback token, because a run's token allows the caller to end the run."""


@dataclass(frozen=True, slots=True)
class SentPayload:
    """A run's payload with its templates filled in for the last attempt, or the reason why this is impossible
    (`problem`).

    `own`: the payload comes from the run's request. `changed`: the job was changed after the attempt began, so the
    attempt may have sent something else. The payload of a workflow's run is the workflow's payload as its steps use it,
    without templates filled in.
    """

    payload: Any
    idempotency_key: str | None
    own: bool
    changed: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RunPayloads:
    """Computes the payloads of runs from the current definitions of their jobs."""

    runs: Runs
    jobs: JobStore
    payloads: Payloads

    def of(self, tenant: str, run_id: str) -> SentPayload:
        """Return the payload that the run's last attempt sent, or its first attempt will send. Raises RunUnknownError
        or JobGoneError.
        """
        run = self.runs.get(tenant, run_id)
        job = self.jobs.get(tenant, run.job_id)
        if job is None or own_job(job, run) is None:
            raise JobGoneError(run)
        if run.attempt == 0 and run.state in (RunState.SKIPPED, RunState.CANCELLED):
            return SentPayload(None, None, run.own_payload, changed=False, problem=NOTHING_SENT)
        changed = run.started_at is not None and job.updated_at > run.started_at
        try:
            prepared = self.payloads.prepared(job, run)
            if isinstance(prepared, Failed):
                return SentPayload(None, None, run.own_payload, changed, prepared.error)
            key = idempotency_key(run, prepared.job)
            payload = prepared.job.payload
            if not isinstance(job.target, WorkflowTarget):
                payload = render_document(payload, call_values(run, prepared.job, key, prepared.taken, TOKEN))
        except (TemplateError, GraphMissingError) as problem:
            return SentPayload(None, None, run.own_payload, changed, str(problem))
        return SentPayload(payload, key, run.own_payload, changed)
