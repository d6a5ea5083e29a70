"""How many requests a tenant may make: a token bucket in the table, from which each instance takes a handful."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from duecourse.domain.jobs.bucket import Bucket, BucketRules, charge, level, take
from duecourse.ports import Clock, TenantLimits

Charge = Callable[[int], None]
"""Asks whether so many runs may begin; raises where not."""


def free(_runs: int) -> None:
    """Charges nothing."""


LEASE_SECONDS = 5
"""How long taken tokens are good for: so late, at most, do they let in what the bucket no longer would."""

TRIES = 5
"""Conflicts in a row after which a request is refused: so much is going on only in a flood."""

REMEMBERED = 1_000
"""Tenants of whom an instance knows something."""


@dataclass(slots=True)
class _Lease:
    """What this instance holds of one tenant's bucket: `tokens` until `until`; or nothing, and no use asking before
    `empty_until`. `seen` is the bucket as it was left last, as far as this instance knows.
    """

    seen: Bucket | None = None
    tokens: int = 0
    until: float = 0.0
    empty_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """One instance a process: it remembers what it took. A write for up to 20 requests, none for those it refuses."""

    store: TenantLimits
    clock: Clock
    rules: BucketRules
    _leases: OrderedDict[str, _Lease] = field(default_factory=OrderedDict, repr=False)

    def admit(self, tenant: str) -> float | None:
        """None for a request that may go on; else the seconds until another one may."""
        now = self.clock.now()
        lease = self._lease(tenant)
        if lease.tokens and now < lease.until:
            lease.tokens -= 1
            return None
        if 0 < lease.empty_until - now <= LEASE_SECONDS:  # further off only for a clock that was set back
            return lease.empty_until - now
        return self._take(tenant, lease, now)

    def charge(self, tenant: str, cost: int) -> float | None:
        """None where work of `cost` tokens may begin beside its request; else the seconds until it may. What it takes
        beyond the bucket is owed: the tenant's next requests wait for that.
        """
        if cost < 1:
            return None
        now = self.clock.now()
        lease = self._lease(tenant)
        for _ in range(TRIES):
            taken = charge(lease.seen, self.rules, cost, now)
            # What was seen last may be too low only by time, which is added; a refusal is by the bucket as it is.
            if not taken.granted:
                return max(taken.wait, 1.0)
            conflict = self.store.write_bucket(tenant, taken.bucket, lease.seen)
            if conflict is None:
                lease.seen = taken.bucket
                if taken.bucket.tokens < 0:
                    lease.tokens = 0
                return None
            lease.seen = conflict.found
        return 1.0

    def left(self, tenant: str) -> int:
        """How many requests the tenant could make at this moment, what instances hold left aside."""
        return max(int(level(self.store.bucket(tenant), self.rules, self.clock.now()).tokens), 0)

    def _take(self, tenant: str, lease: _Lease, now: float) -> float | None:
        lease.tokens = 0
        for _ in range(TRIES):
            taken = take(lease.seen, self.rules, now)
            if not taken.granted:
                # What this instance saw last may be old, but tokens only become fewer by others and more by time: with
                # none by its own account there are none.
                lease.empty_until = now + max(taken.wait, 1.0)
                return max(taken.wait, 1.0)
            conflict = self.store.write_bucket(tenant, taken.bucket, lease.seen)
            if conflict is None:
                lease.seen, lease.tokens, lease.until = taken.bucket, taken.granted - 1, now + LEASE_SECONDS
                return None
            lease.seen = conflict.found
        lease.empty_until = now + 1.0
        return 1.0

    def _lease(self, tenant: str) -> _Lease:
        lease = self._leases.pop(tenant, None) or _Lease()
        self._leases[tenant] = lease
        if len(self._leases) > REMEMBERED:
            self._leases.popitem(last=False)
        return lease
