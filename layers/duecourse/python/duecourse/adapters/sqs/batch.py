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
"""Maximum size of the bodies of one batch in total. SQS accepts 1 MiB since 2025. Before that it accepted this size, as
emulators may still do. Messages of a few hundred bytes reach neither limit.
"""

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
"""Codes with which SQS rejects a whole batch because of its content (Amazon SQS API Reference, SendMessageBatch, and
Common Errors).
"""

_logger = logging.getLogger(__name__)

Entry = dict[str, Any]
"""An entry of SendMessageBatch, without its `Id`."""


def batches(entries: Iterable[tuple[int, Entry]]) -> Iterator[list[tuple[int, Entry]]]:
    """Yield numbered entries in order, in as few batches as the limits allow."""
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
    """The numbers of the entries of a batch: `accepted` entries, and `open` ones, which a retry may deliver. Entries
    that SQS will never accept are in neither set.
    """

    accepted: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)

    def __or__(self, other: Sent) -> Sent:
        return Sent(self.accepted | other.accepted, self.open | other.open)


def send_batch(client: Any, queue_url: str, batch: Sequence[tuple[int, Entry]]) -> Sent:
    """Send one batch and return the result of its entries. Entries that were not accepted are logged with the reason.

    A failed request may still have succeeded if only its response was lost. So a sender that retries must tolerate
    duplicates.
    """
    entries = [{"Id": str(number), **entry} for number, entry in batch]
    try:
        answer = client.send_message_batch(QueueUrl=queue_url, Entries=entries)
    except AwsError as problem:
        if len(batch) > 1 and isinstance(problem, ServiceError) and problem.code in _SENDERS_FAULT:
            # One invalid entry fails the whole batch: send each of them separately.
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
    """Return the entries that failed because of an error of SQS, not of the sender. All failed entries are logged."""
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
