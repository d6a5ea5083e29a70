"""Run a job now, whatever its schedule and state; the worker holds the run of a paused job of a workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.change_record import ChangeAction
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.run import Run
from duecourse.ports import Clock, Input, Inputs, JobStore, Lanes, Outgoing, Randomness, RunStore
from duecourse.usecases.jobs.job_errors import ANYTHING, JobUnknownError, KeyReusedError, Precondition
from duecourse.usecases.runs.commands import LaneUnavailableError
from duecourse.usecases.runs.run_request import KEPT_LONGER_DAYS, MAX_BY, RunRequest, message_of, requested_run


@dataclass(frozen=True, slots=True)
class OwnPayload:
    """A payload that replaces the job's; it may be None (JSON null)."""

    payload: Any


@dataclass(frozen=True, slots=True)
class Manual:
    """Writes the request with its author, then sends a message. After a crash in between the caller repeats the
    request; with a key that gives the same run.
    """

    jobs: JobStore
    runs: RunStore
    inputs: Inputs
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    run_retention_days: int

    def job(self, tenant: str, job_id: str, expected: Precondition = ANYTHING) -> Job:
        """The job to be run. Raises JobUnknownError, JobVersionError."""
        job = self.jobs.get(tenant, job_id)
        if job is None:
            raise JobUnknownError(job_id)
        expected.check(job)
        return job

    def run(self, job: Job, run_request: RunRequest, given: OwnPayload | None = None) -> Run:
        """The new run, QUEUED; for a repeated request the present state of its run.

        Raises KeyReusedError, LaneUnavailableError.
        """
        now = self.clock.now()
        wanted = Input(
            suffix=run_request.suffix("m", job, self.randomness.nonce()),
            requested_at=now,
            requested_by=run_request.by[:MAX_BY],
            correlation_id=run_request.correlation_id,
            fingerprint=run_request.fingerprint(["run", None if given is None else [given.payload]]),
            generation=job.generation,
            expires_at=int(now) + (self.run_retention_days + KEPT_LONGER_DAYS) * DAY_SECONDS,
            occurrence=int(now),
            own_payload=given is not None,
            payload=None if given is None else given.payload,
        )
        standing = self.inputs.put(job.tenant, job.id, wanted)
        if standing is not None and standing.fingerprint != wanted.fingerprint:
            raise KeyReusedError(run_request.key)
        asked = wanted if standing is None else standing
        run = requested_run(job, asked, asked.occurrence or int(asked.requested_at))
        if standing is not None:
            record = self.runs.get(job.tenant, job.id, run.name.local)
            if record is not None or standing.sent:
                return record or run
        self.jobs.note([run_request.record(ChangeAction.RUN_NOW, job, asked, run_id=str(run.name))])
        if not self.lanes.send([Outgoing(message_of(job, run, self.randomness.nonce()), 0)])[0]:
            raise LaneUnavailableError(str(run.name))
        if run_request.key is not None:
            self.inputs.mark_sent(job.tenant, job.id, asked.suffix)
        return run
