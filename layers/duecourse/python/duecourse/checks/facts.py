"""The facts about a stage that several checks use, without verdicts. Times are in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from duecourse.checks.objectives import Objective


@dataclass(frozen=True, slots=True)
class Shards:
    """The shard counts of a stage: the `highest` count ever used (None: not recorded), and the configured count of each
    function.
    """

    highest: int | None
    configured: Mapping[str, int]
    stack_age: float


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The seconds by which the watermark of each shard is behind (None: no round has ended)."""

    behind: Mapping[int, int | None]
    stack_age: float


@dataclass(frozen=True, slots=True)
class Queue:
    """The approximate numbers of messages in a queue. `oldest` is None if there is no such metric."""

    name: str
    visible: int
    delayed: int
    in_flight: int
    oldest: float | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm in state ALARM. `since` is the time at which it entered that state (UTC, RFC 3339). `runbook` is the
    page and section that its description names.
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
    """The lateness of the runs that started in the interval that begins at `at`: the median and the 99th percentile."""

    at: float
    median: float
    p99: float


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The counts of the interval that begins at `at`: runs that succeeded, failed attempts that were followed by
    another one, and dead runs.
    """

    at: float
    succeeded: int
    retried: int
    dead: int


@dataclass(frozen=True, slots=True)
class StageFigures:
    """The metrics of a stage in CloudWatch for all tenants together, since `since` (UTC seconds), oldest first.
    Intervals without a value are omitted. `oldest` is the age of the oldest message by lane, or None if there is no
    recent value.
    """

    since: int
    lateness: Sequence[Lateness]
    outcomes: Sequence[Outcomes]
    oldest: Mapping[str, float | None]
    objectives: Sequence[Objective] = ()
