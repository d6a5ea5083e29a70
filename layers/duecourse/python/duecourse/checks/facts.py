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
    """By shard, how far its watermark is behind where it could stand (0: it is there; None: no round has ended)."""

    behind: Mapping[int, int | None]
    stack_age: float


@dataclass(frozen=True, slots=True)
class Queue:
    """Messages of a queue, about; `oldest` is None where nobody keeps that figure."""

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
    """Of all alarms of the stage those that ring, how many there are, and how many have no data to judge."""

    ringing: Sequence[Alarm]
    all: int
    without_data: int = 0
