"""The facts that the gatherers read, without verdicts. Times are in seconds, and ages use AWS's clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skew:
    """The seconds by which this machine's clock is ahead of AWS's (negative: behind), to about a second."""

    ahead: float


@dataclass(frozen=True, slots=True)
class LastTick:
    """The last tick. `age` is None if there was no tick yet. `rule` is the state of the rule that starts it, None
    without a rule.
    """

    age: float | None
    rule: str | None
    stack_age: float


@dataclass(frozen=True, slots=True)
class ClockRules:
    """The state of the rule that starts each function, by function; None without a rule. The tick is in LastTick."""

    states: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Source:
    """The event source through which a function reads the queue or stream `name`. `state` is None without an event
    source. `result` is the result of its last batch, in Lambda's words. `pollers` is the minimum of provisioned ones.
    """

    name: str
    state: str | None
    result: str | None = None
    pollers: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """The overdue entries of a slot: their number (a lower bound if `more` is set) and the lateness of the oldest."""

    slot: str
    entries: int
    more: bool
    oldest: float


@dataclass(frozen=True, slots=True)
class Due:
    """The due index. `overdue` has slots, worst first. `soon` is the number of entries due within the lookahead.
    `left_out` is the number of shards that were not read.
    """

    overdue: Sequence[Slot]
    soon: int
    soon_more: bool
    left_out: int


@dataclass(frozen=True, slots=True)
class QuarantinedCursor:
    """A quarantined cursor: its job (`tenant/job`) and the error."""

    job: str
    error: str


@dataclass(frozen=True, slots=True)
class Cursors:
    """The quarantined cursors among the `looked_at` items of the jobs table. `complete`: these are all items."""

    aside: Sequence[QuarantinedCursor]
    looked_at: int
    complete: bool


@dataclass(frozen=True, slots=True)
class LastRuns:
    """The last runs of a job (`tenant/job`): `runs` in total, of which `skipped` were skipped without a request, or
    cover several occurrences.
    """

    job: str
    skipped: int
    runs: int


@dataclass(frozen=True, slots=True)
class SkippedRuns:
    """The last runs of the jobs with the most skipped runs, among the `looked_at` ended runs. `complete`: these are all
    of the last day.
    """

    jobs: Sequence[LastRuns]
    looked_at: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Function:
    """The invocations, errors and throttles of a function in the last hour."""

    name: str
    invocations: float
    errors: float
    throttles: float


@dataclass(frozen=True, slots=True)
class Table:
    """The throttled requests of a table and its indexes in the last hour."""

    name: str
    throttled: float


@dataclass(frozen=True, slots=True)
class Quotas:
    """Concurrent executions: the account's quota, its unreserved part, and the maximum in the last hour."""

    concurrency: int
    unreserved: int
    most: float | None


@dataclass(frozen=True, slots=True)
class SecretReads:
    """What determines how often the workers read the store of secrets, and the store's quota for reads per second.

    `stored`: the number of secrets (a lower bound if `more` is set); in Parameter Store also of registered tasks.
    `executions`: the maximum number of concurrent executions of the lanes. Each is a process with a cache of its own.
    `most`: the maximum number of the whole account in the last hour (None: no data).
    """

    store: str
    stored: int
    more: bool
    executions: int
    most: float | None
    quota: int


@dataclass(frozen=True, slots=True)
class Found:
    """A number of consecutive occurrences of a job (`tenant/job`) that an audit found to be `lost` or `doubled`, and
    the age of this finding.
    """

    kind: str
    job: str
    first: str
    count: int
    age: float


@dataclass(frozen=True, slots=True)
class AuditState:
    """The state of the audit. `last` is the age of its last progress (None: never). `found` has the findings of the
    last thirty days, newest first; `more` means that some were not read.
    """

    last: float | None
    found: Sequence[Found]
    more: bool
    stack_age: float


@dataclass(frozen=True, slots=True)
class RepairState:
    """The last pass of index repair: the age of its start (None: none yet), whether it has ended, and its counts."""

    begun: float | None
    ended: bool
    counts: Mapping[str, int]
    stack_age: float


@dataclass(frozen=True, slots=True)
class Subscribers:
    """The numbers of confirmed and of unconfirmed subscriptions to the topics that receive the pages."""

    confirmed: int
    pending: int


@dataclass(frozen=True, slots=True)
class UpcomingPeak:
    """A minute with more due runs than the stage can start in ten seconds. `at_least`: not all were counted."""

    at: str
    runs: int
    at_least: bool


@dataclass(frozen=True, slots=True)
class PrescaleQueue:
    """A queue that has provisioned pollers for a peak, or (0) whose pollers are being removed. `overdue`: the seconds
    since `until`.
    """

    queue: str
    pollers: int
    until: str
    overdue: float


@dataclass(frozen=True, slots=True)
class PrescaleEntry:
    """A decision and its cost (USD)."""

    at: str
    says: str
    dollars: float


@dataclass(frozen=True, slots=True)
class Prescale:
    """The budget of a day and what today has cost (USD), the peaks ahead, the queues with pollers, and the last
    decisions, newest first.
    """

    dollars_per_day: float
    spent_today: float
    peaks: Sequence[UpcomingPeak]
    queues: Sequence[PrescaleQueue]
    history: Sequence[PrescaleEntry]
