"""Enumerated fields of a job: state, lane, precision, overlap, delivery, completion, events, missed occurrences."""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapRule:
    """What happens when a run comes due while another run of the same job is alive. `label` says it in the console.

    `alone`: at most one run of the job is at work. Then the new run is skipped, unless it `waits` in line.
    `only_newest`: of the runs in line only the newest runs, the others are skipped. `preempts`: the run that is alive
    is asked to end. `limited`: a job may bound its line; a run that comes when it is full is skipped.
    """

    label: str
    alone: bool = True
    waits: bool = False
    only_newest: bool = False
    preempts: bool = False
    limited: bool = False

    @property
    def skips(self) -> bool:
        """Whether the new run is skipped."""
        return self.alone and not self.waits


class Overlap(StrEnum):
    """The rules by their words in documents; the traits of each are in OVERLAP_RULES."""

    SKIP = "skip"
    QUEUE = "queue"
    NEWEST = "newest"
    REPLACE = "replace"
    ALLOW = "allow"

    @property
    def rule(self) -> OverlapRule:
        """Its traits."""
        return OVERLAP_RULES[self]


OVERLAP_RULES: Mapping[Overlap, OverlapRule] = {
    Overlap.SKIP: OverlapRule(label="Skip the new run"),
    Overlap.QUEUE: OverlapRule(label="Let the new run wait", waits=True, limited=True),
    Overlap.NEWEST: OverlapRule(label="Let only the newest wait", waits=True, only_newest=True),
    Overlap.REPLACE: OverlapRule(label="Cancel the old run", waits=True, only_newest=True, preempts=True),
    Overlap.ALLOW: OverlapRule(label="Run both", alone=False),
}


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
