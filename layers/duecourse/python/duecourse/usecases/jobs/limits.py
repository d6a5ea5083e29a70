"""The limit of a tenant's requests: a token bucket in the table, from which each instance takes several tokens at
once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from duecourse.domain.jobs.bucket import Bucket, BucketRules, charge, level, take
from duecourse.ports import Clock, TenantLimits

Charge = Callable[[int], None]
"""Charges the tenant for a number of runs; raises if they may not begin."""


def free(_runs: int) -> None:
    """Charges nothing."""


LEASE_SECONDS = 5
"""How long taken tokens are valid: the longest time for which they admit a request that the bucket no longer would."""

TRIES = 5
"""Conflicts in a row after which a request is refused: they occur only in a flood of requests."""

REMEMBERED = 1_000
"""The most tenants whose state an instance keeps."""


@dataclass(slots=True)
class _Lease:
    """This instance's tokens of one tenant's bucket: `tokens`, valid until `until`; or none, and the bucket is empty
    until `empty_until`. `seen` is the last state of the bucket that this instance knows.
    """

    seen: Bucket | None = None
    tokens: int = 0
    until: float = 0.0
    empty_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """One instance per process, which keeps the tokens that it took. One write serves up to 20 requests; refusals need
    none.
    """

    store: TenantLimits
    clock: Clock
    rules: BucketRules
    _leases: OrderedDict[str, _Lease] = field(default_factory=OrderedDict, repr=False)

    def admit(self, tenant: str) -> float | None:
        """None if the request is admitted; else the seconds until another one is."""
        now = self.clock.now()
        lease = self._lease(tenant)
        if lease.tokens and now < lease.until:
            lease.tokens -= 1
            return None
        if 0 < lease.empty_until - now <= LEASE_SECONDS:  # longer only after a clock was set back
            return lease.empty_until - now
        return self._take(tenant, lease, now)

    def charge(self, tenant: str, cost: int) -> float | None:
        """None if work of `cost` tokens may begin, besides its request; else the seconds until it may. Tokens beyond
        the bucket are owed: the tenant's next requests wait for them.
        """
        if cost < 1:
            return None
        now = self.clock.now()
        lease = self._lease(tenant)
        for _ in range(TRIES):
            taken = charge(lease.seen, self.rules, cost, now)
            # The last known state can only lack the tokens of the time since, which are added; a refusal is decided by
            # the present bucket.
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
        """How many requests the tenant can make now, without the tokens that instances hold."""
        return max(int(level(self.store.bucket(tenant), self.rules, self.clock.now()).tokens), 0)

    def _take(self, tenant: str, lease: _Lease, now: float) -> float | None:
        lease.tokens = 0
        for _ in range(TRIES):
            taken = take(lease.seen, self.rules, now)
            if not taken.granted:
                # The state that this instance knows may be old, but other instances only take tokens: if it computes
                # none, there are none.
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
