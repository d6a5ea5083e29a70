"""The CDK application: one stack, for the stage that the context names."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import App

from infra.stack import DuecourseStack
from infra.stages import from_context


def build(*, outdir: str | None = None, context: Mapping[str, Any] | None = None) -> App:
    """The application, ready to be synthesised; the CDK command line brings folder and context by itself."""
    app = App(outdir=outdir, context=context, analytics_reporting=False)
    DuecourseStack(app, from_context(app.node.try_get_context))
    return app
