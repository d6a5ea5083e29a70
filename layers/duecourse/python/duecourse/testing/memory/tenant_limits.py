"""The limits of tenants in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.tenants.rate import Bucket, BucketChange, changed
from duecourse.ports import BucketConflict
from duecourse.testing.memory.items import Items


def job_count(items: Items, tenant: str) -> int:
    """Return the number of a tenant's jobs that count towards its quota."""
    return sum(job.counts for (owner, _), job in items.jobs.items() if owner == tenant)


@dataclass(frozen=True)
class MemoryTenantLimits:
    """Implementation of ports.TenantLimits."""

    items: Items

    def bucket(self, tenant: str) -> Bucket | None:
        return self.items.buckets.get(tenant)

    def change_bucket(self, tenant: str, change: BucketChange) -> Bucket | BucketConflict:
        with self.items.lock:
            found = self.items.buckets.get(tenant)
            written = changed(found, change)
            if written is None:
                return BucketConflict(found)
            self.items.buckets[tenant] = written
            return replace(written, at=max(written.at, found.at if found is not None else 0))

    def delayed(self, tenant: str, hour: str) -> int:
        return self.items.delayed[tenant, hour]

    def count_delayed(self, tenant: str, hour: str, places: int, *, expires_at: int) -> None:
        with self.items.lock:
            self.items.delayed[tenant, hour] += places

    def jobs(self, tenant: str) -> int:
        with self.items.lock:
            return job_count(self.items, tenant)
