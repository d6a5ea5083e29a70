"""A tenant's limits in memory."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.bucket import Bucket
from duecourse.ports import BucketConflict
from duecourse.testing.memory.items import Items


def job_count(items: Items, tenant: str) -> int:
    """How many jobs a tenant has."""
    return sum(owner == tenant for owner, _ in items.jobs)


@dataclass(frozen=True)
class MemoryTenantLimits:
    """ports.TenantLimits."""

    items: Items

    def bucket(self, tenant: str) -> Bucket | None:
        return self.items.buckets.get(tenant)

    def write_bucket(self, tenant: str, bucket: Bucket, previous: Bucket | None) -> BucketConflict | None:
        with self.items.lock:
            found = self.items.buckets.get(tenant)
            if found != previous:
                return BucketConflict(found)
            self.items.buckets[tenant] = bucket
            return None

    def jobs(self, tenant: str) -> int:
        return job_count(self.items, tenant)
