"""Records of runs as tests want them: everything has a default."""

from typing import Any

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Job, Lane
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import Run, RunState
from tests.support.jobs import NOON
from tests.support.varied import record, varied

TOKEN = CallbackToken("default", 2, "the-secret-of-attempt-2")
"""The token of :func:`waiting_run`."""


def run(job: Job, state: RunState, *, after: int = 0, **changes: Any) -> Run:
    """The record of the job's run that was due `after` seconds after NOON."""
    occurrence = int(NOON) + after
    ended = {"finished_at": occurrence + 12.5} if state in (RunState.DEAD, RunState.SUCCEEDED) else {}
    made = record(
        state,
        RunIdentity(tenant=job.tenant, job_id=job.id, occurrence=occurrence, due=occurrence, generation=job.generation),
        Lane.LOW,
        attempt=2,
        attempts_allowed=4,
        fencing_token="worker",
        message_id="message",
        nonce="nonce",
        first_started_at=occurrence + 0.25,
        started_at=occurrence + 10.25,
        expires_at=occurrence + 7_776_000,
        **ended,
    )
    return varied(made, **changes)


def waiting_run(job: Job, state: RunState = RunState.WAITING, **changes: Any) -> Run:
    """One whose second attempt is opened by TOKEN, with half a minute to its heartbeat."""
    alive = state in (RunState.RUNNING, RunState.WAITING)
    deadlines = {"waiting_until": NOON + 3600, "heartbeat_until": NOON + 30} if alive else {}
    return run(job, state, **{"callback_hash": TOKEN.hash} | deadlines | changes)
