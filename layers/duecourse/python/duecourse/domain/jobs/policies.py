"""What a job chooses: its state, lane, precision, overlap, delivery, completion, events, missed runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class JobState(StrEnum):
    """ACTIVE fires, PAUSED does not, COMPLETED has no occurrence left and its last run has ended."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"


class Lane(StrEnum):
    """A queue and its workers."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    LONG = "long"


class Precision(StrEnum):
    """SECOND: visible to a worker just after its second. EXACT: handed over one second early and held (about 50 ms)."""

    SECOND = "second"
    EXACT = "exact"


class Overlap(StrEnum):
    """What happens when a run comes due while another run of the same job is alive: it is skipped; it waits in line; it
    waits in line, of which only the newest runs; that, and the other one is asked to end; it runs beside it.
    """

    SKIP = "skip"
    QUEUE = "queue"
    NEWEST = "newest"
    REPLACE = "replace"
    ALLOW = "allow"


class Completion(StrEnum):
    """RESPONSE: a run ends with the answer to its call. CALLBACK: it waits for somebody to complete it by its token."""

    RESPONSE = "response"
    CALLBACK = "callback"


class EventKind(StrEnum):
    """Which outcomes go to the event bus. LATE: runs that started, or were skipped, after their grace."""

    DEATHS = "deaths"
    FAILURES = "failures"
    LATE = "late"
    ALL = "all"


class Delivery(StrEnum):
    """AT_MOST_ONCE never tries a second attempt, not even when the first one's worker vanished."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class MissedMode(StrEnum):
    """What becomes of occurrences that nobody enqueued in time."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"


@dataclass(frozen=True, slots=True)
class MissedPolicy:
    """An occurrence is missed when it is later than `grace_seconds`; `max_missed` bounds `run_all` (at most 100,
    so that one claim covers them and what is enqueued stays a function of the cursor alone).
    """

    mode: MissedMode = MissedMode.RUN_ONCE
    grace_seconds: int = 60
    max_missed: int = 10
