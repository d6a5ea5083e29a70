"""Settings of each function, one class per function; shared fields are in base classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duecourse.domain.jobs.job import Lane, Precision
from duecourse.domain.targets.allowed_targets import AllowedTargets
from duecourse.settings.reading import FromEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings(FromEnvironment):
    """What every function has that reads jobs and runs."""

    stage: str
    jobs_table: str
    runs_table: str
    shards: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSettings(TableSettings):
    """What every function has that writes runs."""

    run_retention_days: int
    queue_urls: Mapping[Lane, str]
    bulk_urls: Mapping[Lane, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rounds(LaneSettings):
    """A cursor is picked up when due within `lookahead_seconds`; occurrences are enqueued `horizon_seconds` ahead."""

    lookahead_seconds: int
    horizon_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TickSettings(FromEnvironment):
    """The once-a-minute start of a dispatch round."""

    stage: str
    jobs_table: str
    shards: int
    shard_queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchSettings(_Rounds):
    """A round of one shard."""

    bus_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteSettings(LaneSettings):
    """The workers of one lane; `max_receive_count` is that of the lane's redrive policy."""

    lane: Lane
    queue_url: str
    bulk_url: str
    deaths_topic_arn: str
    max_receive_count: int
    private_targets: str
    bus_name: str
    results_bucket: str
    account: str
    partition: str
    region: str
    secret_store: str
    allowed_targets: AllowedTargets


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcilerSettings(LaneSettings):
    """The dead-letter reconciler."""

    dead_letter_queue_url: str
    deaths_topic_arn: str
    bus_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings(FromEnvironment):
    """The archiver of expired runs."""

    stage: str
    archive_bucket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings(TableSettings):
    """Index repair: a scan of the jobs table every `repair_hours`; completed jobs that are older than
    `completed_job_retention_days` and have no history are removed.
    """

    repair_hours: int
    completed_job_retention_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings(_Rounds):
    """The completeness audit: each hour one of `audit_segments` segments of the jobs table."""

    audit_segments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackSettings(TableSettings):
    """The routes that a run's token opens."""

    queue_urls: Mapping[Lane, str]
    bulk_urls: Mapping[Lane, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings(_Rounds):
    """The HTTP API. `auth`: its authorizer; `none` only on the local stack. Limits are per tenant: at most `job_quota`
    jobs, `requests_per_second` on average with `burst` at once, occurrences no closer than `smallest_interval_seconds`,
    at most `backfill_limit` runs per backfill, `delayed_runs_per_hour` delayed runs due in one hour, `seats` in each
    lane (domain.tenants.seats).
    """

    default_precision: Precision
    private_targets: str
    allowed_targets: AllowedTargets
    results_bucket: str
    region: str
    auth: str
    tenant_claim: str
    job_quota: int
    requests_per_second: int
    burst: int
    smallest_interval_seconds: int
    backfill_limit: int
    delayed_runs_per_hour: int
    seats: Mapping[Lane, int]
