"""The routes of the HTTP API that a run's token opens: heartbeat, complete, fail."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.callback_app import CallbackApplication
from duecourse.bootstrap.callbacks import callbacks
from duecourse.telemetry import function_logger

logger = function_logger()


@lru_cache(maxsize=1)
def application() -> CallbackApplication:
    """Made at the first invocation; settings that do not fit are named there."""
    return CallbackApplication(callbacks(os.environ), logger)


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Event in, answer out."""
    return application()(event, context)
