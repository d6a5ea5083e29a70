"""The CDK application: one stack, for the stage that the context names."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import App

from infra.config import StageConfig
from infra.stack import DuecourseStack


def build(*, outdir: str | None = None, context: Mapping[str, Any] | None = None) -> App:
    """The application, ready to be synthesised; the CDK command line brings folder and context by itself."""
    app = App(outdir=outdir, context=context, analytics_reporting=False)
    DuecourseStack(app, StageConfig.from_context(app.node.try_get_context))
    return app
