"""A token bucket that limits a tenant's requests. It fills at a steady rate up to its burst."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

MAX_TAKEN = 20
"""The most tokens that are taken at once."""


MAX_AHEAD_SECONDS = 5.0
"""The most by which clocks may differ. A bucket with a time further in the future was written by a wrong clock."""

MAX_DEBT_SECONDS = 60
"""How many seconds of its rate a tenant may owe for the work of one request."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The tokens left after the last take, at `at` (UTC seconds); negative: owed."""

    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class BucketRules:
    """`rate` tokens are added per second, up to `burst`."""

    rate: float
    burst: int


@dataclass(frozen=True, slots=True)
class Taken:
    """`granted` tokens were taken and `bucket` is left. If none was granted, the next one is there in `wait`
    seconds.
    """

    bucket: Bucket
    granted: int
    wait: float = 0.0


def level(bucket: Bucket | None, rules: BucketRules, now: float) -> Bucket:
    """The bucket at `now` (UTC seconds). None: nothing was ever taken, so it is full.

    Clocks differ: for a clock slightly behind the last take no time has passed, and the bucket's time is never set
    back. A bucket written by a clock far ahead is ignored, so that a tenant need not wait until other clocks have
    caught up.
    """
    if bucket is None or bucket.at > now + MAX_AHEAD_SECONDS:
        return Bucket(float(rules.burst), now)
    at = max(now, bucket.at)
    return Bucket(min(float(rules.burst), bucket.tokens + (at - bucket.at) * rules.rate), at)


def take(bucket: Bucket | None, rules: BucketRules, now: float) -> Taken:
    """Take a quarter of the tokens, at least one and at most MAX_TAKEN.

    Tokens that are taken and not used are lost. With a quarter, many instances that each need one token now and then do
    not empty the bucket, and a busy instance seldom has to ask.
    """
    standing = level(bucket, rules, now)
    if standing.tokens < 1:
        return Taken(standing, 0, max((1 - standing.tokens) / rules.rate, 0.0))
    granted = min(max(int(standing.tokens / 4), 1), MAX_TAKEN)
    return Taken(Bucket(standing.tokens - granted, standing.at), granted)


def charge(bucket: Bucket | None, rules: BucketRules, cost: int, now: float) -> Taken:
    """Take `cost` tokens for work. That may leave a debt of at most MAX_DEBT_SECONDS of the rate: one request's work is
    bounded elsewhere, and must be possible with any burst. None is granted while an earlier debt exists.
    """
    standing = level(bucket, rules, now)
    if standing.tokens < 0:
        return Taken(standing, 0, -standing.tokens / rules.rate)
    return Taken(Bucket(max(standing.tokens - cost, -rules.rate * MAX_DEBT_SECONDS), standing.at), cost)


def retry_after(wait: float) -> int:
    """Whole seconds until a retry makes sense; at least 1."""
    return max(ceil(wait), 1)
