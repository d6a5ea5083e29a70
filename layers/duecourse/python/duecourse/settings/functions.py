"""The settings of each function, one class per function. Shared fields are in base classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from duecourse.domain.jobs.job import Lane, Precision
from duecourse.domain.jobs.result_buckets import ResultBuckets
from duecourse.domain.targets.allowed_targets import AllowedTargets
from duecourse.domain.targets.oidc import OidcIssuer
from duecourse.limits import RUN_INDEX_PARTITIONS
from duecourse.settings.reading import FromEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings(FromEnvironment):
    """The settings of all functions that read jobs and runs. A tenant's ended runs in one state are listed in
    `run_index_partitions` partitions, successful ones only with `list_successes`. `fence`: the region of a stage with a
    standby; the fence says whether it works.
    """

    stage: str
    jobs_table: str
    runs_table: str
    shards: int
    run_index_partitions: int = RUN_INDEX_PARTITIONS
    list_successes: bool = True
    fence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSettings(TableSettings):
    """The settings of all functions that write runs."""

    run_retention_days: int
    queue_urls: Mapping[Lane, str]
    bulk_urls: Mapping[Lane, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundSettings(LaneSettings):
    """The settings of dispatch rounds. A cursor is read when it is due within `lookahead_seconds`, and its occurrences
    are enqueued `horizon_seconds` ahead.
    """

    lookahead_seconds: int
    horizon_seconds: int


NO_MONITOR = "none"
"""The `ping_url` of a stage without an external monitor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickSettings(FromEnvironment):
    """The settings of the tick, which starts dispatch rounds once a minute. `lookahead_seconds` is the lookahead of
    rounds. The tick watches the queues and the archive's event source. `letters_urls` has the URLs of the other
    dead-letter queues, separated by spaces. `ping_url` is the address of an external monitor, or NO_MONITOR. `fence`:
    as in TableSettings. `account_concurrency` is the account's quota of concurrent executions for which the stage is
    configured. `prescale`: the rules for capacity before a peak (domain.maintenance.peaks.rules_of).
    """

    stage: str
    jobs_table: str
    shards: int
    lookahead_seconds: int
    shard_queue_url: str
    queue_urls: Mapping[Lane, str]
    bulk_urls: Mapping[Lane, str]
    letters_urls: str
    archive_source: str
    account_concurrency: int
    ping_url: str
    private_targets: str
    callback_url: str
    prescale: str | None = None
    fence: str | None = None
    runs_table: ClassVar[str] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchSettings(RoundSettings):
    """The settings of the dispatcher, which runs a round of one shard."""

    bus_name: str
    short_timeouts: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteSettings(RoundSettings):
    """The settings of the workers of one lane. `max_receive_count` comes from the lane's redrive policy. More failed
    attempts than `failed_share` of the started ones set off an alarm. The workers of one lane also receive the
    callbacks (`callback_url`). The workers of another one carry out operations, within the tenant's
    `requests_per_second` and `burst`. `audit_function` is the name of the audit function, which makes reports.
    """

    lane: Lane
    queue_url: str
    bulk_url: str
    deaths_topic_arn: str
    max_receive_count: int
    failed_share: float
    private_targets: str
    bus_name: str
    results_bucket: str
    result_buckets: ResultBuckets
    oidc: OidcIssuer | None
    account: str
    partition: str
    region: str
    secret_store: str
    allowed_targets: AllowedTargets
    callback_url: str
    requests_per_second: int
    burst: int
    audit_function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcilerSettings(LaneSettings):
    """The settings of the dead-letter reconciler."""

    dead_letter_queue_url: str
    deaths_topic_arn: str
    bus_name: str
    results_bucket: str
    result_buckets: ClassVar[ResultBuckets] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings(FromEnvironment):
    """The settings of the archiver of expired runs."""

    stage: str
    archive_bucket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings(RoundSettings):
    """The settings of index repair: it scans the jobs table every `repair_hours`, and removes completed jobs that are
    older than `completed_job_retention_days` and have no history. `seats`: as in the API, since it edits jobs. With an
    `operator_tenant`, it counts the figures of all tenants.
    """

    repair_hours: int
    completed_job_retention_days: int
    seats: Mapping[Lane, int]
    operator_tenant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings(RoundSettings):
    """The settings of the completeness audit: each hour it examines one of `audit_segments`
    segments of the jobs table. It also makes reports, within the tenant's `requests_per_second` and `burst`.
    """

    audit_segments: int
    requests_per_second: int
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackSettings(TableSettings):
    """The settings of the routes that accept a run's token. Their messages, for the runs of all lanes, have one queue
    (`callback_url`).
    """

    callback_url: str
    results_bucket: str
    caller_waits: ClassVar[bool] = True
    short_timeouts: ClassVar[bool] = True

    @property
    def queue_urls(self) -> Mapping[Lane, str]:
        """The queue for each lane."""
        return dict.fromkeys(Lane, self.callback_url)

    @property
    def bulk_urls(self) -> Mapping[Lane, str]:
        """The queue for the runs of each lane without a seat."""
        return self.queue_urls


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings(RoundSettings):
    """The settings of the HTTP API. `auth` is its authorizer, and `none` is allowed only on the local stack. Limits are
    per tenant: at most `job_quota` jobs, on average `requests_per_second` with a burst of `burst`,
    `smallest_interval_seconds` between occurrences, at most `backfill_limit` runs per backfill, `delayed_runs_per_hour`
    delayed runs due in one hour, and `seats` in each lane (domain.tenants.seats). Operators in `operator_tenant` may
    read the figures of all tenants. `prescale_dollars`: the daily budget for peaks, in stages that have one.
    """

    default_precision: Precision
    private_targets: str
    allowed_targets: AllowedTargets
    results_bucket: str
    result_buckets: ResultBuckets
    oidc: OidcIssuer | None
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
    operator_tenant: str | None = None
    prescale_dollars: float | None = None
    caller_waits: ClassVar[bool] = True
    short_timeouts: ClassVar[bool] = True
