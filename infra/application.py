"""The CDK application: one stack, for the stage that the context names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aws_cdk import App

from infra import nag
from infra.settings.config import ConfigError, StageConfig
from infra.settings.deployment_settings import with_deployment_settings
from infra.stack import DuecourseStack
from infra.stages import STAGES, from_context

CHINA = "cn-"
"""With which the names of these regions begin."""

EMULATED_ACCOUNT = "000000000000"
"""The account id of emulators; AWS does not assign it."""


def missing_in_china(config: StageConfig) -> Iterator[str]:
    """Each setting that cannot be, what would be right, and why (Getting Started with Amazon Web Services in China,
    "Amazon Cognito" and "Amazon Lambda").
    """
    if config.auth.kind == "cognito":
        others = "-c issuer=... -c audience=..., or -c auth=iam"
        yield f"auth.kind must be jwt or iam, because Cognito has no user pools there: {others}"
    if config.tracing:
        yield "tracing must be False, because X-Ray does not trace functions"
    if config.loop_detection:
        yield "loop_detection must be False, because Lambda has none"
    if config.alarms.metric_math:
        yield (
            "alarms.metric_math must be False, because event sources have no metrics and archive-silent would "
            "always be active"
        )
    for name, lane in config.lanes.items():
        for field in ("pollers", "bulk_pollers"):
            if getattr(lane, field) is not None:
                yield f"lanes.{name}.{field} must be None, because there is no provisioned mode"


def build(
    *,
    outdir: str | None = None,
    context: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    checked: bool = False,
    settings: Path | None = None,
) -> App:
    """The application, ready to be synthesised; the CDK command line brings folder, context and account by itself.

    `settings` is the folder of deployments' own settings (settings/deployment_settings.py); None: there is none. A
    `checked` application is held against CloudFormation's own rules when it is synthesised, and stages for AWS against
    cdk-nag's, too; a finding raises a RuntimeError and is written to stderr. Raises ConfigError, also for an API
    without authorization that is about to be deployed to AWS, and for a region that does not have what the stage asks
    for.
    """
    # The rules take seconds to load, which those who only read the template do not want to wait for.
    app = App(outdir=outdir, context=context, analytics_reporting=False, builtin_cloud_formation_validation=checked)
    context_of = app.node.try_get_context
    config = from_context(context_of if settings is None else with_deployment_settings(context_of, settings, STAGES))
    _refuse_open(config, environ.get("CDK_DEFAULT_ACCOUNT"))
    region = environ.get("CDK_DEFAULT_REGION", "")
    if region.startswith(CHINA) and (missing := "; ".join(missing_in_china(config))):
        raise ConfigError(f"stage {config.stage!r} in {region}: {missing}")
    DuecourseStack(app, config)
    if checked and not config.runs_on_this_machine:
        nag.check(app)
    return app


def _refuse_open(config: StageConfig, account: str | None) -> None:
    """`account` is the one of the credentials that the CDK would deploy with; None where there are none."""
    if config.auth.kind == "none" and account not in (None, "", EMULATED_ACCOUNT):
        raise ConfigError(
            f"stage {config.stage!r}: auth.kind none is for the emulator on this machine: in account {account} every "
            "caller could run jobs; deploy another stage, such as -c stage=dev"
        )
