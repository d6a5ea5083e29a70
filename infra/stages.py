"""The stages, and the stage in a deployment's context."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from infra.settings.alarms_config import AlarmsConfig
from infra.settings.auth_config import ApiConfig, AuthConfig, LimitsConfig
from infra.settings.changes import CHANGEABLE, changed
from infra.settings.config import ConfigError, ReservedConcurrency, StageConfig
from infra.settings.lanes_config import lanes
from infra.settings.targets_config import AllowedTargetsConfig

_on_aws = partial(
    StageConfig,
    auth=AuthConfig(kind="cognito"),
    refuse_plain_http=True,
    default_precision="second",
    private_targets="refuse",
    tracing=True,
)

STAGES: Mapping[str, StageConfig] = {
    "local": StageConfig(
        stage="local",
        shards=2,  # the emulator runs one batch of a FIFO queue at a time
        lanes=lanes(high=4, normal=4, low=2, long=2),
        auth=AuthConfig(kind="none"),
        limits=LimitsConfig(
            job_quota=100_000,
            requests_per_second=1_000,
            burst=2_000,
            smallest_interval_seconds=1,
            backfill_limit=10_000,
            delayed_runs_per_hour=1_000_000,
        ),
        api=ApiConfig(
            requests_per_second=1_000,
            burst=2_000,
            access_logs=False,
            open_requests_per_second=1_000,
            open_burst=2_000,
            callback_requests_per_second=1_000,
            callback_burst=2_000,
            log_requests_per_second=1_000,
            log_burst=2_000,
            hook_requests_per_second=1_000,
            hook_burst=2_000,
            well_known_requests_per_second=1_000,
            well_known_burst=2_000,
            console_requests_per_second=1_000,
            console_burst=2_000,
        ),
        refuse_plain_http=False,  # the emulator supports only HTTP, on the loopback interface
        retain_data=False,
        default_precision="exact",  # the emulator delivers delayed messages up to a second late
        private_targets="allow",  # receivers on this machine
        log_retention_days=7,
        allowed_targets=AllowedTargetsConfig(actions=("dynamodb:PutItem", "s3:PutObject", "sqs:SendMessage")),
        oidc_keys=("local",),
        connectors={"office": {"tenants": ["*"], "hosts": ["*"], "cidrs": ["127.0.0.0/8", "::1/128"]}},
        result_buckets={"duecourse-target-results": {"prefixes": {"*": "{tenant}/"}}},
        runs_on_this_machine=True,
        bucket_access_logs=False,  # the emulator writes none
        alarms=AlarmsConfig(metric_math=False),
        max_receive_count=5,  # nothing is throttled on this machine, and dead letters arrive sooner
    ),
    "dev": _on_aws(
        stage="dev",
        shards=4,
        lanes=lanes(high=10, normal=10, low=5, long=5),
        limits=LimitsConfig(
            job_quota=1_000,
            requests_per_second=20,
            burst=40,
            smallest_interval_seconds=1,
            backfill_limit=1_000,
            delayed_runs_per_hour=1_000,
        ),
        api=ApiConfig(requests_per_second=500, burst=1_000, access_logs=True),
        retain_data=False,
        log_retention_days=14,
    ),
    "prod": _on_aws(
        stage="prod",
        shards=16,
        lanes=lanes(high=100, normal=100, low=20, long=50),
        limits=LimitsConfig(
            job_quota=10_000,
            requests_per_second=50,
            burst=100,
            smallest_interval_seconds=1,
            backfill_limit=1_000,
            delayed_runs_per_hour=10_000,
        ),
        api=ApiConfig(requests_per_second=2_000, burst=4_000, access_logs=True),
        retain_data=True,
        log_retention_days=90,
        reserved_concurrency=ReservedConcurrency(tick=2, dispatch=16, api=50, callbacks=25),
        deployment="canary",
        audit_segments=6,  # finds lost occurrences within nine hours, at a sixth of the cost of an hourly audit
    ),
}


LIKE = ("dev", "prod")
"""The stages that a stage of another name can be like."""


def stage_named(name: str, like: str | None = None) -> StageConfig:
    """Return the configuration of a known stage, or of a stage of another name that is `like` a known one in everything
    else. Raises ConfigError.
    """
    if name in STAGES:
        if like is not None:
            raise ConfigError(f"stage {name!r} has its own defaults; remove like, or use another name for the stage")
        return STAGES[name]
    if like is None:
        raise ConfigError(
            f"stage must be one of {', '.join(STAGES)}, not {name!r}; for a stage of another name, write "
            f'{{"like": "prod"}} to settings/{name}.json'
        )
    if like not in LIKE:
        raise ConfigError(f"like must be {' or '.join(LIKE)}, not {like!r}")
    return replace(STAGES[like], stage=name)


def from_context(context: Callable[[str], Any]) -> StageConfig:
    """Return the stage in the CDK context, with the deployment's settings from `-c` or from a file
    (infra/settings/deployment_settings.py lists all of them). Raises ConfigError.

    `like` is the stage whose defaults a stage of another name has. `alarm_email` subscribes an address to the alarms.
    `docs_url` is the address of this release's docs/, for the links from alarms to their runbooks. `ping_url` is the
    address of an external monitor. `operator_tenant` is the tenant
    whose callers may read the figures of all tenants. `reserved_concurrency=none` reserves nothing; new accounts with a
    concurrency of 10 have nothing to reserve. `issuer` and `audience` (several separated by commas) replace the stage's
    own authorization with tokens of that issuer, and `auth=iam` replaces it with signatures. `tenant_claim` is the
    claim with the tenant, `console_client` the public client for logins to the console at such an issuer, and
    `console_scope` the scopes that it requests. `encryption_key` is `own`, `none` or the ARN of a KMS key.
    `deployment=all_at_once` deploys new code without a canary. `deletion_protection=off` allows the deletion of the
    stage, and the rollback of its creation; it applies to one deployment and cannot be stored in the file. The settings
    of `CHANGEABLE` are JSON.
    """
    config = stage_named(str(context("stage")), context("like"))
    given = {name: value for name in CHANGEABLE if (value := context(name)) is not None}
    if given.get("reserved_concurrency") == "none":
        del given["reserved_concurrency"]
        config = replace(config, reserved_concurrency=ReservedConcurrency())
    faults = list[str]()
    changes: tuple[Callable[[StageConfig], StageConfig], ...] = (
        lambda before: replace(before, **_own(context, before)),
        lambda before: changed(before, given),
    )
    for change in changes:
        try:
            config = change(config)
        except ConfigError as error:
            faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(faults))
    return config


def _own(context: Callable[[str], Any], config: StageConfig) -> dict[str, Any]:
    """Return the fields of the stage with a setting of their own. Raises ConfigError."""
    found: dict[str, Any] = {"auth": _auth_from_context(context, config.auth)}
    texts = ("alarm_email", "ping_url", "operator_tenant", "deployment")
    found |= {name: str(text) for name in texts if (text := context(name))}
    if url := context("docs_url"):
        found["docs_url"] = str(url).rstrip("/")
    if key := context("encryption_key"):
        found["encryption_key"] = None if key == "none" else str(key)
    protection = context("deletion_protection")
    if protection is not None:
        if protection != "off":
            raise ConfigError(f"deletion_protection can only be set to 'off', not {protection!r}; it is on by default")
        found["deletion_protection"] = False
    return found


def _auth_from_context(context: Callable[[str], Any], stages_own: AuthConfig) -> AuthConfig:
    """Return the authorization from the context. An incomplete issuer is rejected by the stage's validation, not
    ignored.
    """
    issuer, audience, kind, claim = (context(name) for name in ("issuer", "audience", "auth", "tenant_claim"))
    auth = stages_own
    if issuer is not None or audience is not None:
        if kind not in (None, "jwt"):
            raise ConfigError(f"issuer and audience are for auth=jwt, not auth={kind}; remove them, or use auth=jwt")
        kind = "jwt"
    if kind is not None:
        whom = tuple(part.strip() for part in str(audience or "").split(",") if part.strip())
        auth = AuthConfig(kind=str(kind), issuer=str(issuer) if issuer else None, audience=whom)
    if (client := context("console_client")) is not None:
        auth = replace(auth, console_client=str(client))
    if (scope := context("console_scope")) is not None:
        auth = replace(auth, console_scope=str(scope))
    return auth if claim is None else replace(auth, claim=str(claim))
