"""The dead-letter reconciler: EventBridge's rate in, the dead-letter queue looked through."""

from __future__ import annotations

import os
import time
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.settings import ReconcilerSettings
from duecourse.telemetry import function_logger, publish
from duecourse.wiring import Wiring, made_at_start

MARGIN_SECONDS = 20  # what a call keeps of its invocation to give back the messages that it holds

logger = function_logger()
metrics = Metrics()
_reconciler = made_at_start(lambda: Wiring(ReconcilerSettings.from_env(os.environ)).reconcile)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """What it does not get to is still there at the next one."""
    deadline = time.time() + context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    publish(_reconciler()(deadline), logger, metrics, function="reconcile")
    return {}
