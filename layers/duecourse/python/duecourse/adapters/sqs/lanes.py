"""The queues of the lanes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from duecourse.adapters.aws.tracing import for_messages, trace_header
from duecourse.adapters.sqs.batch import Entry, batches, send_batch
from duecourse.domain.jobs.job import Lane
from duecourse.ports import Clock, Executor, InlineExecutor, Outgoing, Randomness

_logger = logging.getLogger(__name__)


TRIES = 3
"""Of a batch, as far as it was not accepted for a reason that passes."""

FIRST_WAIT_SECONDS = 0.2
"""Before the second try at most; twice as long before the third."""

Batch = Sequence[tuple[int, Entry]]


class SqsLanes:
    """Standard queues. The tenant is the message group: SQS then delivers quiet tenants before noisy ones (fair queues)
    and still in parallel; it orders nothing.

    A dead run's nonce under another message id is a redrive, so what is stored twice must not have one nonce: each try
    of a message draws its own, and the client must be one that never repeats a request by itself.
    """

    def __init__(
        self,
        client: Any,
        queue_urls: Mapping[Lane, str],
        clock: Clock,
        randomness: Randomness,
        *,
        bulk_urls: Mapping[Lane, str] | None = None,
        short_timeouts: bool = False,
        executor: Executor | None = None,
        trace: Callable[[], str | None] = trace_header,
    ) -> None:
        """`queue_urls` holds the lanes that this process may send to, `bulk_urls` their bulk queues. `short_timeouts`:
        after a batch of which nothing was accepted the others are not tried, since a caller waits for the response.
        Else an `executor` sends batches side by side. `trace` says which trace the messages belong to.
        """
        self._trace = trace
        self._executor = executor or InlineExecutor()
        self._client = client
        self._queue_urls = {False: queue_urls, True: queue_urls if bulk_urls is None else bulk_urls}
        self._clock = clock
        self._randomness = randomness
        self._short_timeouts = short_timeouts

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """Send each to its lane; which were accepted, in order. Reasons of those that were not are in the log."""
        by_queue: dict[tuple[Lane, bool], list[tuple[int, Entry]]] = {}
        traced = _traced(self._trace())
        for number, item in enumerate(outgoing):
            queue = item.message.lane, item.message.bulk
            by_queue.setdefault(queue, []).append((number, _entry(item) | traced))
        accepted = self._sent(by_queue, outgoing)
        return [number in accepted for number in range(len(outgoing))]

    def _sent(self, by_queue: Mapping[tuple[Lane, bool], Batch], outgoing: Sequence[Outgoing]) -> set[int]:
        accepted: set[int] = set()
        for (lane, bulk), entries in by_queue.items():
            queue_url = self._queue_urls[bulk].get(lane)
            if queue_url is None:
                facts = {"action": "lane_without_queue", "lane": lane, "messages": len(entries)}
                _logger.error("lane_without_queue", extra=facts)
                continue
            send = partial(self._persist, queue_url, outgoing)
            if not self._short_timeouts:
                accepted = accepted.union(*self._executor.map(send, list(batches(entries))))
                continue
            for batch in batches(entries):
                taken = send(batch)
                if not taken:
                    return accepted
                accepted |= taken
        return accepted

    def _persist(self, queue_url: str, outgoing: Sequence[Outgoing], batch: Batch) -> set[int]:
        """Send one batch, and what SQS could not take at that moment again."""
        accepted: set[int] = set()
        began = self._clock.now()
        for tries in range(1, TRIES + 1):
            sent = send_batch(self._client, queue_url, batch)
            accepted |= sent.accepted
            if not sent.open or tries == TRIES:
                break
            wait = FIRST_WAIT_SECONDS * 2 ** (tries - 1) * (1 + self._randomness.draw()) / 2
            self._clock.sleep_until(self._clock.now() + wait)
            passed = int(self._clock.now() - began)
            again = [(number, entry) for number, entry in batch if number in sent.open]
            batch = [(number, self._renewed(entry, outgoing[number], passed)) for number, entry in again]
        return accepted

    def _renewed(self, entry: Entry, item: Outgoing, passed: int) -> Entry:
        """The first try may have been stored, though its response never came: this one is another message. Of its delay
        the whole seconds are left out that have `passed`, so that it comes when it is due and not before.
        """
        message = item.message.again(nonce=self._randomness.nonce())
        return entry | _entry(Outgoing(message, max(item.delay_seconds - passed, 0)))


def _traced(header: str | None) -> Entry:
    """What ties messages to their trace: a system attribute, which costs no message attribute and does not count
    towards a message's size (Amazon SQS Developer Guide, "Message system attributes"). Traces that are not recorded
    need none: it costs 6 µs a message.
    """
    borne = for_messages(header)
    if borne is None:
        return {}
    return {"MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": borne}}}


def _entry(item: Outgoing) -> Entry:
    return {
        "MessageBody": item.message.to_json(),
        "DelaySeconds": item.delay_seconds,
        "MessageGroupId": item.message.tenant,
    }
