"""Enumerated fields of a job: state, lane, precision, overlap, delivery, completion, events, missed occurrences."""

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
    """SECOND: visible to a worker just after its second. EXACT: delivered one second early and held by the worker."""

    SECOND = "second"
    EXACT = "exact"


class Overlap(StrEnum):
    """What happens when a run comes due while another run of the same job is alive: it is skipped; it waits in line; it
    waits in line, and only the newest waiting run runs; the same, and the other run is asked to end; both run.
    """

    SKIP = "skip"
    QUEUE = "queue"
    NEWEST = "newest"
    REPLACE = "replace"
    ALLOW = "allow"


class Completion(StrEnum):
    """RESPONSE: a run ends with the answer to its call. CALLBACK: it waits until it is completed by its token."""

    RESPONSE = "response"
    CALLBACK = "callback"


class EventKind(StrEnum):
    """Which outcomes go to the event bus. LATE: runs that started, or were skipped, after their grace."""

    DEATHS = "deaths"
    FAILURES = "failures"
    LATE = "late"
    ALL = "all"


class Delivery(StrEnum):
    """AT_MOST_ONCE never makes a second attempt, not even after the first one's worker died."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class MissedMode(StrEnum):
    """What happens to occurrences that were not enqueued in time."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"


@dataclass(frozen=True, slots=True)
class MissedPolicy:
    """An occurrence is missed when it is later than `grace_seconds`; `max_missed` bounds `run_all` (at most 100, so
    that one claim covers them and the enqueued runs depend only on the cursor).
    """

    mode: MissedMode = MissedMode.RUN_ONCE
    grace_seconds: int = 60
    max_missed: int = 10
