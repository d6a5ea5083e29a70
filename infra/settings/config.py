"""The differences between the stages: one immutable, validated `StageConfig` for each stage (`infra/stages.py` has all
of them).

No other code in `infra/` depends on the stage's name: every difference is a field here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from duecourse.limits import (
    LANES,
    MAX_DELAY_SECONDS,
    MAX_RUN_INDEX_PARTITIONS,
    MAX_SHARDS,
    MESSAGE_RETENTION_DAYS,
    METRICS_NAMESPACE,
    RUN_INDEX_PARTITIONS,
    UNRESERVED_CONCURRENCY,
)
from duecourse.settings.reading import problem_of
from infra.settings.alarms_config import AlarmsConfig
from infra.settings.auth_config import ApiConfig, AuthConfig, LimitsConfig
from infra.settings.connectors_config import StageConnectors, connector_concurrency, connector_problems
from infra.settings.domain_config import ApiDomainConfig
from infra.settings.lanes_config import MAX_MAX_CONCURRENCY, MIN_MAX_CONCURRENCY, LaneConfig
from infra.settings.prescale_config import PrescaleConfig
from infra.settings.stores_config import OWN, ArchiveConfig, StageBuckets, StandbyConfig, bucket_problems, key_problem
from infra.settings.targets_config import AllowedTargetsConfig, task_problems
from infra.settings.throughput_config import ThroughputConfig

SECRET_STORES = ("parameters", "secrets_manager")
DEPLOYMENTS = ("all_at_once", "canary")
LOG_RETENTION_DAYS = (7, 14, 30, 90)
STAGE_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
"""The pattern for a stage's name. The names of stacks, alarms and parameters, and the metrics' namespace contain it."""

COGNITO_WORDS = ("aws", "amazon", "cognito")
"""Words that the domain of a user pool cannot contain. It contains the stage's name (Amazon Cognito API Reference,
"CreateUserPoolDomain").
"""

PING_URL = re.compile(r"https://[!-~]{1,500}")
TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
OF_FUNCTIONS = frozenset(
    {
        *("shards", "lookahead_seconds", "horizon_seconds", "run_retention_days", "completed_job_retention_days"),
        *("account_concurrency", "max_receive_count", "repair_hours", "audit_segments", "run_index_partitions"),
    }
)
"""The settings that functions read; `duecourse.settings` has their bounds."""

EMAIL = re.compile(r"[^@\s,;<>]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")

MAX_TOKEN_KEYS = 3
DOCS_URL = re.compile(r"https?://[!-~]{1,200}")


class ConfigError(ValueError):
    """An unknown stage or an invalid setting. The message has the field and the remedy."""


@dataclass(frozen=True, slots=True)
class ReservedConcurrency:
    """The reserved concurrency of tick, dispatch and API, so that a burst of runs cannot starve them. None reserves
    nothing.
    """

    tick: int | None = None
    dispatch: int | None = None
    api: int | None = None
    callbacks: int | None = None


@dataclass(frozen=True, slots=True)
class StageConfig:
    """One stage. It is validated when it is created; the error lists every invalid field."""

    stage: str
    shards: int
    """The number of shards. A deployment can increase it on a live system, but never decrease it (docs/sizing.md)."""
    lanes: Mapping[str, LaneConfig]
    auth: AuthConfig
    """The authorization of the API's callers."""
    limits: LimitsConfig
    """The limits of a tenant."""
    api: ApiConfig
    refuse_plain_http: bool
    """Whether queues, topics and the bucket reject requests without TLS."""
    retain_data: bool
    """Whether tables, results, logs, users and the key outlive the stack."""
    default_precision: str
    private_targets: str
    log_retention_days: int
    api_domain: ApiDomainConfig | None = None
    """The domain name of the API. None: only the endpoint of API Gateway, which also works with a domain name."""
    allowed_targets: AllowedTargetsConfig = field(default_factory=AllowedTargetsConfig)
    """The resources that jobs can call in addition to HTTP."""
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The targets that jobs can call by a name: `{"send-invoice": {"target": {...}, "defaults": {...}}}`. Both are in
    the format of a posted job; `defaults` are for fields that the job does not have.
    """
    result_buckets: StageBuckets = field(default_factory=dict)
    """The buckets in which jobs can store their results, each with the prefixes of tenants (`*`: of all others), its
    KMS key and its account if it has another: `{"reports": {"prefixes": {"acme": "duecourse/"}, "key": "arn:..."}}`.
    """
    connectors: StageConnectors = field(default_factory=dict)
    """The functions in private networks through which HTTP targets with `via` are called: `{"office": {"subnets":
    [...], "security_groups": [...], "tenants": ["erp"], "hosts": ["*.corp.example"], "cidrs": ["10.0.0.0/8"]}}`.
    """
    oidc_keys: tuple[str, ...] = ()
    """The names of the keys that sign OIDC tokens for targets. The first one signs, and all are published. Without
    keys, jobs cannot use `auth` of type `oidc`.
    """
    deletion_protection: bool = True
    """Whether stack, tables and user pool of a stage with retained data are protected against deletion. It is off for
    two deployments: the one that creates the stage, because CloudFormation could not roll it back otherwise
    (scripts/deploy.py), and the last one before the stage is deleted (docs/operations.md).
    """
    secret_store: str = "parameters"
    """`parameters` (SSM Parameter Store, SecureStrings) or `secrets_manager` (which can rotate secrets, for a fee)."""
    runs_on_this_machine: bool = False
    """Whether the functions use this machine's Python and processor (the local stack) instead of AWS's latest."""
    lookahead_seconds: int = 300
    horizon_seconds: int = 840
    run_index_partitions: int = RUN_INDEX_PARTITIONS
    """The number of partitions in which a tenant's ended runs in one state are listed, of 1,000 writes a second each. A
    deployment can increase it on a live system, but never decrease it: the runs in the others would not be listed.
    """
    list_successes: bool = True
    """Whether successful runs are listed across jobs. Each costs a write unit."""
    run_retention_days: int = 90
    archive: ArchiveConfig = field(default_factory=ArchiveConfig)
    """The archive of runs after `run_retention_days`."""
    completed_job_retention_days: int = 90
    """The days for which a completed job is kept. It is kept longer while it has runs."""
    max_receive_count: int = 30
    """How often a message is received before it becomes a dead letter. A throttled delivery counts, and the message
    becomes visible again after 150 s (the visibility timeout): an hour of throttling means 24 receives.
    """
    reconcile_minutes: int = 5
    """The interval at which the reconciler searches the dead-letter queue for messages of runs that are not dead."""
    repair_hours: int = 24
    """The interval at which index repair checks all items of the jobs table."""
    audit_segments: int = 1
    """The number of hours in which the audit checks all jobs for lost and duplicate occurrences."""
    reserved_concurrency: ReservedConcurrency = field(default_factory=ReservedConcurrency)
    account_concurrency: int = 1_000
    """The account's quota of concurrent executions in this region, by default 1,000 (AWS Lambda Developer Guide,
    "Lambda quotas"). It must be at least the sum of the lanes' maximum and the reserved concurrency.
    """
    throughput: ThroughputConfig = field(default_factory=ThroughputConfig)
    """The warm throughput of the tables, for sudden bursts. An increase is charged once; there is no monthly fee."""
    prescale: PrescaleConfig | None = None
    """The budget with which the tick raises capacity before many runs are due. None: capacity never changes."""
    deployment: str = "all_at_once"
    """The deployment of new code in dispatch and execute: `all_at_once`, or as a `canary` (functions/live_alias.py)."""
    alarms: AlarmsConfig = field(default_factory=AlarmsConfig)
    """The thresholds of the alarms that notify operators."""
    alarm_email: str | None = None
    docs_url: str | None = None
    """The address of the published folder docs/, without a slash at its end. An alarm's description has a link to its
    runbook. If it is None, the description has the name of the file.
    """
    ping_url: str | None = None
    """The address of an external monitor, which the tick requests once a minute while the stage is healthy."""
    operator_tenant: str | None = None
    """The tenant whose callers with the scope `ops` may read the figures of all tenants. None: no caller may."""
    encryption_key: str | None = None
    """The key that encrypts all data: None (AWS's own keys), `own` (created by the stack) or the ARN of a KMS key
    (docs/security.md has the required key policy).
    """
    bucket_access_logs: bool = True
    """Whether requests to the buckets are logged. These logs are kept as long as other logs."""
    tracing: bool = False
    """Whether X-Ray traces requests to the API, and runs from their worker to HTTP targets (docs/observability.md)."""
    loop_detection: bool = True
    """Whether Lambda detects recursive loops in the stage's region. Workers must then be exempt."""
    standby: StandbyConfig | None = None
    """The second region. None: the stage has only one."""

    def __post_init__(self) -> None:
        """Raise ConfigError with all invalid settings."""
        wrong = [f"{name} {problem}" for name, problem in self._problems()]
        if wrong:
            raise ConfigError(f"stage {self.stage!r}: " + "; ".join(wrong))

    @property
    def stack_name(self) -> str:
        """The stack's name in the account."""
        return f"Duecourse-{self.stage}"

    @property
    def metrics_namespace(self) -> str:
        """The namespace of the functions' own metrics. It separates stages in the same account and region."""
        return METRICS_NAMESPACE.format(stage=self.stage)

    @property
    def runbooks(self) -> str:
        """The page with a section for each alarm."""
        return f"{self.docs_url or 'docs'}/runbooks.md"

    @property
    def most_concurrent(self) -> int:
        """The maximum number of concurrent executions of the lanes, and the reserved ones."""
        lanes = sum(lane.most_concurrent + lane.most_concurrent_in_bulk for lane in self.lanes.values())
        return lanes + sum(self.reserved.values())

    @property
    def reserved(self) -> Mapping[str, int]:
        """The reserved concurrency by function (`tick`, `connector office`). It is subtracted from the account's
        concurrency. Functions that reserve nothing are omitted.
        """
        own = {name: wish for name, wish in asdict(self.reserved_concurrency).items() if wish}
        return own if self.runs_on_this_machine else own | connector_concurrency(self.connectors)

    @property
    def refuses_deletion(self) -> bool:
        """Whether stack, tables and user pool are protected against deletion."""
        return self.retain_data and self.deletion_protection

    @property
    def results_retention_days(self) -> int:
        """The retention of results: a month longer than that of records, because a run can wait that long for its end
        after its result was written.
        """
        return self.run_retention_days + 30

    def _problems(self) -> Iterator[tuple[str, str]]:
        checks = [
            ("stage", STAGE_NAME.fullmatch(self.stage) is not None, f"must match {STAGE_NAME.pattern}"),
            (
                "stage",
                self.auth.kind != "cognito" or not any(word in self.stage for word in COGNITO_WORDS),
                f"must not contain {', '.join(COGNITO_WORDS)}, because Cognito rejects such a domain",
            ),
            (
                "log_retention_days",
                self.log_retention_days in LOG_RETENTION_DAYS,
                f"must be one of {', '.join(map(str, LOG_RETENTION_DAYS))}",
            ),
            ("shards", 1 <= self.shards <= MAX_SHARDS, f"must be between 1 and {MAX_SHARDS}"),
            (
                "run_index_partitions",
                RUN_INDEX_PARTITIONS <= self.run_index_partitions <= MAX_RUN_INDEX_PARTITIONS,
                f"must be between {RUN_INDEX_PARTITIONS} and {MAX_RUN_INDEX_PARTITIONS}, and never less than before",
            ),
            ("lanes", tuple(self.lanes) == LANES, f"must be {', '.join(LANES)}"),
            ("default_precision", self.default_precision in {"second", "exact"}, "must be second or exact"),
            ("private_targets", self.private_targets in {"allow", "refuse"}, "must be allow or refuse"),
            ("secret_store", self.secret_store in SECRET_STORES, f"must be {' or '.join(SECRET_STORES)}"),
            (
                "lookahead_seconds",
                self.lookahead_seconds >= 120,
                "must be at least 120, because otherwise a late tick delays runs",
            ),
            (
                "horizon_seconds",
                self.lookahead_seconds <= self.horizon_seconds < MAX_DELAY_SECONDS,
                f"must be between lookahead_seconds and {MAX_DELAY_SECONDS - 1}",
            ),
            (
                "run_retention_days",
                self.run_retention_days > MESSAGE_RETENTION_DAYS,
                f"must be at least {MESSAGE_RETENTION_DAYS + 1}, since dead letters last {MESSAGE_RETENTION_DAYS} days",
            ),
            ("completed_job_retention_days", self.completed_job_retention_days >= 1, "must be at least 1"),
            (
                "max_receive_count",
                self.max_receive_count >= 3,
                "must be at least 3, because throttled deliveries are counted",
            ),
            ("deployment", self.deployment in DEPLOYMENTS, f"must be {' or '.join(DEPLOYMENTS)}"),
            ("reconcile_minutes", 1 <= self.reconcile_minutes <= 60, "must be between 1 and 60"),
            ("repair_hours", 1 <= self.repair_hours <= 168, "must be between 1 and 168"),
            ("audit_segments", 1 <= self.audit_segments <= 168, "must be between 1 and 168"),
            (
                "api.requests_per_second",
                self.runs_on_this_machine or self.api.requests_per_second >= 10 * self.limits.requests_per_second,
                "must be at least ten times limits.requests_per_second, because all tenants share it",
            ),
            (
                "docs_url",
                self.docs_url is None or DOCS_URL.fullmatch(self.docs_url) is not None,
                "must be an address such as https://example.com/duecourse/docs",
            ),
            (
                "ping_url",
                self.ping_url is None or PING_URL.fullmatch(self.ping_url) is not None,
                "must be an https address without spaces",
            ),
            (
                "operator_tenant",
                self.operator_tenant is None or TENANT.fullmatch(self.operator_tenant) is not None,
                "must be a tenant: 1 to 64 letters (A-Z, a-z), digits, - or _",
            ),
            (
                "oidc_keys",
                len(set(self.oidc_keys)) == len(self.oidc_keys) <= MAX_TOKEN_KEYS
                and all(KEY_NAME.fullmatch(name) for name in self.oidc_keys),
                f"must be at most {MAX_TOKEN_KEYS} different names of 1 to 32 lowercase letters, digits and -",
            ),
            (
                "alarm_email",
                self.alarm_email is None or EMAIL.fullmatch(self.alarm_email) is not None,
                "must be an e-mail address such as you@example.com",
            ),
        ]
        for name in ("tick", "dispatch", "api", "callbacks"):
            reserved = getattr(self.reserved_concurrency, name)
            least = MIN_MAX_CONCURRENCY if name == "dispatch" else 1
            fits = reserved is None or reserved >= least
            checks.append((f"reserved_concurrency.{name}", fits, f"must be null or at least {least}"))
        # It is also the number of shards that the queue's event source processes concurrently.
        fits = (self.reserved_concurrency.dispatch or 0) <= MAX_MAX_CONCURRENCY
        checks.append(("reserved_concurrency.dispatch", fits, f"must not be more than {MAX_MAX_CONCURRENCY}"))
        taken = self.most_concurrent
        fits = taken <= self.account_concurrency
        checks.append(
            (
                "account_concurrency",
                fits,
                f"must be at least {taken}, the sum of the lanes and the reserved concurrency, also of connectors",
            )
        )
        reserved = sum(self.reserved.values())
        with_rest = reserved + UNRESERVED_CONCURRENCY
        fits = not reserved or with_rest <= self.account_concurrency
        remedy = f"must be at least {with_rest}, because AWS keeps {UNRESERVED_CONCURRENCY} unreserved"
        checks.append(("account_concurrency", fits, remedy))
        found = [(name, problem) for name, fine, problem in checks if not fine]
        yield from found
        # The functions would not start with other values.
        for name in sorted(OF_FUNCTIONS - {name for name, _ in found}):
            if problem := problem_of(name, getattr(self, name)):
                yield name, problem
        for name, lane in self.lanes.items():
            yield from ((f"lanes.{name}.{field}", problem) for field, problem in lane.problems())
            if self.runs_on_this_machine and (lane.pollers is not None or lane.bulk_pollers is not None):
                yield (
                    f"lanes.{name}.pollers",
                    "must be null on the local stage, because the emulator has one poller per queue",
                )
        yield from self._prescale_problems()
        if self.deployment == "canary" and self.runs_on_this_machine:
            yield "deployment", "must be all_at_once on the local stage, because the emulator has no CodeDeploy"
        if self.api_domain is not None and self.runs_on_this_machine:
            yield "api_domain", "must be null on the local stage, because the emulator does not serve other domains"
        if problem := key_problem(self.encryption_key):
            yield "encryption_key", problem
        if self.standby is not None:
            if self.auth.kind == "cognito":
                yield "auth", "must be jwt or iam with standby, because a user pool is lost with its region"
            if self.connectors:
                yield "connectors", "must be empty with standby, because subnets belong to one region"
            if self.encryption_key == OWN:
                yield "encryption_key", "must be none or an ARN with standby: the replica needs a key before its stack"
        on_this_machine = self.runs_on_this_machine
        for part, problems in {
            "throughput": self.throughput.problems(on_this_machine=on_this_machine),
            "archive": self.archive.problems(),
            "alarms": self.alarms.problems(on_this_machine=on_this_machine),
            "auth": self.auth.problems(on_this_machine=on_this_machine),
            "limits": self.limits.problems(),
            "api": self.api.problems(),
            "api_domain": () if self.api_domain is None else self.api_domain.problems(),
            "allowed_targets": self.allowed_targets.problems(),
            "tasks": task_problems(self.tasks),
            "result_buckets": bucket_problems(self.result_buckets),
            "connectors": connector_problems(self.stack_name, self.connectors, on_this_machine=on_this_machine),
            "standby": () if self.standby is None else self.standby.problems(),
        }.items():
            yield from ((f"{part}.{field}", problem) for field, problem in problems)

    def _prescale_problems(self) -> Iterator[tuple[str, str]]:
        if self.prescale is None:
            return
        yield from ((f"prescale.{field}", problem) for field, problem in self.prescale.problems())
        if self.runs_on_this_machine:
            yield "prescale", "must be null on the local stage, because the emulator has one poller per queue"
        if self.standby is not None:
            yield "prescale", "must be null with standby, because warm throughput is charged in both regions"
        for name, lane in self.lanes.items():
            for part, pollers in (("pollers", lane.pollers), ("bulk_pollers", lane.bulk_pollers)):
                if pollers is not None:
                    yield f"lanes.{name}.{part}", "must be null with prescale, which sets the pollers of all queues"
