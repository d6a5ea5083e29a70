"""The Lambda handler of a worker: it processes a batch of a lane's messages and returns the ids of those that stay in
the queue.
"""

from __future__ import annotations

import os
import time
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.settings import ExecuteSettings
from duecourse.telemetry import function_logger, publish
from duecourse.usecases.worker.work_item import ReceivedMessage
from duecourse.wiring import Wiring, made_at_start

logger = function_logger()
metrics = Metrics()
_workers = made_at_start(lambda: Wiring(ExecuteSettings.from_env(os.environ)).workers)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Process a batch of messages. The response lists the messages that stay in the queue, and the
    others are deleted.
    """
    deadline = time.time() + context.get_remaining_time_in_millis() / 1000
    received = [_received(record, context) for record in event["Records"]]
    workers, queue = _workers(), event["Records"][0]["eventSourceARN"].rpartition(":")[2]  # of the whole batch
    batch = workers.get(queue, workers[os.environ["DUECOURSE_QUEUE_URL"].rpartition("/")[2]])(received, deadline)
    publish(batch.report, logger, metrics, function="execute", lane=os.environ["DUECOURSE_LANE"])
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in batch.retained]}


def _received(record: dict[str, Any], context: LambdaContext) -> ReceivedMessage:
    return ReceivedMessage(
        message_id=record["messageId"],
        receipt=record["receiptHandle"],
        receive_count=int(record["attributes"]["ApproximateReceiveCount"]),
        request_id=context.aws_request_id,
        body=record["body"],
        sent_at=int(record["attributes"]["SentTimestamp"]) / 1000,
    )
