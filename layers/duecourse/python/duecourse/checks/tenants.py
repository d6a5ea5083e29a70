"""The items of a tenant in the stores of a stage, their figures, and the marks that close a tenant.

A tenant is closed by marks in items that are read anyway: `closed` in the item of its request rate, so that the API
rejects its requests; `suspended_at` in each job, which workers read before a start; and the `error` of each cursor,
which keeps the cursor out of the due index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

SUSPENDED = "the tenant is suspended"
"""The `error` of a cursor that left the due index because its tenant was suspended."""

ADMITTED_SECONDS = 45
"""The time (seconds) for which a request may still write after its tenant was closed: an instance of the API keeps
tokens for 5 s, API Gateway ends a request after 30 s, and clocks differ by up to 5 s each.
"""

QUIET_SECONDS = 1200
"""The time (seconds) for which a worker may still write for a tenant after its jobs were marked or deleted: an
invocation that has read a job before ends after at most 900 s (Lambda). The batching of the archive's event source (300
s) is shorter.
"""

BARRED_SECONDS = 15 * 86_400
"""How long after its erasure a tenant stays closed, in seconds: SQS keeps a message for at most 14 days, and a message
of an erased job must not meet a new job of the same id.
"""

RECORD_SECONDS = 400 * 86_400
"""How long the record of an erasure is kept, in seconds: as long as the records of changes."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A tenant that may not make requests: `suspended` or `erased`, the time of this change (UTC seconds), and a note
    for its callers. `until` (UTC seconds) is when an erased tenant may be used again; None if that is not known yet.
    """

    state: str
    since: float
    note: str | None = None
    until: float | None = None

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Closed | None:
        """Return the closing in the item of a tenant's request rate, or None if it is not closed."""
        if "closed" not in item:
            return None
        note, until = item.get("closed_note"), item.get("expires_at")
        return cls(
            item["closed"]["S"],
            float(item["closed_at"]["N"]),
            None if note is None else note["S"],
            None if until is None else float(until["N"]),
        )


ACTIVE = "active"
"""The state of a tenant that is not closed."""

DOLLARS_A_MILLION = 7.15
"""The approximate cost (USD) of a million firings (docs/operations.md, "Cost by volume": daily jobs, overlap
forbidden).
"""


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """The figures of a tenant from the jobs table, or the contribution of one item. `quota_used` is the number of jobs
    that count towards the quota, and `runs` is the number of expected runs in a day.
    """

    jobs: int = 0
    paused: int = 0
    quota_used: int = 0
    runs: int = 0
    state: str = ACTIVE

    def __add__(self, more: TenantFigures) -> TenantFigures:
        """Return the figures of both together."""
        return TenantFigures(
            self.jobs + more.jobs,
            self.paused + more.paused,
            self.quota_used + more.quota_used,
            self.runs + more.runs,
            self.state if more.state == ACTIVE else more.state,
        )


def figures_of(item: Mapping[str, Any]) -> TenantFigures | None:
    """Return the contribution of an item of the jobs table to the figures of its tenant; None if there is none."""
    match item["SK"]["S"].partition("#"):
        case "JOB", "", "" if "job_id" in item:
            return TenantFigures(jobs=1, paused=int(item["state"]["S"] == "PAUSED"))
        case "LIMITS", "", "":
            return TenantFigures(quota_used=int(item["jobs"]["N"]))
        case "LIMITS", _, _:
            return TenantFigures(quota_used=-int(item["free"]["N"]))
        case "RATE", _, _ if (closed := Closed.of(item)) is not None:
            return TenantFigures(state=closed.state)
        case _:
            return None


WAITS = ("QUEUED", "WAITING")
"""States in which a run waits: for its turn or for its callback."""


@dataclass(frozen=True, slots=True)
class InProgress:
    """The runs of a tenant that wait, or whose calls have lasted ten seconds. The oldest waiting run has waited since
    `waiting_since` (UTC seconds; None: none waits).
    """

    running: int = 0
    waiting: int = 0
    waiting_since: float | None = None

    def with_run(self, state: str, since: float) -> InProgress:
        """Return the figures with one more run, which entered its state at `since` (UTC seconds)."""
        if state not in WAITS:
            return replace(self, running=self.running + 1)
        oldest = since if self.waiting_since is None else min(self.waiting_since, since)
        return replace(self, waiting=self.waiting + 1, waiting_since=oldest)

    def joined(self, more: InProgress) -> InProgress:
        """Return the figures of both together."""
        since = min((each for each in (self.waiting_since, more.waiting_since) if each is not None), default=None)
        return InProgress(self.running + more.running, self.waiting + more.waiting, since)

    def oldest_waiting_seconds(self, now: float) -> int | None:
        """Return how long the oldest waiting run has waited at `now` (UTC seconds); None if none waits."""
        return None if self.waiting_since is None else max(int(now - self.waiting_since), 0)


def dollars(runs: int) -> float:
    """Return the approximate cost of this number of runs."""
    return round(runs * DOLLARS_A_MILLION / 1e6, 4)


def tenant_of(partition: str, sort: str) -> str | None:
    """Return the tenant to which the item with this key belongs, in either table; None for an item of the stage."""
    kind, _, rest = partition.partition("#")
    match kind:
        case "JOB" | "KEY" | "CHANGES" | "ENDS" | "TAG" | "TENANT":
            return rest.partition("#")[0]
        case "EXECUTION":
            return sort
        case "AUDIT" if rest == "OPEN":
            return sort.partition("#")[0]
        case "AUDIT" if rest == "FINDINGS":
            return sort.split("#")[1]
        case _:
            return None


KINDS = ("jobs", "payloads", "workflows", "runs", "requests", "changes", "other")
"""The kinds of a tenant's items, as named in counts and exported files."""

_BY_SORT = {"JOB": "jobs", "PAYLOAD": "payloads"}
_BY_PREFIX = {"GRAPH": "workflows", "RUN": "runs", "INPUT": "requests", "CHANGE": "changes"}


def kind_of(sort: str) -> str:
    """Return which of KINDS the item with this sort key is."""
    return _BY_SORT.get(sort) or _BY_PREFIX.get(sort.partition("#")[0], "other")


def slot_again(slot: str, due: int, now: float) -> str:
    """Return the slot in which dispatch will read an entry that left the due index from `slot` and is due at `due` (UTC
    seconds). A late entry goes into the bucket of `now`: its own may be below the watermark, where no round reads.
    """
    shard = slot.partition("/")[2]
    return f"{datetime.fromtimestamp(max(due, int(now)), UTC):%Y-%m-%dT%H}/{shard}"
