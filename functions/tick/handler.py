"""The Lambda handler of the tick: EventBridge invokes it once a minute, and it wakes the shards that have due work."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.settings import TickSettings
from duecourse.telemetry import function_logger, publish
from duecourse.wiring import Wiring, made_at_start

logger = function_logger()
metrics = Metrics()
_stops = made_at_start(lambda: Wiring(TickSettings.from_env(os.environ)).stops)
_tick = made_at_start(lambda: Wiring(TickSettings.from_env(os.environ)).tick)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Send the messages of a tick. A rejected message fails the invocation, so that it is visible as an error. The tick
    of the next minute compensates for it.
    """
    if _stops()(partial(publish, logger=logger, metrics=metrics, function="tick")):
        return {}
    report = _tick()()
    publish(report, logger, metrics, function="tick")
    if report.counts["TicksRefused"]:
        raise RuntimeError(f"{report.counts['TicksRefused']} ticks could not be sent")
    return {}
