"""The stages, and the one that a deployment's context names."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from infra.config import ApiConfig, ConfigError, ReservedConcurrency, StageConfig
from infra.lanes_config import lanes
from infra.targets_config import AllowedTargetsConfig

STAGES: Mapping[str, StageConfig] = {
    "local": StageConfig(
        stage="local",
        shards=2,  # the emulator runs one batch of a FIFO queue at a time
        lanes=lanes(high=4, normal=4, low=2, long=2),
        api=ApiConfig(iam_auth=False, requests_per_second=1_000, burst=2_000, access_logs=False),
        refuse_plain_http=False,  # the emulator speaks nothing else, on the loopback interface only
        retain_data=False,
        default_precision="exact",  # the emulator delivers delayed messages up to a second late
        private_targets="allow",  # receivers on this machine
        log_retention_days=7,
        allowed_targets=AllowedTargetsConfig(actions=("dynamodb:PutItem", "s3:PutObject", "sqs:SendMessage")),
        runs_on_this_machine=True,
    ),
    "dev": StageConfig(
        stage="dev",
        shards=4,
        lanes=lanes(high=10, normal=10, low=5, long=5),
        api=ApiConfig(iam_auth=True, requests_per_second=50, burst=100, access_logs=True),
        refuse_plain_http=True,
        retain_data=False,
        default_precision="second",
        private_targets="refuse",
        log_retention_days=14,
    ),
    "prod": StageConfig(
        stage="prod",
        shards=16,
        lanes=lanes(high=100, normal=100, low=20, long=50),
        api=ApiConfig(iam_auth=True, requests_per_second=200, burst=400, access_logs=True),
        refuse_plain_http=True,
        retain_data=True,
        default_precision="second",
        private_targets="refuse",
        log_retention_days=90,
        reserved_concurrency=ReservedConcurrency(tick=2, dispatch=16, api=50),
    ),
}


def stage_named(name: str) -> StageConfig:
    """The configuration of a known stage. Raises ConfigError."""
    if name not in STAGES:
        raise ConfigError(f"stage must be one of {', '.join(STAGES)}, not {name!r}: cdk synth -c stage=prod")
    return STAGES[name]


def from_context(context: Callable[[str], Any]) -> StageConfig:
    """The stage that the CDK context names, with what a deployment may set by itself. Raises ConfigError.

    `alarm_email` subscribes an address to the alarms; `reserved_concurrency=none` reserves nothing, for young
    accounts whose concurrency of 10 leaves nothing to reserve.
    """
    config = stage_named(str(context("stage")))
    if email := context("alarm_email"):
        config = replace(config, alarm_email=str(email))
    reserved = context("reserved_concurrency")
    if reserved is not None:
        if reserved != "none":
            raise ConfigError(f"reserved_concurrency can only be set to 'none', not {reserved!r}: see infra/stages.py")
        config = replace(config, reserved_concurrency=ReservedConcurrency())
    return config
