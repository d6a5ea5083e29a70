"""The number of a tenant's runs by hour and outcome: when a process writes its counts, and which hours are answered.

Each process counts the runs that it ends, and adds its counts to those of the tenant at most once a minute. So the
counts lag, and they miss those that a process has not written when it stops. Decisions about runs never use them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import BUCKET_SECONDS

WRITE_SECONDS = 60
"""The minimum time (seconds) between two writes of a process for one tenant."""

MAX_TENANTS = 10
"""The maximum number of tenants whose counts are written at once: as many as a batch of messages can have."""

LISTED_DAYS = 31

KEPT_SECONDS = 35 * DAY_SECONDS
"""How long the counts of an hour are kept (seconds). DynamoDB deletes an expired item at any later time, so hours older
than LISTED_DAYS are not answered.
"""

DEFAULT_HOURS = 24

FRESH_SECONDS = 300
"""Counts older than this (seconds) are not written for a tenant that was erased in the meantime. Younger ones are
written before the last pass of an erasure begins (checks.tenants.QUIET_SECONDS, of which an invocation takes 900).
"""


class RunCount(StrEnum):
    """What is counted: the runs that entered a final state, and the failed attempts that were retried. A skipped range
    counts each of its occurrences.
    """

    SUCCEEDED = "succeeded"
    DEAD = "dead"
    RETRIED = "retried"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class HeldCounts:
    """The counts of a tenant that a process has not written yet, by hour (UTC seconds of its start). The oldest is from
    `since`. `tried_at` is the time of the last write (UTC seconds).
    """

    since: float
    tried_at: float | None = None
    hours: dict[int, Counter[RunCount]] = field(default_factory=dict)

    def add(self, kind: RunCount, count: int, now: float) -> None:
        """Add to the counts of the current hour."""
        if not self.hours:
            self.since = now
        self.hours.setdefault(hour_of(now), Counter())[kind] += count

    def put_back(self, taken: HeldCounts) -> None:
        """Add counts that were taken and could not be written."""
        self.since = taken.since
        for hour, counts in taken.hours.items():
            self.hours.setdefault(hour, Counter()).update(counts)

    def is_due(self, now: float) -> bool:
        """Return whether the counts are written at `now`. The first counts of a process are written at once."""
        return bool(self.hours) and not self._rests(now)

    def is_over(self, now: float) -> bool:
        """Return whether there is nothing left to remember."""
        return not self.hours and not self._rests(now)

    def _rests(self, now: float) -> bool:
        # Also at once after the clock was set back.
        return self.tried_at is not None and 0 <= now - self.tried_at < WRITE_SECONDS


def due(held: Mapping[str, HeldCounts], now: float) -> list[str]:
    """Return the tenants whose counts are written at `now`, those with the oldest counts first."""
    tenants = [tenant for tenant, counts in held.items() if counts.is_due(now)]
    return sorted(tenants, key=lambda tenant: held[tenant].since)[:MAX_TENANTS]


def hour_of(instant: float) -> int:
    """Return the start of the hour of an instant (UTC seconds)."""
    return int(instant) // BUCKET_SECONDS * BUCKET_SECONDS


@dataclass(frozen=True, slots=True)
class Hours:
    """The hours of an answer, from the one that starts at `first` to the one that ends at `end` (UTC seconds)."""

    first: int
    end: int

    @classmethod
    def of(cls, since: int | None, until: int | None, now: float) -> Hours:
        """Return the hours that contain an instant from `since` to before `until`: by default the last 24, including
        the current one. Future hours, and those before the last 31 days, are left out.
        """
        current = hour_of(now)
        end = current + BUCKET_SECONDS
        if until is not None:
            end = min(end, hour_of(until + BUCKET_SECONDS - 1))
        first = end - DEFAULT_HOURS * BUCKET_SECONDS if since is None else hour_of(since)
        return cls(max(first, current - LISTED_DAYS * DAY_SECONDS), end)

    def __len__(self) -> int:
        return max(self.end - self.first, 0) // BUCKET_SECONDS

    def counted(self, found: Mapping[int, Mapping[RunCount, int]]) -> dict[int, Mapping[RunCount, int]]:
        """Return the counts of each hour since the tenant's first count. `found` has the last hours with counts, one
        more than these hours are: an older one shows that hours without counts had no runs. Before the first count of
        the tenant, it is not known whether runs were counted.
        """
        first = max(self.first, min(found, default=self.end))
        return {hour: found.get(hour, {}) for hour in range(first, self.end, BUCKET_SECONDS)}
