"""The HTTP API."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.app import Application
from duecourse.bootstrap.api import api
from duecourse.telemetry import function_logger

logger = function_logger()


@lru_cache(maxsize=1)
def application() -> Application:
    """Made at the first invocation; settings that do not fit are named there."""
    return Application(api(os.environ), logger)


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Event in, answer out."""
    return application()(event, context)
