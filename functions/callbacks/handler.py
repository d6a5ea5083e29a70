"""The Lambda handler of the HTTP API routes that accept a run's token: heartbeat, log, complete, fail."""

from __future__ import annotations

import os
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.callback_app import CallbackApplication
from duecourse.settings import CallbackSettings
from duecourse.telemetry import function_logger
from duecourse.wiring import Wiring, made_at_start

logger = function_logger()
application = made_at_start(
    lambda: CallbackApplication(Wiring(CallbackSettings.from_env(os.environ)).callback_parts, logger)
)


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Return the response to a request of API Gateway."""
    return application()(event, context)
