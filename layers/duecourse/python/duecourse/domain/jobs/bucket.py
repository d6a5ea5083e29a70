"""A token bucket: how many requests a tenant may still make. It fills at a steady rate and never beyond its burst."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

MAX_TAKEN = 20
"""Tokens that are taken at once, at most."""


MAX_AHEAD_SECONDS = 5.0
"""So much may clocks differ. A bucket that was left further in the future was left by a clock that is wrong."""

MAX_DEBT_SECONDS = 60
"""How much of its future rate a tenant may owe for work that one request asked for."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """What was left after the last taking, at `at` (UTC seconds); below 0 what is owed."""

    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class BucketRules:
    """`rate` tokens flow in a second, and at most `burst` are kept."""

    rate: float
    burst: int


@dataclass(frozen=True, slots=True)
class Taken:
    """`granted` tokens were taken and `bucket` is left. None granted: the next one is there in `wait` seconds."""

    bucket: Bucket
    granted: int
    wait: float = 0.0


def level(bucket: Bucket | None, rules: BucketRules, now: float) -> Bucket:
    """The bucket as it stands at `now` (UTC seconds); None: nobody has ever taken anything, so it is full.

    Clocks differ: for one that is a little behind the last taking no time has passed, and it never turns the bucket's
    back. What a clock far ahead has left says nothing: a tenant must not wait until the others have caught up with it.
    """
    if bucket is None or bucket.at > now + MAX_AHEAD_SECONDS:
        return Bucket(float(rules.burst), now)
    at = max(now, bucket.at)
    return Bucket(min(float(rules.burst), bucket.tokens + (at - bucket.at) * rules.rate), at)


def take(bucket: Bucket | None, rules: BucketRules, now: float) -> Taken:
    """Take a quarter of what is there, at least one token and at most MAX_TAKEN.

    A quarter, since what is taken and not spent is lost: many instances that each want one token now and then must not
    empty the bucket between them, while one that works hard seldom has to ask.
    """
    standing = level(bucket, rules, now)
    if standing.tokens < 1:
        return Taken(standing, 0, max((1 - standing.tokens) / rules.rate, 0.0))
    granted = min(max(int(standing.tokens / 4), 1), MAX_TAKEN)
    return Taken(Bucket(standing.tokens - granted, standing.at), granted)


def charge(bucket: Bucket | None, rules: BucketRules, cost: int, now: float) -> Taken:
    """Take `cost` tokens for work, which may leave a debt of MAX_DEBT_SECONDS of the rate at most: what one request may
    ask for is bounded elsewhere, and must be possible whatever the burst. None is granted while an earlier debt stands.
    """
    standing = level(bucket, rules, now)
    if standing.tokens < 0:
        return Taken(standing, 0, -standing.tokens / rules.rate)
    return Taken(Bucket(max(standing.tokens - cost, -rules.rate * MAX_DEBT_SECONDS), standing.at), cost)


def retry_after(wait: float) -> int:
    """Whole seconds after which it makes sense to ask again; at least 1."""
    return max(ceil(wait), 1)
