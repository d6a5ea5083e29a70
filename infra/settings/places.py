"""The settings that are not possible in the region and account of a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from infra.settings.config import ConfigError, StageConfig
from infra.settings.stores_config import foreign_key

CHINA = "cn-"
"""The prefix of the names of AWS regions in China."""


def missing_in_china(config: StageConfig) -> Iterator[str]:
    """Yield each setting that is not possible in China, with the remedy and the reason (Getting Started with Amazon Web
    Services in China, "Amazon Cognito" and "Amazon Lambda").
    """
    if config.auth.kind == "cognito":
        others = "-c issuer=... -c audience=..., or -c auth=iam"
        yield f"auth.kind must be jwt or iam, because Cognito has no user pools in China (set {others})"
    if config.tracing:
        yield "tracing must be false, because X-Ray does not trace functions in China"
    if config.loop_detection:
        yield "loop_detection must be false, because Lambda does not detect recursive loops in China"
    if config.prescale is not None:
        yield "prescale must be null, because there is no provisioned mode"
    for name, lane in config.lanes.items():
        for field in ("pollers", "bulk_pollers"):
            if getattr(lane, field) is not None:
                yield f"lanes.{name}.{field} must be null, because there is no provisioned mode"


def placed(config: StageConfig, region: str, account: str) -> StageConfig:
    """Return the configuration for a region and account (empty: not known). Raises ConfigError for a setting that is
    not possible there.
    """
    if config.standby is not None:
        config = replace(config, standby=replace(config.standby, here=region))
    if region.startswith(CHINA) and (missing := "; ".join(missing_in_china(config))):
        raise ConfigError(f"stage {config.stage!r} in {region}: {missing}")
    if problem := foreign_key(config.encryption_key, region):
        raise ConfigError(f"stage {config.stage!r} in {region}: encryption_key {problem}")
    domain = config.api_domain
    if domain is not None and (problem := domain.foreign(region, account)):
        raise ConfigError(f"stage {config.stage!r}: api_domain.certificate {problem}")
    return config
