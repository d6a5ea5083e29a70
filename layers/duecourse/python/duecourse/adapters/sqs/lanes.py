"""The queues of the lanes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from duecourse.adapters.aws.tracing import for_messages, trace_header
from duecourse.adapters.sqs.batch import Entry, batches, send_batch
from duecourse.domain.jobs.job import Lane
from duecourse.ports import Clock, Executor, InlineExecutor, Outgoing, OutgoingOperation, Randomness

_logger = logging.getLogger(__name__)


SEND_TRIES = 3
"""Maximum number of attempts to send a batch whose entries were rejected for temporary reasons."""

FIRST_WAIT_SECONDS = 0.2
"""The longest pause before the second attempt. It doubles before the third."""

Batch = Sequence[tuple[int, Entry]]


class SqsLanes:
    """Sends runs to the standard queues of the lanes.

    The tenant is the message group: with fair queues, SQS delivers messages of quiet tenants before those of noisy
    ones. Delivery is still parallel and unordered.

    The nonce of a dead run under another message id means a redrive, so two stored messages must not have the same
    nonce. Therefore each attempt to send a message uses a new nonce, and the client must be one that never repeats a
    request.
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
        """`queue_urls` has the lanes to which this process may send, and `bulk_urls` their bulk queues. With
        `short_timeouts`, sending stops after a batch without an accepted entry, since a caller waits for the response.
        Otherwise `executor` sends batches concurrently. `trace` returns the trace header of the messages.
        """
        self._trace = trace
        self._executor = executor or InlineExecutor()
        self._client = client
        self._queue_urls = {False: queue_urls, True: queue_urls if bulk_urls is None else bulk_urls}
        self._clock = clock
        self._randomness = randomness
        self._short_timeouts = short_timeouts

    def send(self, outgoing: Sequence[Outgoing | OutgoingOperation]) -> list[bool]:
        by_queue: dict[tuple[Lane, bool], list[tuple[int, Entry]]] = {}
        traced = _traced(self._trace())
        for number, item in enumerate(outgoing):
            queue = item.message.lane, item.message.bulk
            by_queue.setdefault(queue, []).append((number, _entry(item) | traced))
        accepted = self._sent(by_queue, outgoing)
        return [number in accepted for number in range(len(outgoing))]

    def _sent(
        self, by_queue: Mapping[tuple[Lane, bool], Batch], outgoing: Sequence[Outgoing | OutgoingOperation]
    ) -> set[int]:
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

    def _persist(self, queue_url: str, outgoing: Sequence[Outgoing | OutgoingOperation], batch: Batch) -> set[int]:
        """Send one batch, and retry the entries that SQS could not accept at that moment."""
        accepted: set[int] = set()
        began = self._clock.now()
        for tries in range(1, SEND_TRIES + 1):
            sent = send_batch(self._client, queue_url, batch)
            accepted |= sent.accepted
            if not sent.open or tries == SEND_TRIES:
                break
            wait = FIRST_WAIT_SECONDS * 2 ** (tries - 1) * (1 + self._randomness.draw()) / 2
            self._clock.sleep_until(self._clock.now() + wait)
            passed = int(self._clock.now() - began)
            again = [(number, entry) for number, entry in batch if number in sent.open]
            batch = [(number, self._renewed(entry, outgoing[number], passed)) for number, entry in again]
        return accepted

    def _renewed(self, entry: Entry, item: Outgoing | OutgoingOperation, passed: int) -> Entry:
        """Return the entry for another attempt. The message of the previous attempt may have been stored although there
        was no response, so this entry is a different message. The whole seconds that have `passed` are subtracted from
        its delay, so that it is not delivered before it is due.
        """
        nonce, left = self._randomness.nonce(), max(item.delay_seconds - passed, 0)
        if isinstance(item, OutgoingOperation):
            return entry | _entry(OutgoingOperation(item.message.again(nonce=nonce), left))
        return entry | _entry(Outgoing(item.message.again(nonce=nonce), left))


def _traced(header: str | None) -> Entry:
    """Return the fields that add a message to its trace: a system attribute, which does not count as a message
    attribute or towards the message's size (Amazon SQS Developer Guide, "Message system attributes"). It costs 6 µs a
    message, so it is omitted for a trace that is not recorded.
    """
    borne = for_messages(header)
    if borne is None:
        return {}
    return {"MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": borne}}}


def _entry(item: Outgoing | OutgoingOperation) -> Entry:
    return {
        "MessageBody": item.message.to_json(),
        "DelaySeconds": item.delay_seconds,
        "MessageGroupId": item.message.tenant,
    }
