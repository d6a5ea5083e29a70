"""The Lambda handler of the completeness audit: EventBridge invokes it at a fixed rate, and it compares a closed window
with the records. Workers invoke it with requests for reports about tagged jobs.
"""

from __future__ import annotations

import os
import time
from functools import cache, partial
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.settings import AuditSettings
from duecourse.telemetry import function_logger, publish
from duecourse.usecases.report import Report
from duecourse.wiring import Wiring, made_at_start

MARGIN_SECONDS = 60  # the longest time for one page, if every response is slow

logger = function_logger()
metrics = Metrics()
_stops = made_at_start(lambda: Wiring(AuditSettings.from_env(os.environ)).stops)
_audit = made_at_start(lambda: Wiring(AuditSettings.from_env(os.environ)).audit)
_ended = made_at_start(lambda: Wiring(AuditSettings.from_env(os.environ)).heartbeat)
_reports = cache(lambda: Wiring(AuditSettings.from_env(os.environ)).reports)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run the audit for the time of the invocation. The next invocation continues unfinished work. An event with a
    `report` is the request for a report, and the response is that report.
    """
    published = partial(publish, logger=logger, metrics=metrics, function="audit")
    if _stops()(published):
        return {}
    deadline = time.time() + context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    if "report" in event:
        report = Report()
        answer = _reports()(event["report"], deadline, report)
        published(report)
        return answer
    published(_audit()(deadline, published))
    _ended()("audit")
    return {}
