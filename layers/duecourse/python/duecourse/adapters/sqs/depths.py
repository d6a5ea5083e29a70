"""The number of messages in the lanes, as counted by SQS."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from duecourse.domain.jobs.job import Lane
from duecourse.ports import AwsError, Clock, Depth, ServiceError

_logger = logging.getLogger(__name__)

FRESH_SECONDS = 10
"""How long a count is reused. The counts of SQS are themselves up to a minute old."""

_NAMES = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class SqsDepths:
    """Implementation of ports.Depths. A queue that cannot be read is logged and has no depth: no request fails because
    of a count.
    """

    def __init__(
        self,
        client: Any,
        queue_urls: Mapping[Lane, str],
        clock: Clock,
        *,
        bulk_urls: Mapping[Lane, str] | None = None,
    ) -> None:
        """The depth of a lane includes its queue (`queue_urls`) and its bulk queue (`bulk_urls`)."""
        self._client = client
        self._queue_urls = [queue_urls] if bulk_urls is None else [queue_urls, bulk_urls]
        self._clock = clock
        self._known: dict[Lane, tuple[float, Depth | None]] = {}
        self._silent_at: float | None = None
        """The time at which SQS did not respond. For a while the other lanes are not requested either, so that a caller
        does not wait for each of them.
        """

    def depth(self, lane: Lane) -> Depth | None:
        now = self._clock.now()
        known = self._known.get(lane)
        if known is not None and 0 <= now - known[0] < FRESH_SECONDS:
            return known[1]
        if self._silent_at is not None and 0 <= now - self._silent_at < FRESH_SECONDS:
            return None
        counted = self._count(lane, now)
        self._known[lane] = (now, counted)
        return counted

    def _count(self, lane: Lane, now: float) -> Depth | None:
        try:
            answers = [
                self._client.get_queue_attributes(QueueUrl=urls[lane], AttributeNames=list(_NAMES))
                for urls in self._queue_urls
            ]
        except AwsError as problem:
            facts = {"action": "lane_not_counted", "lane": lane, "error": str(problem)}
            _logger.warning("lane_not_counted", extra=facts)
            self._silent_at = now if not isinstance(problem, ServiceError) else None
            return None
        counts = [answer.get("Attributes", {}) for answer in answers]
        return Depth(*(sum(int(each.get(name, 0)) for each in counts) for name in _NAMES))


class SqsQueueDepths:
    """Implementation of ports.QueueDepths."""

    def __init__(self, client: Any, queue_urls: Mapping[str, str]) -> None:
        """`queue_urls` has the URL of each queue by its name."""
        self._client = client
        self._queue_urls = queue_urls

    def depth_of(self, queue: str) -> Depth:
        answer = self._client.get_queue_attributes(QueueUrl=self._queue_urls[queue], AttributeNames=list(_NAMES))
        counts = answer.get("Attributes", {})
        return Depth(*(int(counts.get(name, 0)) for name in _NAMES))
