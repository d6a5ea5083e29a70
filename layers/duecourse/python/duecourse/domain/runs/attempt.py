"""One attempt of a run, as the run's record tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AttemptOutcome(StrEnum):
    """How an attempt ended. LOST: its worker vanished."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Instants are UTC epoch seconds; `ended_at` is None if it has not ended, or if nobody saw its end. `outcome` is
    None while it is being worked on. `error` has at most MAX_ERROR characters (domain.runs.attempts).
    """

    number: int
    started_at: float | None
    ended_at: float | None
    outcome: AttemptOutcome | None
    error: str | None = None
    code: str | None = None
