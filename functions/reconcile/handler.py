"""The Lambda handler of the dead-letter reconciler: EventBridge invokes it at a fixed rate, and it reads the
dead-letter queue.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.settings import ReconcilerSettings
from duecourse.telemetry import function_logger, publish
from duecourse.wiring import Wiring, made_at_start

MARGIN_SECONDS = 20  # the time reserved to return received messages to the queue

logger = function_logger()
metrics = Metrics()
_stops = made_at_start(lambda: Wiring(ReconcilerSettings.from_env(os.environ)).stops)
_reconciler = made_at_start(lambda: Wiring(ReconcilerSettings.from_env(os.environ)).reconcile)
_ended = made_at_start(lambda: Wiring(ReconcilerSettings.from_env(os.environ)).heartbeat)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Reconcile dead letters for the time of the invocation. The next invocation receives the remaining messages."""
    if _stops()(partial(publish, logger=logger, metrics=metrics, function="reconcile")):
        return {}
    deadline = time.time() + context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    publish(_reconciler()(deadline), logger, metrics, function="reconcile")
    _ended()("reconcile")
    return {}
