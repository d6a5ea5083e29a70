"""Transactions: all or nothing, tried again where they collide with another one."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb.errors import RETRYABLE, cancellation_codes
from duecourse.ports import Clock, StoreBusyError

TRIES = 8
"""A transaction that collides (with a claim, or with another of its tenant's) is tried this often, a little later each
time: up to 2.8 s in all.
"""

STEP_SECONDS = 0.1


def transact(client: Any, writes: list[dict[str, Any]], clock: Clock) -> list[int]:
    """Write all or nothing. Empty: written; otherwise the indices of the writes whose conditions failed.

    Raises StoreBusyError when it collided at every try.
    """
    for attempt in range(1, TRIES + 1):
        try:
            client.transact_write_items(TransactItems=writes)
        except ClientError as error:
            codes = cancellation_codes(error)
            if codes is None:
                raise
            if failed := [index for index, code in enumerate(codes) if code == "ConditionalCheckFailed"]:
                return failed
            if not any(code in RETRYABLE for code in codes):
                raise
            if attempt == TRIES:
                raise StoreBusyError from error
            clock.sleep_until(clock.now() + STEP_SECONDS * attempt * _spread(writes, attempt))
        else:
            return []
    raise AssertionError("unreachable")


def _spread(writes: list[dict[str, Any]], attempt: int) -> float:
    """A number in [0, 1) that others' transactions do not share: those that collided must not meet again."""
    return crc32(repr((writes[0], attempt)).encode()) / 2**32
