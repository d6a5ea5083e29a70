"""Reports of a program that works on a run: heartbeats, progress, and the callback token.

The token is `dc1.<tenant>.<attempt>.<secret>`. It contains the tenant, so that one key is sufficient to find the
record, and the attempt, so that a token of an earlier attempt is rejected (fencing). Only a hash of the secret is
stored, so read access to the table is not sufficient to complete a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import sha256
from hmac import compare_digest
from string import ascii_letters, digits

from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.runs.states import AliveRun, Callback, Running, Waiting

TOKEN = re.compile(
    rf"dc1\.(?P<tenant>{ID_PATTERN})\.(?P<attempt>[1-9][0-9]{{0,8}})\.(?P<secret>[A-Za-z0-9_-]{{12,64}})"
)
"""A callback token, also within a text."""
TOKEN_CHARACTERS = f"{ascii_letters}{digits}_-."


class TokenError(ValueError):
    """The text is not a callback token."""


@dataclass(frozen=True, slots=True)
class CallbackToken:
    """The callback token of one attempt. `secret` has at least 96 random bits."""

    tenant: str
    attempt: int
    secret: str

    def __str__(self) -> str:
        return f"dc1.{self.tenant}.{self.attempt}.{self.secret}"

    @property
    def hash(self) -> str:
        """The hash that the record stores."""
        return sha256(str(self).encode()).hexdigest()

    def opens(self, callback: Callback | None) -> bool:
        """Return whether the callback of a record belongs to this token. The comparison takes constant time."""
        return callback is not None and compare_digest(self.hash, callback.callback_hash)


def read_token(text: str) -> CallbackToken:
    """Parse a token. Raises TokenError."""
    match = TOKEN.fullmatch(text)
    if match is None:
        raise TokenError("is not a callback token")
    return CallbackToken(match["tenant"], int(match["attempt"]), match["secret"])


BEAT_SECONDS = 5
"""The shortest interval between two written heartbeats of a run, in seconds. Each deadline is later by this interval,
so that heartbeats within the interval need not move the deadline.
"""


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """The progress that a program reports: `progress` from 0 to 1, and a `note` (empty: no note). None means that a
    value is unchanged. `worker` is the name of the program, which is kept with the next write but causes none.
    """

    progress: float | None = None
    note: str | None = None
    worker: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing needs to be written because of the report."""
        return self.progress is None and self.note is None


NOTHING = ProgressReport()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The effect of a heartbeat: its time, the next deadline (UTC seconds; None: unchanged), and its report."""

    at: float
    until: float | None
    report: ProgressReport

    def beaten(self, run: AliveRun) -> AliveRun:
        """Return the run after this heartbeat."""
        deadlines, callback = run.deadlines, run.callback and self.reported(run.callback)
        if deadlines is not None and self.until is not None:
            deadlines = replace(deadlines, heartbeat_until=self.until)
        return replace(run, deadlines=deadlines, attempts=replace(run.attempts, callback=callback))

    def reported(self, callback: Callback) -> Callback:
        """Return the callback after this heartbeat."""
        progress = callback.progress if self.report.progress is None else self.report.progress
        note = callback.note if self.report.note is None else self.report.note
        worker = self.report.worker or callback.worker
        return replace(callback, heartbeat_at=self.at, progress=progress, note=note, worker=worker)


def decide_heartbeat(
    run: Running | Waiting, heartbeat_seconds: int | None, report: ProgressReport, *, now: float
) -> Heartbeat | None:
    """Return the effect of an active run's heartbeat, or None if nothing needs to be written.

    A heartbeat is written if it must move the deadline. It is also written if its report changes the record and the
    last written heartbeat is at least BEAT_SECONDS old, or if it is the first progress of the attempt.
    """
    until = _deadline(run, heartbeat_seconds, now)
    beat, callback = Heartbeat(now, until, report), run.callback
    if callback is None:
        return None
    recent = callback.heartbeat_at is not None and now < callback.heartbeat_at + BEAT_SECONDS
    news = replace(beat.reported(callback), heartbeat_at=callback.heartbeat_at, worker=callback.worker) != callback
    first = callback.progress is None and report.progress is not None
    return beat if until is not None or first or (news and not recent) else None


def _deadline(run: Running | Waiting, heartbeat_seconds: int | None, now: float) -> float | None:
    """Return a new deadline that leaves one whole interval. None if the current deadline leaves one already, or if no
    heartbeat is required.
    """
    if run.deadlines is None or (standing := run.deadlines.heartbeat_until) is None:
        return None
    if heartbeat_seconds is None:
        return run.deadlines.waiting_until if run.deadlines.waiting_until != standing else None
    # The deadline never moves back: until the call returns, it is more than one heartbeat interval away.
    return now + heartbeat_seconds + BEAT_SECONDS if now + heartbeat_seconds > standing else None
