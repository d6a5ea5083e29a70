"""The hold on a received message."""

from __future__ import annotations

import logging
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

MAX_VISIBILITY_SECONDS = 43_200

_logger = logging.getLogger(__name__)


class SqsReceived:
    """Messages that this worker's invocation was given by one queue."""

    def __init__(self, client: Any, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def postpone(self, receipt: str, seconds: int) -> None:
        """Let the message become visible again after `seconds` (0 to 43,200).

        Best effort: where it fails (an old receipt, a message already gone, throttling), the message comes back after
        the queue's own visibility time, which is correct too, only later. The reason is logged.
        """
        try:
            self._client.change_message_visibility(
                QueueUrl=self._queue_url,
                ReceiptHandle=receipt,
                VisibilityTimeout=min(max(seconds, 0), MAX_VISIBILITY_SECONDS),
            )
        except (BotoCoreError, ClientError) as problem:
            facts = {"queue_url": self._queue_url, "seconds": seconds, "error": str(problem)}
            _logger.warning("message_not_postponed", extra={"action": "message_not_postponed", **facts})
