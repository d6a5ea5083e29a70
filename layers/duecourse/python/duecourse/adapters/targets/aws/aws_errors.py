"""What a request to AWS that went wrong makes of an attempt: the same for every target that is called by an AWS API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    DataNotFoundError,
    HTTPClientError,
    IncompleteReadError,
    ParamValidationError,
    ReadTimeoutError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError

from duecourse.adapters.targets.answer import cut, retry_after_seconds
from duecourse.adapters.targets.http.deadline import Deadline
from duecourse.adapters.targets.http.redaction import Redaction
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import Call, Clock

ClientFor = Callable[[int], Any]
"""Gives a client with that read time-out in seconds and without retries: a repeated request would call the target twice
under one attempt.
"""

HANDOVER_SECONDS = 10
"""The longest wait where a target only takes something in: services do that in a fraction of a second. Most jobs then
share one client a service, whatever their time-outs.
"""

_ERROR_BYTES = 1024
_CODE_BYTES = 128

_RETRYABLE_STATUSES = frozenset({408, 409, 429})
"""Beside 5xx: what is not ready or being changed, and throttling."""

STALE_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
    }
)
"""How services say that credentials are no good any more, or not yet: another attempt gets new ones."""

_RETRYABLE_CODES = STALE_CREDENTIALS | frozenset(
    {
        "BandwidthLimitExceeded",
        "ConcurrentModification",
        "EFSIOException",
        "ExecutionLimitExceeded",
        "InternalError",
        "InternalException",
        "InternalFailure",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestExpired",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""Services answer 400 with these too. Beside them: whatever _throttles."""

_MEANINGS = {
    "the call is not allowed": ("accessdenied", "notauthorized", "unauthorized", "forbidden", "authorizationerror"),
    "the service had an error of its own": ("internal",),
    "there is no such resource": ("notfound", "doesnotexist", "nonexistent", "nosuch"),
}
"""Plain words for codes that have one of these parts, in any case."""


def attempted(
    what: str, call: Call, clock: Clock, request: Callable[[Deadline], Outcome], *, longest: float | None = None
) -> Outcome:
    """The outcome of `request`, which is given a deadline: the call's own time, at most `longest` seconds.

    `what` names the target in error texts. What botocore raises becomes a failure, and so does a template that cannot
    be rendered. The run's token is struck out of whatever the target says.
    """
    return _kept(_outcome(what, call, clock, request, longest), redaction_of(call))


def handed_over(what: str, call: Call, clock: Clock, request: Callable[[Deadline], Outcome]) -> Outcome:
    """The same for a target that only takes something in."""
    return attempted(what, call, clock, request, longest=HANDOVER_SECONDS)


def _outcome(
    what: str, call: Call, clock: Clock, request: Callable[[Deadline], Outcome], longest: float | None
) -> Outcome:
    seconds = call.timeout_seconds if longest is None else min(call.timeout_seconds, longest)
    if seconds <= 0:
        return Failed(f"{what} was not called: no time was left", code="timeout")
    try:
        return request(Deadline(seconds))
    except ClientError as refused:
        return refusal_of(refused, what, clock.now())
    except (ReadTimeoutError, TimeoutError):
        text = f"{what} gave no answer within {ceil(seconds)} s; what was asked may still be done"
        return Failed(text, code="timeout")
    except BotoCoreError as problem:
        return failure_of(problem, what)
    except (
        ResponseParserError
    ):  # no BotoCoreError: a page of some machine between us and the service, or half an answer
        return Failed(f"{what} answered what cannot be read; what was asked may still be done", code="connection")
    except TemplateError as problem:
        return Failed(f"{what} was not called: {problem}", retryable=False, code=problem.code)


def redaction_of(call: Call) -> Redaction:
    """Hides the run's token: a target that answers with its event must not put it into the record."""
    return Redaction() if call.token is None else Redaction((call.token,))


def _kept(outcome: Outcome, redaction: Redaction) -> Outcome:
    match outcome:
        case Failed():  # cut at last: of a token that was cut before, the beginning would be left
            detail = None if outcome.detail is None else cut(redaction.text(outcome.detail), _ERROR_BYTES)
            return replace(outcome, error=cut(redaction.text(outcome.error), _ERROR_BYTES), detail=detail)
        case Returned():
            return Returned(redaction.value(outcome.result))


def wait_of(deadline: Deadline) -> int:
    """The time-out for a client, in whole seconds. Raises TimeoutError."""
    return ceil(deadline.left())


def refusal_of(refused: ClientError, what: str, now: float) -> Failed:
    """What a service's error means: its code, whether to come back, and when. `now` is UTC seconds."""
    error, meta = refused.response.get("Error", {}), refused.response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode", 500))
    wish = retry_after_seconds(meta.get("HTTPHeaders", {}).get("retry-after"), now)
    return refusal(what, error.get("Code"), error.get("Message"), status=status, retry_after=wish)


def refusal(what: str, code: object, message: object, *, status: int = 400, retry_after: float | None = None) -> Failed:
    """The failure of an error that a service named, be it for a whole request or for an entry of it. Its `message` is
    for operators: tenants are told the code in plain words.

    Worth a retry: throttling, service errors, stale credentials, a conflict. Not: no permission, unknown, invalid.
    """
    word = cut(str(code or f"http.{status}"), _CODE_BYTES)
    retryable = status >= 500 or status in _RETRYABLE_STATUSES or word in _RETRYABLE_CODES or _throttles(word)
    detail = str(message) if message else None
    return Failed(said(what, word, _plainly(word, status)), retryable, retry_after, code=word, detail=detail)


def _plainly(code: str, status: int) -> str:
    """What an error means, whatever the service says of it."""
    if _throttles(code):
        return "the service is throttling calls"
    if status >= 500:
        return "the service had an error of its own"
    if code in STALE_CREDENTIALS:
        return "its credentials were not accepted"
    words = code.lower()
    for said_so, parts in _MEANINGS.items():
        if any(part in words for part in parts):
            return said_so
    return "the service refused the call"


def said(what: str, code: str, message: object) -> str:
    """`queue orders: AccessDenied: why`; `attempted` cuts it to a length that fits a record."""
    return ": ".join(str(word) for word in (what, code, message) if word)


def failure_of(problem: BotoCoreError, what: str) -> Failed:
    """What an error of botocore's own means. It never says what was sent: that may hold a token."""
    match problem:
        case ReadTimeoutError():
            return Failed(f"{what} gave no answer in time; what was asked may still be done", code="timeout")
        case SSLError():
            return Failed(f"{what}: no TLS connection", code="tls")
        case NoConnectionError() | HTTPClientError() | IncompleteReadError():
            return Failed(f"{what} could not be reached ({type(problem).__name__})", code="connection")
        case ParamValidationError():
            text = f"{what} was not called: {problem.kwargs.get('report', '')}"
            return Failed(text, retryable=False, code="ParamValidation")
        case DataNotFoundError():
            return Failed(f"{what} was not called: the service is unknown", retryable=False, code="service_unknown")
        case _:
            return Failed(f"{what} could not be called ({type(problem).__name__})", code=type(problem).__name__)


def _throttles(code: str) -> bool:
    """`Throttling`, `ThrottlingException`, `KmsThrottled`, `RequestThrottled`, `EC2ThrottledException` …"""
    return "throttl" in code.lower()
