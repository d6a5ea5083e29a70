"""A cursor's place in the due index: a slot is one hour (the bucket) and one shard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from time import gmtime, strftime

from duecourse.domain.instants import from_iso

BUCKET_SECONDS = 3600


def shard_of(tenant: str, job_id: str, shards: int) -> int:
    """The shard of a job: a stable hash of its key, modulo the shard count.

    Not Python's `hash`, which differs from process to process.
    """
    digest = blake2b(f"{tenant}#{job_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % shards


def bucket_of(instant: float) -> str:
    """The hour an instant (UTC seconds) falls into, `2026-11-21T06`; buckets sort as time does."""
    return _bucket(int(instant // BUCKET_SECONDS))


@lru_cache
def _bucket(number: int) -> str:
    """Cached: a round calls it for each claim, and there are few hours."""
    return strftime("%Y-%m-%dT%H", gmtime(number * BUCKET_SECONDS))


def bucket_start(bucket: str) -> int:
    """First second (UTC) of a bucket."""
    return int(from_iso(f"{bucket}:00:00Z"))


def slot_of(due: int, shard: int) -> str:
    """Partition key of the due index: `2026-11-21T06/0007`."""
    return f"{bucket_of(due)}/{shard:04d}"


def buckets(first: str, until: float) -> Iterator[str]:
    """Every bucket from `first` to the one `until` (UTC seconds) falls into, oldest first."""
    start = bucket_start(first)
    while start <= until:
        yield bucket_of(start)
        start += BUCKET_SECONDS
