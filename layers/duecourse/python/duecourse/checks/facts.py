"""The facts that more than one looks at, as they were found: no judgement. Times in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shards:
    """`highest` count ever used (None: not recorded), and the count that each function has been given."""

    highest: int | None
    configured: Mapping[str, int]
    stack_age: float


@dataclass(frozen=True, slots=True)
class Watermarks:
    """By shard, how far its watermark is behind (seconds; None: no round has ended)."""

    behind: Mapping[int, int | None]
    stack_age: float


@dataclass(frozen=True, slots=True)
class Queue:
    """Messages of a queue, about; `oldest` is None if there is no such metric."""

    name: str
    visible: int
    delayed: int
    in_flight: int
    oldest: float | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """One that is in the state ALARM, and since when (UTC, RFC 3339); `runbook` is the page and section that its
    description names.
    """

    name: str
    description: str
    runbook: str
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Alarms:
    """The stage's alarms in state ALARM, the number of all alarms, and the number without data."""

    ringing: Sequence[Alarm]
    all: int
    without_data: int = 0


@dataclass(frozen=True, slots=True)
class Lateness:
    """Of the runs that began in a step from `at` on: how late the middle one was, and the latest hundredth at least."""

    at: float
    median: float
    p99: float


@dataclass(frozen=True, slots=True)
class Outcomes:
    """In a step from `at` on: runs that succeeded, failed attempts that were followed by another one, and dead runs."""

    at: float
    succeeded: int
    retried: int
    dead: int


@dataclass(frozen=True, slots=True)
class StageFigures:
    """What CloudWatch keeps of a stage, all tenants together, since `since` (UTC seconds), oldest first. Steps without
    a value are left out. `oldest`: by lane, the age of its oldest message; None where there is no figure of late.
    """

    since: int
    lateness: Sequence[Lateness]
    outcomes: Sequence[Outcomes]
    oldest: Mapping[str, float | None]
