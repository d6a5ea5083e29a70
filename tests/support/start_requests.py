"""What a worker holds when it decides, as tests want it: everything has a default, times are given."""

from typing import Any, TypeVar

from duecourse.domain.ids import RunIdentity
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.decision import AttemptContext, StartRequest
from duecourse.domain.runs.states import Run, RunState
from tests.support.jobs import NOON
from tests.support.varied import record, varied

K = TypeVar("K")

DUE = int(NOON) + 60
"""When the offered occurrence is due: a minute after the job was created."""

GENERATION = int(NOON * 1000)
"""That of a job nobody changed since NOON."""

EXPIRES = 1_900_000_000


def start_request(**changes: Any) -> StartRequest:
    """The message of the occurrence at DUE, as the dispatcher sent it."""
    made = StartRequest(
        RunIdentity(
            tenant="default",
            job_id="tick-tock",
            occurrence=DUE,
            due=DUE,
            generation=GENERATION,
            suffix="",
            count=1,
            through=None,
        ),
        nonce="nonce-1",
        attempt=1,
        caught_up_at=None,
    )
    return varied(made, **changes)


SECRET = "a-secret-of-enough-characters"

TOKEN = CallbackToken("default", 1, SECRET)
"""That of the first attempt of a run with a callback."""


def context(message_id: str = "message-1", *, lease_until: float = DUE + 120) -> AttemptContext:
    """The message in a worker's hands."""
    return AttemptContext(message_id, f"request-1/{message_id}", lease_until, EXPIRES, SECRET)


def expect(kind: type[K], decision: object) -> K:
    """The decision, which must be of this kind."""
    assert isinstance(decision, kind)
    return decision


def run(state: RunState = RunState.RUNNING, **changes: Any) -> Run:
    """The record of the occurrence at DUE: attempt 1 of 4, started on time by message-1 with nonce-1."""
    made = record(
        state,
        RunIdentity(tenant="default", job_id="tick-tock", occurrence=DUE, due=DUE, generation=GENERATION),
        attempt=1,
        attempts_allowed=4,
        fencing_token="request-0/message-1",
        message_id="message-1",
        nonce="nonce-1",
        first_started_at=float(DUE),
        started_at=float(DUE),
        expires_at=EXPIRES,
    )
    return varied(made, **changes)


WAITS_UNTIL = DUE + 3600.0
"""When `waiting_run` must be completed."""


def waiting_run(state: RunState = RunState.WAITING, **changes: Any) -> Run:
    """The same of a job with a callback, which is to come by WAITS_UNTIL; RUNNING: its call has not returned yet. In
    other states it has no deadline.
    """
    alive = state in (RunState.RUNNING, RunState.WAITING)
    return run(state, **{"callback_hash": TOKEN.hash} | ({"waiting_until": WAITS_UNTIL} if alive else {}) | changes)
