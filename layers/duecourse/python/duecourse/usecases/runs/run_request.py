"""Requests for runs: author, idempotency key, and the run before it starts."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from hashlib import sha256

import orjson

from duecourse.domain.jobs.change_record import ChangeAction, ChangeRecord, asked
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.seats import Starting, has_seat
from duecourse.domain.runs.run import Run
from duecourse.messages import RunMessage
from duecourse.ports import Input
from duecourse.usecases.runs.history import queued_run

SUFFIX_CHARACTERS = 8
"""48 bits: no accidental collision within one job."""

MAX_BY = 256


KEPT_LONGER_DAYS = 30
"""How much longer than its run's record a request is kept: retries and redrives need its payload."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The author (`by`), the idempotency key (None: every request is a new one), and the `correlation_id` for the
    request's runs.
    """

    by: str
    key: str | None = None
    correlation_id: str | None = None

    def suffix(self, letter: str, job: Job, nonce: str) -> str:
        """The suffix of the request's runs: `.m3kQ…` from its key, or from `nonce` without one. It differs for a job
        that was re-created under the same id.
        """
        seed = f"nonce {nonce}" if self.key is None else f"key {job.created_generation} {self.key}"
        digest = sha256(f"{letter} {seed}".encode()).digest()
        return f".{letter}{urlsafe_b64encode(digest).decode()[:SUFFIX_CHARACTERS]}"

    def record(self, what: ChangeAction, job: Job, wanted: Input, **facts: object) -> ChangeRecord:
        """The record of the request `wanted`; the same for a repetition of it."""
        of, at = (job.tenant, job.id), wanted.requested_at
        return asked(what, of, wanted.requested_by, at, wanted.suffix, job.revision, **facts)

    def fingerprint(self, said: object) -> str:
        """A digest that distinguishes a repetition of the request from another one with the same key. `said` is plain
        JSON.
        """
        document = orjson.dumps([self.key, said], option=orjson.OPT_SORT_KEYS)
        return sha256(document).hexdigest()


def requested_run(job: Job, asked: Input, occurrence: int, due: int | None = None) -> Run:
    """A requested run without a record; due at once unless another time is given."""
    run = queued_run(job, occurrence, occurrence if due is None else due)
    identity = replace(
        run.identity,
        suffix=asked.suffix,
        own_payload=asked.own_payload,
        requested_by=asked.requested_by,
        correlation_id=asked.correlation_id,
    )
    return replace(run, identity=identity)


def message_of(job: Job, run: Run, nonce: str) -> RunMessage:
    """The message that starts a requested run of the job."""
    return RunMessage(
        run.identity,
        lane=run.lane,
        bulk=not has_seat(job, run.lane, Starting(run.generation, float(run.due), manual=True)),
        not_before=float(run.due),
        nonce=nonce,
    )
