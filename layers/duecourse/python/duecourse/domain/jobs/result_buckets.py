"""The buckets and prefixes in which a stage stores the results of tenants' jobs, other than its own bucket."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.domain.jobs.job import ResultLocation
from duecourse.limits import EVERY_TENANT, TENANT_IN_PREFIX

ResultBuckets = Mapping[str, Mapping[str, str]]
"""The prefix of each tenant (`*`: of all others) in each bucket (`*`: in all others). In a prefix, `{tenant}` is
replaced by the tenant. No prefix contains that of another tenant.
"""


def prefix_of(tenant: str, bucket: str, buckets: ResultBuckets) -> str | None:
    """Return the prefix under which a tenant may store results in a bucket; None if it may not use the bucket."""
    prefixes = buckets.get(bucket, buckets.get("*", {}))
    prefix = prefixes.get(tenant, prefixes.get(EVERY_TENANT))
    return None if prefix is None else prefix.replace(TENANT_IN_PREFIX, tenant)


def bucket_refusal(tenant: str, bucket: str, buckets: ResultBuckets) -> str | None:
    """Return the reason why a tenant may not store results in a bucket, with a remedy. None if it may."""
    if prefix_of(tenant, bucket, buckets) is not None:
        return None
    known = [each for each in buckets if prefix_of(tenant, each, buckets) is not None]
    others = f"use {', '.join(known)}, or " if known else ""
    remedy = "ask the operator to add it to the stage's setting result_buckets"
    return f"is not allowed for results of this tenant; {others}{remedy}"


def prefix_refusal(tenant: str, location: ResultLocation, buckets: ResultBuckets) -> str | None:
    """Return the reason why a tenant may not use the prefix in an allowed bucket. None if it may."""
    prefix = prefix_of(tenant, location.bucket, buckets) or ""
    if location.prefix.startswith(prefix):
        return None
    return f"must start with {prefix}, the prefix of this tenant in the bucket"


def location_refusal(tenant: str, location: ResultLocation, buckets: ResultBuckets) -> str | None:
    """Return the reason why a tenant may not use a location, as a sentence. None if it may."""
    if problem := bucket_refusal(tenant, location.bucket, buckets):
        return f"the bucket {problem}"
    problem = prefix_refusal(tenant, location, buckets)
    return problem and f"the prefix {problem}"


def result_path(job_id: str, local: str, attempt: int) -> str:
    """Return the last part of the S3 key for an attempt's result. Attempts never overwrite each other's results."""
    return f"{job_id}/{local}/{attempt}.json"
