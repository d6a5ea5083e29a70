"""What the regions of China do not offer of what a stage may ask for. Nothing of it has been tried there."""

from __future__ import annotations

from collections.abc import Iterator

from infra.settings.config import StageConfig

PREFIX = "cn-"
"""With which the names of these regions begin."""


def missing_in_china(config: StageConfig) -> Iterator[str]:
    """Each setting that cannot be, what would be right, and why (Getting Started with Amazon Web Services in China,
    "Amazon Cognito" and "Amazon Lambda").
    """
    if config.auth.kind == "cognito":
        others = "-c issuer=... -c audience=..., or -c auth=iam"
        yield f"auth.kind must be jwt or iam, as Cognito has no user pools there: {others}"
    if config.tracing:
        yield "tracing must be False, as X-Ray does not follow functions"
    if config.loop_detection:
        yield "loop_detection must be False, as Lambda has none"
    if config.alarms.metric_math:
        yield "alarms.metric_math must be False, as event sources have no metrics: archive-silent would ring for ever"
    for name, lane in config.lanes.items():
        for field in ("pollers", "bulk_pollers"):
            if getattr(lane, field) is not None:
                yield f"lanes.{name}.{field} must be None, as there is no provisioned mode"
