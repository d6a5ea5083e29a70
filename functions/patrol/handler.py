"""The patrol: EventBridge's rate in, everything that stands in the jobs table looked at, and what is over removed."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.bootstrap.clean_up import clean_up
from duecourse.bootstrap.patrol import patrol
from duecourse.telemetry import function_logger, publish
from duecourse.usecases.clean_up import CleanUp
from duecourse.usecases.patrol import Patrol

MARGIN_SECONDS = 60  # what one page may take, with every answer slow
CLEAN_UP_SECONDS = 120  # of an invocation, at most: the patrol comes first in importance, and last in turn

logger = function_logger()
metrics = Metrics()


@cache
def _patrol() -> Patrol:
    return patrol(os.environ)


@cache
def _clean_up() -> CleanUp:
    return clean_up(os.environ)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """What it does not get to, the next invocation goes on with."""
    deadline = time.time() + context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    publish(_clean_up()(min(deadline, time.time() + CLEAN_UP_SECONDS)), logger, metrics, function="patrol")
    publish(_patrol()(deadline), logger, metrics, function="patrol")
    return {}
