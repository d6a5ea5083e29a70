"""SendMessageBatch: at most ten entries, each accepted or rejected separately."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from duecourse.ports import AwsError, ServiceError

BATCH_ENTRIES = 10

BATCH_BYTES = 256 * 1024
"""Bodies of one batch together. SQS takes 1 MiB since 2025; it took this much before, as emulators may still do, and
messages of a few hundred bytes never come near either."""

_SENDERS_FAULT = frozenset(
    {
        "AWS.SimpleQueueService.BatchRequestTooLong",
        "BatchRequestTooLong",
        "InvalidMessageContents",
        "InvalidParameterValue",
        "InvalidParameterValueException",
        "ValidationException",
    }
)
"""Codes with which SQS rejects a whole batch for what is in it (Amazon SQS API Reference, SendMessageBatch, and Common
Errors)."""

_logger = logging.getLogger(__name__)

Entry = dict[str, Any]
"""What SendMessageBatch calls an entry, without its `Id`."""


def batches(entries: Iterable[tuple[int, Entry]]) -> Iterator[list[tuple[int, Entry]]]:
    """Numbered entries in the order given, in as few batches as the limits allow."""
    batch: list[tuple[int, Entry]] = []
    size = 0
    for number, entry in entries:
        length = len(entry["MessageBody"].encode())
        if batch and (len(batch) == BATCH_ENTRIES or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((number, entry))
        size += length
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Sent:
    """Numbers of the entries of a batch: `accepted` ones, and `open` ones, which may be accepted another time. Those
    that SQS will never take are in neither.
    """

    accepted: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)

    def __or__(self, other: Sent) -> Sent:
        return Sent(self.accepted | other.accepted, self.open | other.open)


def send_batch(client: Any, queue_url: str, batch: Sequence[tuple[int, Entry]]) -> Sent:
    """Send one batch; what became of its entries. What was not accepted is logged with its reason.

    A call that failed as a whole may still have taken effect (its response was lost): the sender of a retry must
    tolerate a repeat.
    """
    entries = [{"Id": str(number), **entry} for number, entry in batch]
    try:
        answer = client.send_message_batch(QueueUrl=queue_url, Entries=entries)
    except AwsError as problem:
        if len(batch) > 1 and isinstance(problem, ServiceError) and problem.code in _SENDERS_FAULT:
            # One of them spoils it for all: each by itself.
            parts = [send_batch(client, queue_url, [one]) for one in batch]
            return reduce(or_, parts, Sent())
        _logger.warning(
            "batch_not_accepted",
            extra={
                "action": "batch_not_accepted",
                "queue_url": queue_url,
                "messages": len(batch),
                "error": str(problem),
            },
        )
        temporary = not isinstance(problem, ServiceError) or problem.temporary
        return Sent(open={number for number, _ in batch} if temporary else set())
    return Sent({int(success["Id"]) for success in answer.get("Successful", ())}, _refused(answer, queue_url))


def _refused(answer: dict[str, Any], queue_url: str) -> set[int]:
    """The entries that failed because of an error of SQS, not of the sender. All failed entries are logged."""
    for failure in answer.get("Failed", ()):
        _logger.warning(
            "entry_not_accepted",
            extra={
                "action": "entry_not_accepted",
                "queue_url": queue_url,
                "entry": failure.get("Id"),
                "error": f"{failure.get('Code')}: {failure.get('Message')}",
                "sender_fault": failure.get("SenderFault"),
            },
        )
    return {int(failure["Id"]) for failure in answer.get("Failed", ()) if not failure.get("SenderFault")}
