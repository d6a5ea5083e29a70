"""The errors of requests to AWS services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "KMS.ThrottlingException",
        "KmsThrottled",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""Error codes of throttling: the codes in AWS's SDKs ("Retry behavior", AWS SDKs and Tools Reference Guide), and the
codes that DynamoDB returns for a single statement and SQS for a key.
"""

TRANSIENT = frozenset({"RequestTimeout", "RequestTimeoutException"})
"""Codes of other errors after which the same request is sent again."""

_CONFLICT = "TransactionConflictException"


class AwsError(Exception):
    """A request to a service did not succeed."""


class NoAnswerError(AwsError):
    """No complete response was received. It is unknown whether the request took effect."""


class ServiceError(AwsError):
    """The service rejected a request, or failed. `answer` is the document in its response."""

    def __init__(
        self, code: str, message: str = "", *, status: int = 400, answer: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.answer: Mapping[str, Any] = answer or {}

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status >= 500 or self.code in THROTTLED or self.code in TRANSIENT or self.code == _CONFLICT
