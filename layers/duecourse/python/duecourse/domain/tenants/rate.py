"""The limits for requests: a token bucket for a tenant's requests, and the budget for the work of one request.

The bucket fills at a steady rate up to its burst. It is stored as the time at which it is full again, and taking tokens
adds to that time. A write only requires that enough tokens are left, not that the bucket is unchanged. So instances
that take tokens at the same moment do not cause conflicts.

Each write also stores the writer's time. An instance whose clock is behind that time adds the difference to its clock.
Otherwise a bucket that fills within 2 s would seem empty to a clock that is 4 s behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

MAX_TAKEN = 20
"""The maximum number of tokens that one write takes."""

LEASE_SECONDS = 5
"""How long taken tokens are valid (seconds). For at most this time, they admit requests that the bucket would no longer
admit.
"""

KEPT_FOR_OTHERS = 39
"""The number of tokens that the first of several simultaneous requests leaves for the others if the burst allows it."""

MAX_AHEAD_SECONDS = 10
"""The maximum difference between two clocks, in seconds: each may differ from the true time by 5 s. If a bucket's time
is later than this allows, it was written by a wrong clock.
"""

MAX_DEBT_SECONDS = 60
"""The maximum debt of a tenant for the work of one request, in seconds of its rate."""

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket. `full_at` is when it is full if no token is taken until then. `at` is the time of its last writer
    (nanoseconds since the epoch, UTC).
    """

    full_at: int
    at: int


@dataclass(frozen=True, slots=True)
class BucketRules:
    """The limits of a bucket: `rate` tokens are added per second, up to `burst`."""

    rate: float
    burst: int

    def filled_in(self, tokens: int) -> int:
        """Return the nanoseconds in which this number of tokens is added, rounded down."""
        return int(tokens * NANOSECONDS / self.rate)

    def latest(self, now: int) -> int:
        """Return the latest possible `full_at` at `now` (nanoseconds): burst and debt are used up."""
        return now + self.filled_in(self.burst) + MAX_DEBT_SECONDS * NANOSECONDS


@dataclass(frozen=True, slots=True)
class Add:
    """Add `by` nanoseconds to `full_at`, provided that it is from `low` to `high`. `low` is the writer's time."""

    by: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Restart:
    """Set `full_at`, provided that there is no bucket, or that its `full_at` is not from `low` to `high`. `low` is the
    writer's time.
    """

    full_at: int
    low: int
    high: int


BucketChange = Add | Restart


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of a request for tokens. `change` takes `granted` tokens. If none is granted, there is no change, and
    the next token is available after `wait` seconds.
    """

    change: BucketChange | None
    granted: int
    wait: float = 0.0


def changed(bucket: Bucket | None, change: BucketChange) -> Bucket | None:
    """Return the bucket that the change stores, or None if the change's condition does not hold."""
    within = bucket is not None and change.low <= bucket.full_at <= change.high
    match change:
        case Add(by=by):
            return Bucket(bucket.full_at + by, change.low) if bucket is not None and within else None
        case Restart(full_at=full_at):
            return None if within else Bucket(full_at, change.low)


def ahead(bucket: Bucket | None, now: float) -> float:
    """Return the seconds by which the bucket's last writer is ahead of a clock that shows `now` (UTC seconds).

    0 if the writer is behind, or so far ahead that its clock is wrong. Rounded down to whole microseconds, since
    rounding up would accumulate.
    """
    difference = 0 if bucket is None else bucket.at - _nanoseconds(now)
    return difference // 1_000 / 1_000_000 if 0 < difference <= MAX_AHEAD_SECONDS * NANOSECONDS else 0.0


def tokens_left(bucket: Bucket | None, rules: BucketRules, now: float) -> float:
    """Return the tokens at `now` (UTC seconds). The number is negative if more tokens were taken than available."""
    return _left(bucket, rules, _nanoseconds(now)) * rules.rate / NANOSECONDS


def take(bucket: Bucket | None, rules: BucketRules, now: float, *, wanted: int) -> Taken:
    """Take at least one and at most `wanted` tokens at `now` (UTC seconds). Unused tokens are lost.

    At most a quarter of the remaining tokens is taken, and at most MAX_TAKEN. The first instance that requests tokens
    from a full bucket may take more than it needs, to make fewer requests, but leaves KEPT_FOR_OTHERS. From a slow
    bucket it takes only what it needs, since unused tokens would be lost.
    """
    at = _nanoseconds(now)
    left = _left(bucket, rules, at)
    tokens = int(left * rules.rate / NANOSECONDS) + 1
    while tokens > 0 and rules.filled_in(tokens) > left:
        tokens -= 1
    if tokens < 1:
        return Taken(None, 0, max((rules.filled_in(1) - left) / NANOSECONDS, 0.0))
    if _in_use(bucket, rules, at) is None and rules.rate * LEASE_SECONDS >= MAX_TAKEN:
        wanted = max(wanted, tokens - KEPT_FOR_OTHERS)
    granted = max(min(wanted, tokens // 4, MAX_TAKEN), 1)
    # The bucket that this instance has read may be outdated. It takes several tokens only if they are at most a quarter
    # of the tokens left at the write.
    needed = granted if granted == 1 else 4 * granted
    high = at + rules.filled_in(rules.burst) - rules.filled_in(needed)
    return Taken(_change(bucket, rules, at, rules.filled_in(granted), high=high), granted)


def charge(bucket: Bucket | None, rules: BucketRules, cost: int, now: float, *, begun: bool = False) -> Taken:
    """Take `cost` tokens for work. This may leave a debt of at most MAX_DEBT_SECONDS of the rate.

    The work of one request is limited elsewhere, and must be possible with any burst size. Nothing is granted during a
    debt, unless the work has already started (`begun`): the debt may then be caused by this work.
    """
    at = _nanoseconds(now)
    left = _left(bucket, rules, at)
    if left < 0 and not begun:
        return Taken(None, 0, -left / NANOSECONDS)
    by = max(min(rules.filled_in(cost), left + MAX_DEBT_SECONDS * NANOSECONDS), 0)
    high = rules.latest(at) - by
    if not begun:
        high = min(at + rules.filled_in(rules.burst), high)
    return Taken(_change(bucket, rules, at, by, high=high), cost)


def retry_after(wait: float) -> int:
    """Return the whole seconds until a retry can succeed, at least 1."""
    return max(ceil(wait), 1)


def _change(bucket: Bucket | None, rules: BucketRules, at: int, by: int, *, high: int) -> BucketChange:
    if _in_use(bucket, rules, at) is None:
        return Restart(at + by, at, _furthest(rules, at))
    return Add(by, at, high)


def _left(bucket: Bucket | None, rules: BucketRules, at: int) -> int:
    """Return the tokens as the nanoseconds in which they are added. A negative number is a debt."""
    found = _in_use(bucket, rules, at)
    return rules.filled_in(rules.burst) - (0 if found is None else found.full_at - at)


def _in_use(bucket: Bucket | None, rules: BucketRules, at: int) -> Bucket | None:
    """Return the bucket. None if it is full, or if it was written by a clock far ahead: it then counts as full, so that
    a tenant need not wait for other clocks to reach that time.
    """
    return bucket if bucket is not None and at <= bucket.full_at <= _furthest(rules, at) else None


def _furthest(rules: BucketRules, at: int) -> int:
    return rules.latest(at) + MAX_AHEAD_SECONDS * NANOSECONDS


def _nanoseconds(seconds: float) -> int:
    return int(seconds * NANOSECONDS)


STEPS = 20_000
"""The number of steps of a request. A step takes about 3 µs: one occurrence of a schedule, or one comparison of two
names. All steps together take 60 ms.
"""

BYTES = 512 * 1024
"""The limit (bytes) for the payloads in one list. Only payloads that are separate items count: each requires a separate
read, and is expensive to parse and to serialize.
"""

Charge = Callable[[int], None]
"""Takes the tenant's tokens for work that costs as much as this number of requests. The request's own token pays for
the first of them. Called before the work. Raises if the work may not start.
"""


def free(_requests: int, _begun: bool = False) -> None:
    """Take no tokens."""


@dataclass(slots=True)
class Budget:
    """The remaining budget of a request: the steps and bytes that it may use. Further work is charged (`charge`).

    All work for one request shares one budget. `pay` takes tokens. `begun`: some tokens were already taken, so the
    request is not rejected because of its own debt.

    A check without remaining steps is skipped: it would only add a hint, or reject something harmless. A list without
    remaining bytes ends early.
    """

    steps: int = STEPS
    bytes: int = BYTES
    pay: Callable[[int, bool], None] = free
    begun: bool = False

    def charge(self, requests: int) -> None:
        """Take the tokens for work that costs as much as this number of requests. Raises the exceptions of `pay`."""
        if requests > 1:
            self.pay(requests, self.begun)
            self.begun = True

    def spend(self, steps: int = 1) -> bool:
        """Use up this number of steps. Returns False, and uses none, if fewer are left."""
        if self.steps < steps:
            return False
        self.steps -= steps
        return True

    def read(self, characters: int) -> None:
        """Subtract the size of a payload that was read."""
        self.bytes -= characters

    @property
    def full(self) -> bool:
        """Whether no more payloads may be read."""
        return self.bytes <= 0
