"""How DynamoDB says no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.dynamodb.keys import Item

THROTTLED = frozenset(
    {
        "ThrottlingError",
        "ThrottlingException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
    }
)
"""Codes that ask to come back later."""

RETRYABLE = THROTTLED | {"TransactionConflict", "InternalServerError"}
"""Codes of single statements and cancelled transactions after which the same write may be tried again.

Amazon DynamoDB API Reference, BatchStatementError and TransactionCanceledException.
"""


def condition_failed(error: BotoCoreError | ClientError) -> bool:
    """Whether a write was refused for its condition alone."""
    return isinstance(error, ClientError) and error.response["Error"]["Code"] == "ConditionalCheckFailedException"


def conditional(write: Callable[..., Any], **request: Any) -> bool:
    """Make a write; whether its condition held."""
    try:
        write(**request)
    except ClientError as error:
        if not condition_failed(error):
            raise
        return False
    return True


def found(error: BotoCoreError | ClientError) -> Item | None:
    """The item as it is, where the write asked for it (ReturnValuesOnConditionCheckFailure)."""
    response: dict[str, Any] = error.response if isinstance(error, ClientError) else {}
    return response.get("Item") or None


def cancellation_codes(error: ClientError) -> list[str] | None:
    """The code of each part of a cancelled transaction, in order; None when it is another error."""
    if error.response["Error"]["Code"] != "TransactionCanceledException":
        return None
    response: dict[str, Any] = error.response
    return [reason.get("Code", "None") for reason in response.get("CancellationReasons", [])]
