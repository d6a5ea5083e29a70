"""The CDK application: one stack, for the stage that the context names."""

import os
from collections.abc import Mapping
from typing import Any

from aws_cdk import App

from infra import nag
from infra.config import ConfigError, StageConfig
from infra.stack import DuecourseStack
from infra.stages import from_context

EMULATED_ACCOUNT = "000000000000"
"""What emulators call their account; AWS gives it to nobody."""


def build(
    *,
    outdir: str | None = None,
    context: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    checked: bool = False,
) -> App:
    """The application, ready to be synthesised; the CDK command line brings folder, context and account by itself.

    `checked` stages for AWS are held against cdk-nag's rules when they are synthesised, which then ends with a
    RuntimeError and the findings on stderr. Raises ConfigError, also for an API that asks nobody and is about to be
    deployed to AWS.
    """
    app = App(outdir=outdir, context=context, analytics_reporting=False)
    config = from_context(app.node.try_get_context)
    _refuse_open(config, environ.get("CDK_DEFAULT_ACCOUNT"))
    DuecourseStack(app, config)
    if checked and not config.runs_on_this_machine:
        nag.check(app)
    return app


def _refuse_open(config: StageConfig, account: str | None) -> None:
    """`account` is the one of the credentials that the CDK would deploy with; None where there are none."""
    if config.auth.kind == "none" and account not in (None, "", EMULATED_ACCOUNT):
        raise ConfigError(
            f"stage {config.stage!r}: auth.kind none is for the emulator on this machine: in account {account} anybody"
            " could run jobs; deploy another stage, such as -c stage=dev"
        )
