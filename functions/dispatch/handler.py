"""The Lambda handler of the dispatcher: it runs one dispatch round for each message of a shard."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any

import orjson
from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.limits import ROUND_MARGIN_SECONDS
from duecourse.settings import DispatchSettings
from duecourse.telemetry import function_logger, publish
from duecourse.usecases.report import Report
from duecourse.wiring import Wiring, made_at_start

logger = function_logger()
metrics = Metrics()
_stops = made_at_start(lambda: Wiring(DispatchSettings.from_env(os.environ)).stops)
_dispatch = made_at_start(lambda: Wiring(DispatchSettings.from_env(os.environ)).dispatch)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run the rounds and always succeed: a failed invocation would block the message group of the shard, and the next
    tick repeats the round anyway.
    """
    deadline = time.time() + context.get_remaining_time_in_millis() / 1000 - ROUND_MARGIN_SECONDS
    for record in event["Records"]:
        report = Report()
        try:
            if _stops()(partial(publish, logger=logger, metrics=metrics, function="dispatch"), raises=False):
                continue
            report = _dispatch()(orjson.loads(record["body"])["shard"], deadline, context.aws_request_id)
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
            logger.exception("round_failed", extra={"action": "round_failed", "body": record["body"], "error": error})
            report.counts["RoundsFailed"] += 1
        publish(report, logger, metrics, function="dispatch")
    return {}
