"""What the gatherers find, as it was found: no judgement. Times in seconds, ages counted by AWS's clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skew:
    """How far this machine's clock is ahead of AWS's (negative: behind), to about a second."""

    ahead: float


@dataclass(frozen=True, slots=True)
class LastTick:
    """`age` is None where no tick has ever come, `rule` the state of the rule that starts it, None without a rule."""

    age: float | None
    rule: str | None
    stack_age: float


@dataclass(frozen=True, slots=True)
class ClockRules:
    """By function (but for the tick), the state of the rule that starts it; None without a rule."""

    states: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Source:
    """The event source by which a function reads a queue or a stream (`name`): its `state` (None: there is none), and
    what became of its last batch, as Lambda says it.
    """

    name: str
    state: str | None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """Entries of a slot that are due already: how many (`more`: at least so many) and how late the oldest is."""

    slot: str
    entries: int
    more: bool
    oldest: float


@dataclass(frozen=True, slots=True)
class Due:
    """`overdue` by slot, worst first; `soon`: entries due within the lookahead; `left_out`: shards not read."""

    overdue: Sequence[Slot]
    soon: int
    soon_more: bool
    left_out: int


@dataclass(frozen=True, slots=True)
class QuarantinedCursor:
    """A cursor that was quarantined: of which job (`tenant/job`), and why."""

    job: str
    error: str


@dataclass(frozen=True, slots=True)
class Cursors:
    """Cursors quarantined among the `looked_at` items of the jobs table; `complete`: that was all of it."""

    aside: Sequence[QuarantinedCursor]
    looked_at: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Function:
    """A function in the last hour."""

    name: str
    invocations: float
    errors: float
    throttles: float


@dataclass(frozen=True, slots=True)
class Table:
    """Requests of the last hour that a table or one of its indexes has throttled."""

    name: str
    throttled: float


@dataclass(frozen=True, slots=True)
class Quotas:
    """Concurrent executions: the account's quota, its unreserved part, and the maximum in the last hour."""

    concurrency: int
    unreserved: int
    most: float | None


@dataclass(frozen=True, slots=True)
class Found:
    """A row of a job's occurrences (`tenant/job`) that an audit has found `lost` or `doubled`, so many seconds ago."""

    kind: str
    job: str
    first: str
    count: int
    age: float


@dataclass(frozen=True, slots=True)
class AuditState:
    """How long ago an audit last got on (None: never), and what the audits of the last thirty days found, newest first
    (`more`: not all of it was read).
    """

    last: float | None
    found: Sequence[Found]
    more: bool
    stack_age: float


@dataclass(frozen=True, slots=True)
class RepairState:
    """How long ago the last pass of index repair began (None: none has), whether it has ended, and what it counted."""

    begun: float | None
    ended: bool
    counts: Mapping[str, int]
    stack_age: float
