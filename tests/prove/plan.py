"""A history before it is played: jobs, operations, faults and conditions, drawn from a seed and kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.prove.faults import Fault

START = 1795262400.0
"""When every history begins: 2026-11-21T12:00:00Z, in UTC seconds."""

Span = tuple[float, float]
"""From, to: seconds after START."""


@dataclass(frozen=True)
class Conditions:
    """What goes on around the requests. `skew`: clocks differ from the true time by up to that, in seconds. `doubled`:
    the share of messages that are delivered twice. `lost` and `double`: numbers of ticks (one a minute). `outage`: no
    worker starts meanwhile. `stale`: reads of an index show its state at the beginning,
    and other reads that are not strongly consistent that of up to a second before. `ticks_out`: no tick comes.
    """

    skew: float = 0.0
    doubled: float = 0.0
    lost: tuple[int, ...] = ()
    double: tuple[int, ...] = ()
    outage: Span | None = None
    ticks_out: Span | None = None
    stale: Span | None = None

    def stopped(self, now: float) -> float | None:
        """Until when no worker starts, if none does now."""
        if self.outage is not None and self.outage[0] <= now - START < self.outage[1]:
            return START + self.outage[1] + 0.01  # past the end, however it is rounded
        return None

    def ticks(self, number: int, now: float) -> int:
        """How often a tick comes."""
        if self.ticks_out is not None and self.ticks_out[0] <= now - START < self.ticks_out[1]:
            return 0
        return 0 if number in self.lost else 2 if number in self.double else 1


@dataclass(frozen=True)
class Operation:
    """A request to the API, `at` seconds after START."""

    at: float
    what: str
    job: str
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A history. `targets`: by job, the outcomes that its calls have, with their weights and longest duration, or
    the one that they `always` have. While it is `down` (spans), they have those of `down_outcomes`. `body`: what its
    successes answer. A job with executions has the ways in which their ends are told: `events` (weights), `lags`."""

    seed: int
    seconds: float
    operations: tuple[Operation, ...]
    faults: list[Fault]
    conditions: Conditions
    targets: dict[str, dict[str, Any]]

    def behaviour(self, run: str, attempt: int, now: float) -> tuple[str, float]:
        """How a call that begins now ends and after how many seconds; the same whenever it is asked."""
        random = Random(f"{self.seed}/{run}/{attempt}")
        target = self.targets.get(run.partition(".")[0], {})
        down = any(begin <= now - START < end for begin, end in target.get("down", ()))
        outcomes = target["down_outcomes"] if down else target.get("outcomes", {"succeeds": 1})
        outcome = random.choices(list(outcomes), list(outcomes.values()))[0]
        if target.get("always"):
            return outcome, target["seconds"]
        seconds = random.choice((0.02, 0.05, random.uniform(0, target.get("seconds", 1.0))))
        return outcome, seconds

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        given = json.loads(text)
        conditions: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given["conditions"].items()
        }
        return Plan(
            given["seed"],
            given["seconds"],
            tuple(Operation(**each) for each in given["operations"]),
            [Fault(**each) for each in given["faults"]],
            Conditions(**conditions),
            given["targets"],
        )


def compact(seconds: float) -> str:
    """An instant as it is in a run's id."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y%m%dT%H%M%SZ")
