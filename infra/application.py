"""The CDK application: one stack, for the stage in the context."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aws_cdk import App

from infra import nag
from infra.settings.config import ConfigError, StageConfig
from infra.settings.deployment_settings import with_deployment_settings
from infra.settings.places import placed
from infra.stack import DuecourseStack
from infra.stages import STAGES, from_context
from scripts.generated import refresh

EMULATED_ACCOUNT = "000000000000"
"""The account id of emulators. AWS does not assign it."""


def build(
    *,
    outdir: str | None = None,
    context: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    checked: bool = False,
    settings: Path | None = None,
) -> App:
    """Return the application, ready to be synthesised. The CDK command line sets the folder, the context and the
    account itself.

    `settings` is the folder of deployment settings (settings/deployment_settings.py), or None without such a folder. A
    `checked` application is validated with CloudFormation's rules when it is synthesised; stages for AWS are also
    validated with cdk-nag's rules. A finding raises a RuntimeError and is written to stderr. Raises ConfigError for
    invalid settings, for the deployment of an API without authorization to AWS, and for a region that does not support
    a setting of the stage, and GenerationError.
    """
    refresh()  # the layer and the console contain generated files
    # The rules take seconds to load, which is not acceptable for callers that only read the template.
    app = App(outdir=outdir, context=context, analytics_reporting=False, builtin_cloud_formation_validation=checked)
    context_of = app.node.try_get_context
    config = from_context(context_of if settings is None else with_deployment_settings(context_of, settings, STAGES))
    _refuse_open(config, environ.get("CDK_DEFAULT_ACCOUNT"))
    config = placed(config, environ.get("CDK_DEFAULT_REGION", ""), environ.get("CDK_DEFAULT_ACCOUNT", ""))
    DuecourseStack(app, config)
    if checked and not config.runs_on_this_machine:
        nag.check(app)
    return app


def _refuse_open(config: StageConfig, account: str | None) -> None:
    """Raise ConfigError if an API without authorization would be deployed to AWS. `account` is the account of the CDK's
    credentials; None without credentials.
    """
    if config.auth.kind == "none" and account not in (None, "", EMULATED_ACCOUNT):
        raise ConfigError(
            f"stage {config.stage!r} has auth.kind none, so every caller could run jobs in account {account}; "
            "deploy another stage, such as -c stage=dev"
        )
