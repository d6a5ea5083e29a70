"""The queues of the lanes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from duecourse.adapters.sqs.batch import Entry, batches, send_batch
from duecourse.adapters.tracing import trace_header
from duecourse.domain.job import Lane
from duecourse.ports import Alone, Crew, Outgoing

_logger = logging.getLogger(__name__)

SAMPLED = "Sampled=1"
"""What a trace header says of a trace that is recorded (AWS X-Ray Developer Guide, "Tracing header")."""


class SqsLanes:
    """Standard queues. The tenant is the message group: SQS then delivers quiet tenants before noisy ones (fair queues)
    and still in parallel; it orders nothing.
    """

    def __init__(
        self,
        client: Any,
        queue_urls: Mapping[Lane, str],
        *,
        hurried: bool = False,
        crew: Crew | None = None,
        trace: Callable[[], str | None] = trace_header,
    ) -> None:
        """`queue_urls` holds the lanes that this process may send to: all of them, or a worker's own. `hurried`: after
        a batch of which nothing was accepted the others are not tried, since somebody waits for the answer. Without
        hurry a `crew` sends batches side by side. `trace` says which trace the messages belong to.
        """
        self._trace = trace
        self._crew = crew or Alone()
        self._client = client
        self._queue_urls = queue_urls
        self._hurried = hurried

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """Send each to its lane; which were accepted, in order. Reasons of those that were not are in the log."""
        by_lane: dict[Lane, list[tuple[int, Entry]]] = {}
        traced = _traced(self._trace())
        for number, item in enumerate(outgoing):
            by_lane.setdefault(item.message.lane, []).append((number, _entry(item) | traced))
        accepted = self._sent(by_lane)
        return [number in accepted for number in range(len(outgoing))]

    def _sent(self, by_lane: Mapping[Lane, Sequence[tuple[int, Entry]]]) -> set[int]:
        accepted: set[int] = set()
        for lane, entries in by_lane.items():
            queue_url = self._queue_urls.get(lane)
            if queue_url is None:
                facts = {"action": "lane_without_queue", "lane": lane, "messages": len(entries)}
                _logger.error("lane_without_queue", extra=facts)
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


def _traced(header: str | None) -> Entry:
    """What ties messages to their trace: a system attribute, which costs no message attribute and does not count
    towards a message's size (Amazon SQS Developer Guide, "Message system attributes"). Traces that are not recorded
    need none: it costs 6 µs a message.
    """
    if header is None or SAMPLED not in header:
        return {}
    return {"MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": header}}}


def _entry(item: Outgoing) -> Entry:
    return {
        "MessageBody": item.message.to_json(),
        "DelaySeconds": item.delay_seconds,
        "MessageGroupId": item.message.tenant,
    }
