"""A tenant's limits: tokens for its requests, and seats for its jobs.

Requests are limited by a token bucket in the table. Each instance takes several tokens with one write.

Seats are assigned to jobs when they are created or edited. Jobs without a seat use the bulk queue.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from duecourse.checks.tenants import Closed
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import BUCKET_SECONDS, Cursor, bucket_of, bucket_start
from duecourse.domain.jobs.job import Job, Lane
from duecourse.domain.jobs.pause import PauseChange
from duecourse.domain.tenants.quota import counted_places
from duecourse.domain.tenants.rate import LEASE_SECONDS, Bucket, BucketRules, ahead, charge, take, tokens_left
from duecourse.domain.tenants.seats import Seats, keeps_seat, loses_seat, may_have_seat, placed
from duecourse.ports import BucketConflict, Clock, CreationTerms, Randomness, SeatsChangedError

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.tenants import SeatStore, TenantLimits

PAUSE_SECONDS = 2 * LEASE_SECONDS
"""After this time without a request (seconds), an instance takes only one token again."""

BUCKET_TRIES = 5
"""A request is rejected after this many conflicts in a row. Simultaneous requests conflict once, because only the first
of them can write a bucket that was full. From the third try on, a request takes one token, which only requires that one
is left.
"""

REMEMBERED = 1_000
"""The maximum number of tenants whose state an instance keeps."""


class TenantClosedError(Exception):
    """The tenant is `closed` and may not make requests."""

    def __init__(self, closed: Closed) -> None:
        super().__init__(closed.state)
        self.closed = closed


@dataclass(slots=True)
class _Lease:
    """This instance's share of a tenant's bucket: either `tokens`, valid until `until`, or no tokens because the bucket
    is empty until `empty_until`. `seen` is the last state of the bucket that this instance has read, `asked` the time
    of the last request, `served` the number of requests since the last pause of PAUSE_SECONDS. `ahead` is the largest
    known lead of another clock over this instance's clock (seconds). The bucket is computed with that lead added; all
    other times are by this instance's clock. For a tenant that was found `closed`, the bucket is not read again until
    `empty_until`.
    """

    seen: Bucket | None = None
    asked: float = 0.0
    served: int = 0
    tokens: int = 0
    until: float = 0.0
    empty_until: float = 0.0
    ahead: float = 0.0
    closed: Closed | None = None

    def see(self, bucket: Bucket | None, now: float) -> None:
        """Store the state of the bucket at `now` by this instance's clock (UTC seconds)."""
        self.seen, self.ahead = bucket, max(self.ahead, ahead(bucket, now))

    def refuse(self, conflict: BucketConflict, now: float) -> None:
        """Store the bucket that another writer has changed. Raises TenantClosedError if the tenant is closed. This is
        checked again after LEASE_SECONDS.
        """
        if conflict.closed is not None:
            self.tokens, self.closed, self.empty_until = 0, conflict.closed, now + LEASE_SECONDS
            raise TenantClosedError(conflict.closed)
        self.see(conflict.found, now)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits the requests of tenants. There is one instance per process, which holds the rate-limit tokens that it has
    reserved in the store. One write admits up to 20 requests; rejections do not need a write.
    """

    store: TenantLimits
    clock: Clock
    rules: BucketRules
    _leases: OrderedDict[str, _Lease] = field(default_factory=OrderedDict, repr=False)

    def admit(self, tenant: str) -> float | None:
        """Return None if the request is admitted, otherwise the seconds until a request can be admitted. Raises
        TenantClosedError.
        """
        now = self.clock.now()
        lease = self._lease(tenant)
        if not 0 <= now - lease.asked < PAUSE_SECONDS:
            lease.served = 0
        lease.asked = now
        if lease.tokens and now < lease.until:
            lease.tokens -= 1
            lease.served += 1
            return None
        if 0 < lease.empty_until - now <= LEASE_SECONDS:  # longer only after a clock was set back
            if lease.closed is not None:
                raise TenantClosedError(lease.closed)
            return lease.empty_until - now
        return self._take(tenant, lease, now)

    def charge(self, tenant: str, cost: int, *, begun: bool = False) -> float | None:
        """Charge `cost` tokens for work in addition to its request. Return None if the work may begin (or continue, if
        it has `begun`), otherwise the seconds until it may. Tokens beyond the bucket become a debt: the tenant's next
        requests wait until it is paid.
        """
        if cost < 1:
            return None
        now = self.clock.now()
        lease = self._lease(tenant)
        if cost <= lease.tokens and now < lease.until:
            lease.tokens -= cost
            return None
        for _ in range(BUCKET_TRIES):
            taken = charge(lease.seen, self.rules, cost, now + lease.ahead, begun=begun)
            # The last known state only lacks the tokens gained since then, which are added. A rejection is decided by
            # the current bucket.
            if taken.change is None:
                return max(taken.wait, 1.0)
            written = self.store.change_bucket(tenant, taken.change)
            if isinstance(written, Bucket):
                lease.see(written, now)
                if tokens_left(written, self.rules, now + lease.ahead) < 0:
                    lease.tokens = 0
                return None
            lease.refuse(written, now)
        return 1.0

    def left(self, tenant: str) -> int:
        """Return how many requests the tenant can make now, not counting the tokens that instances hold."""
        bucket, now, lease = self.store.bucket(tenant), self.clock.now(), self._lease(tenant)
        lease.see(bucket, now)
        return max(int(tokens_left(bucket, self.rules, now + lease.ahead)), 0)

    def _take(self, tenant: str, lease: _Lease, now: float) -> float | None:
        lease.tokens, lease.closed = 0, None
        for number in range(BUCKET_TRIES):
            # As many tokens as it has served requests: an instance that receives few requests takes few tokens from the
            # others.
            taken = take(lease.seen, self.rules, now + lease.ahead, wanted=lease.served if number < 2 else 1)
            if taken.change is None:
                # The state that this instance knows may be old, but other instances only take tokens: if it computes
                # that none are left, none are left.
                lease.empty_until = now + max(taken.wait, 1.0)
                return max(taken.wait, 1.0)
            written = self.store.change_bucket(tenant, taken.change)
            if isinstance(written, Bucket):
                lease.see(written, now)
                lease.tokens, lease.until = taken.granted - 1, now + LEASE_SECONDS
                lease.served += 1
                return None
            lease.refuse(written, now)
        lease.empty_until = now + 1.0
        return 1.0

    def _lease(self, tenant: str) -> _Lease:
        lease = self._leases.pop(tenant, None) or _Lease()
        self._leases[tenant] = lease
        if len(self._leases) > REMEMBERED:
            self._leases.popitem(last=False)
        return lease


class RunQuotaError(Exception):
    """The tenant's quota of delayed runs for an `hour` is used up."""

    def __init__(self, hour: str, quota: int) -> None:
        super().__init__(hour)
        self.hour, self.quota = hour, quota


@dataclass(frozen=True, slots=True)
class DelayedRunQuota:
    """Limits the delayed runs of a tenant to about `quota` per hour. Runs are counted by random sampling, so that few
    requests write. A count ends with its hour, so no run has to be subtracted.
    """

    counters: TenantLimits
    randomness: Randomness
    quota: int

    def refusal(self, tenant: str, due: int) -> RunQuotaError | None:
        """Return an error if no further run may be due at `due` (UTC seconds); None if one may."""
        hour = bucket_of(due)
        return RunQuotaError(hour, self.quota) if self.counters.delayed(tenant, hour) >= self.quota else None

    def count(self, tenant: str, due: int) -> None:
        """Count a run that is due at `due` (UTC seconds)."""
        hour = bucket_of(due)
        if places := counted_places(1, self.quota, self.randomness.draw()):
            expires_at = bucket_start(hour) + BUCKET_SECONDS + DAY_SECONDS
            self.counters.count_delayed(tenant, hour, places, expires_at=expires_at)


SEAT_TRIES = 4
"""The number of attempts to create a job while other jobs take the same seat. The last attempt does not request a seat.
"""


@dataclass(frozen=True, slots=True)
class Seating:
    """Assigns seats. `most` is the number of a tenant's seats in each lane. Seats are read here, but written only in
    the job's own transaction.
    """

    store: SeatStore
    clock: Clock
    most: Mapping[Lane, int]

    def create(
        self, store: JobStore, job: Job, cursor: Cursor, terms: CreationTerms, *, step: bool = False
    ) -> PauseChange | None:
        """Write a new job, with a seat if one is free. Return None if its id is taken. `step`: the job will be a step
        of a workflow. Raises the errors of JobStore.create.
        """
        for left in reversed(range(SEAT_TRIES)):
            asks = left and may_have_seat(job, step=step)
            seats, given = self._with(job) if asks else (None, ())
            made = placed(PauseChange(job, cursor), seated=bool(given))
            try:
                written = store.create(made.job, made.cursor, replace(terms, seats=seats if given else None))
            except SeatsChangedError:
                continue
            return made if written else None
        raise AssertionError("the last attempt to create the job requests no seat and cannot conflict")

    def of_changed(
        self, job: Job, change: PauseChange, due: int | None, *, step: bool = False
    ) -> tuple[PauseChange, Seats | None]:
        """Return the change to write for an edit, and the seats to write with it. `due` is when the next occurrence was
        due. `step`: as in `create`.
        """
        if loses_seat(job, change.job, due, now=self.clock.now(), step=step or job.workflow is not None):
            return placed(change, seated=False), None
        if keeps_seat(job, change.job):
            return change, None
        seats, given = self._with(change.job)
        return placed(change, seated=bool(given)), seats if given else None

    def for_all(self, jobs: Sequence[Job]) -> tuple[list[Seats], set[str]]:
        """Return the seats to write for these new jobs of a tenant, and the ids of the jobs that get a seat. Earlier
        jobs have precedence.
        """
        asking: dict[Lane, list[Job]] = {}
        for job in jobs:
            if may_have_seat(job):
                asking.setdefault(job.lane, []).append(job)
        found = [(seats, given) for each in asking.values() for seats, given in [self._with(*each)] if given]
        return [seats for seats, _ in found], {each for _, given in found for each in given}

    def _with(self, *jobs: Job) -> tuple[Seats, Sequence[str]]:
        """Return the seats of a lane after free seats were given to these jobs, and the ids of those that got one."""
        asking = [job.id for job in jobs]
        tenant, lane = jobs[0].tenant, jobs[0].lane
        seats, now, most = self.store.seats(tenant, lane), self.clock.now(), self.most[lane]
        looks = seats.must_look(asking, most, now=now)
        if looks:
            seats = seats.without_leavers(self.store.holders(seats), now=now)
        given = seats.free_for(asking, most)
        if looks and not given:
            self.store.note(seats)
        return seats.given_to(*given), given
