"""The report of a task's end: its meaning for the run, the meaning of the API's response, and the retries.

The delays are those of urllib3's `Retry` (exponential, with jitter), which comes with botocore; only the requests are
made here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from urllib3.exceptions import MaxRetryError
from urllib3.util import Retry as Policy

from duecourse.client import ApiError, ApiUnreachableError

ERROR_CHARACTERS = 2000
CODE_CHARACTERS = 64
MAX_RETRY_AFTER = 86_400.0
"""The API's bounds of what a failure may say."""

BAD_RESULT = "callback.bad_result"
"""The code of a run whose task returned what cannot be kept."""

BUSY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that another time may be better."""

_BAD_RESULT_STATUSES = frozenset({400, 413, 422})
_NO_CHARACTERS = re.compile("[\0\ufffe\uffff]")
"""What SQS takes in no message, and the API in no text."""
_NOT_IN_CODES = re.compile(r"[^A-Za-z0-9_.-]+")

T = TypeVar("T")
MAX_PAUSE_SECONDS = 30.0

POLICY = Policy(total=12, backoff_factor=1.0, backoff_max=MAX_PAUSE_SECONDS, backoff_jitter=1.0)
"""At once, then after 2, 4, 8, 16 and every 30 s: some four minutes in all."""


class DoNotRetry(Exception):
    """Raised by a task: it failed, and another attempt makes no sense."""

    def __init__(self, error: str = "the task does not allow a retry", *, code: str | None = None) -> None:
        """`code` is the error code for the job's retry rules and events."""
        super().__init__(error)
        self.code = code


class Retry(Exception):
    """Raised by a task: it failed, and another attempt makes sense, `after` seconds from now at the earliest."""

    def __init__(
        self, error: str = "the task requested a retry", *, after: float | None = None, code: str | None = None
    ) -> None:
        """`code` is the error code for the job's retry rules and events."""
        super().__init__(error)
        self.after = after
        self.code = code


class Failed(Exception):
    """Raised by a task: it failed, and the job's retry rules say whether another attempt follows."""

    def __init__(self, error: str, *, code: str | None = None) -> None:
        """`code` is the error code for the job's retry rules and events."""
        super().__init__(error)
        self.code = code


@dataclass(frozen=True, slots=True)
class Completion:
    """The work is done; `result` is JSON-able."""

    result: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """The work failed; the fields are those of `Client.fail`."""

    error: str
    code: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None


Report = Completion | Failure


class ReportOutcome(Enum):
    """What the API's rejection of a report or heartbeat means."""

    OVER = "the attempt is over"
    LATER = "the API is temporarily unavailable"
    BAD_RESULT = "the API does not accept the result"
    REFUSED = "the API rejects it"


def report_of(returned: object) -> Report:
    """What a task's return value makes of its run: it has succeeded, unless the value cannot be written as JSON."""
    try:
        json.dumps(returned, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return Failure(_told(f"its result cannot be written as JSON: {error}"), BAD_RESULT, retryable=False)
    return Completion(returned)


def report_of_raised(raised: BaseException) -> Failure:
    """What a task's exception makes of its run. Its type is the code by which the job's retry rules know it."""
    name = type(raised).__name__
    match raised:
        case DoNotRetry():
            return Failure(_told(str(raised) or name), _code(raised.code), retryable=False)
        case Failed():
            return Failure(_told(str(raised) or name), _code(raised.code))
        case Retry():
            after = None if raised.after is None else min(max(float(raised.after), 0.0), MAX_RETRY_AFTER)
            return Failure(_told(str(raised) or name), _code(raised.code), retryable=True, retry_after=after)
        case _:
            return Failure(_told(f"{name}: {raised}" if str(raised) else name), _code(name))


def refused_result(error: ApiError) -> Failure:
    """A result that the API did not take ends its run: another attempt would come to the same."""
    return Failure(_told(f"its result was rejected: {error}"), BAD_RESULT, retryable=False)


def verdict_of(error: ApiError) -> ReportOutcome:
    """What a rejection means. Only Duecourse itself can say that an attempt is over: a gateway in front of it returns
    401 to whatever it does not know, and the work must not be thrown away for that.
    """
    if error.by_duecourse and error.status in (401, 409):
        return ReportOutcome.OVER
    if error.status in BUSY_STATUSES:
        return ReportOutcome.LATER
    return ReportOutcome.BAD_RESULT if error.status in _BAD_RESULT_STATUSES else ReportOutcome.REFUSED


def _told(text: str) -> str:
    """Within the limits of the API, and without characters that are not valid."""
    whole = _NO_CHARACTERS.sub("?", text.encode("utf-8", "replace").decode())
    return whole if len(whole) <= ERROR_CHARACTERS else whole[: ERROR_CHARACTERS - 1] + "…"


def _code(text: str | None) -> str | None:
    return None if text is None else _NOT_IN_CODES.sub("_", text)[:CODE_CHARACTERS] or None


def persistently(call: Callable[[], T], pause: Callable[[float], object], policy: Policy = POLICY) -> T:
    """Call the API until it takes or rejects it, or the policy is used up. Raises ApiError, ApiUnreachableError."""
    while True:
        try:
            return call()
        except ApiUnreachableError as error:
            policy = _next(policy, error)
            wish = 0.0
        except ApiError as error:
            if verdict_of(error) is not ReportOutcome.LATER:
                raise
            policy = _next(policy, error)
            wish = error.retry_after or 0.0
        pause(min(max(policy.get_backoff_time(), wish), MAX_PAUSE_SECONDS))


def _next(policy: Policy, error: Exception) -> Policy:
    try:
        return policy.increment(error=error)
    except MaxRetryError:
        raise error from None
