"""The Lambda handler of index repair and clean-up: EventBridge invokes it at a fixed rate, and it checks pages of the
jobs table.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.settings import RepairSettings
from duecourse.telemetry import function_logger, publish
from duecourse.wiring import Wiring, made_at_start

MARGIN_SECONDS = 60  # the longest time for one page, if every response is slow

logger = function_logger()
metrics = Metrics()
_stops = made_at_start(lambda: Wiring(RepairSettings.from_env(os.environ)).stops)
_index_repair = made_at_start(lambda: Wiring(RepairSettings.from_env(os.environ)).index_repair)
_ended = made_at_start(lambda: Wiring(RepairSettings.from_env(os.environ)).heartbeat)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run index repair for the time of the invocation. The next invocation continues unfinished work."""
    if _stops()(partial(publish, logger=logger, metrics=metrics, function="repair")):
        return {}
    deadline = time.time() + context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    publish(_index_repair()(deadline), logger, metrics, function="repair")
    _ended()("repair")
    return {}
