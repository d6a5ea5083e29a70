"""The queues of the lanes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from duecourse.adapters.sqs.batch import Entry, batches, send_batch
from duecourse.domain.job import Lane
from duecourse.ports import Alone, Crew, Outgoing

_logger = logging.getLogger(__name__)


class SqsLanes:
    """Standard queues. The tenant is the message group: SQS then delivers quiet tenants before noisy ones (fair queues)
    and still in parallel; it orders nothing.
    """

    def __init__(
        self, client: Any, queue_urls: Mapping[Lane, str], *, hurried: bool = False, crew: Crew | None = None
    ) -> None:
        """`queue_urls` holds the lanes that this process may send to: all of them, or a worker's own. `hurried`: after
        a batch of which nothing was accepted the others are not tried, since somebody waits for the answer. Without
        hurry a `crew` sends batches side by side.
        """
        self._crew = crew or Alone()
        self._client = client
        self._queue_urls = queue_urls
        self._hurried = hurried

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """Send each to its lane; which were accepted, in order. Reasons of those that were not are in the log."""
        by_lane: dict[Lane, list[tuple[int, Entry]]] = {}
        for number, item in enumerate(outgoing):
            by_lane.setdefault(item.message.lane, []).append((number, _entry(item)))
        accepted = self._sent(by_lane)
        return [number in accepted for number in range(len(outgoing))]

    def _sent(self, by_lane: Mapping[Lane, Sequence[tuple[int, Entry]]]) -> set[int]:
        accepted: set[int] = set()
        for lane, entries in by_lane.items():
            queue_url = self._queue_urls.get(lane)
            if queue_url is None:
                _logger.error(
                    "this function knows no queue of the lane", extra={"lane": lane, "messages": len(entries)}
                )
                continue
            if not self._hurried:
                send = partial(send_batch, self._client, queue_url)
                accepted = accepted.union(*self._crew.map(send, list(batches(entries))))
                continue
            for batch in batches(entries):
                taken = send_batch(self._client, queue_url, batch)
                if not taken:
                    return accepted
                accepted |= taken
        return accepted


def _entry(item: Outgoing) -> Entry:
    return {
        "MessageBody": item.message.to_json(),
        "DelaySeconds": item.delay_seconds,
        "MessageGroupId": item.message.tenant,
    }
