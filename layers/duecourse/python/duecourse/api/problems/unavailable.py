"""AWS that is too busy or out of reach, as a problem."""

from __future__ import annotations

from http import HTTPStatus

from botocore import exceptions

from duecourse.api.problems.problems import Problem, later

_CODES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""What the services say after which the same request may be sent again; botocore has tried a few times by then."""


def unavailable(error: Exception) -> Problem | None:
    """503 for an error that passes by itself; None for any other, which is a fault of ours. AWS's words stay inside."""
    if not _passes(error):
        return None
    detail = "A service that this one needs is too busy or does not answer. Try again in some seconds."
    return later("unavailable", detail)


def _passes(error: Exception) -> bool:
    match error:
        case exceptions.ClientError():
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            return status >= HTTPStatus.INTERNAL_SERVER_ERROR or error.response["Error"].get("Code") in _CODES
        case exceptions.ConnectionError() | exceptions.HTTPClientError():
            return True
        case _:
            return False
