"""Reports how a task ended: the effect on the run, the meaning of the API's response, and the retries.

The delays are computed by urllib3's `Retry` (exponential, with jitter), which is installed with botocore. This module
only makes the requests.
"""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from urllib3.exceptions import MaxRetryError
from urllib3.util import Retry as Policy

from duecourse.client import ApiError, ApiUnreachableError

log = logging.getLogger("duecourse.worker")

ERROR_CHARACTERS = 2000
CODE_CHARACTERS = 64
MAX_RETRY_AFTER = 86_400.0
"""The API's limits for a failure report."""

NAME_CHARACTERS = 100
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:/@=+-]+")
"""Characters that the API does not accept in the name of a worker."""

BAD_RESULT = "callback.bad_result"
"""The code of a run whose task returned a result that cannot be stored."""

BUSY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of responses after which a report is retried."""

_BAD_RESULT_STATUSES = frozenset({400, 413, 422})
_NO_CHARACTERS = re.compile("[\0\ufffe\uffff]")
"""Characters that neither SQS messages nor texts of the API can contain."""
_NOT_IN_CODES = re.compile(r"[^A-Za-z0-9_.-]+")

T = TypeVar("T")
MAX_PAUSE_SECONDS = 30.0

POLICY = Policy(total=12, backoff_factor=1.0, backoff_max=MAX_PAUSE_SECONDS, backoff_jitter=1.0)
"""The first retry is immediate. Further retries follow after 2, 4, 8 and 16 s, then every 30 s, for about four minutes.
"""


class WorkerName:
    """The name with which a worker reports, also from several threads."""

    def __init__(self, name: str | None) -> None:
        """None: the host name, with - instead of other characters. An empty text: the worker reports without a name.
        Raises ValueError for a name that the API does not accept.
        """
        if name is None:
            name = _NOT_IN_NAMES.sub("-", socket.gethostname())[:NAME_CHARACTERS]
        elif len(name) > NAME_CHARACTERS or _NOT_IN_NAMES.search(name):
            raise ValueError(f"name must be up to {NAME_CHARACTERS} letters (A-Z, a-z), digits or _ . : / @ = + -")
        self._name = name or None

    def reported(self, call: Callable[[str | None], T]) -> T:
        """Return the result of a report that `call` sends with the name. If the stage is older and does not know the
        field, send it again without a name, and also all later reports.
        """
        name = self._name
        try:
            return call(name)
        except ApiError as error:
            if name is None or all(fault.where != "worker" for fault in error.faults):
                raise
        log.info("the stage does not know the names of workers; its reports have none")
        self._name = None
        return call(None)


class DoNotRetry(Exception):
    """Raised by a task that failed and must not be retried."""

    def __init__(self, error: str = "the task does not allow a retry", *, code: str | None = None) -> None:
        """`code` is the error code for the job's retry rules and events."""
        super().__init__(error)
        self.code = code


class Retry(Exception):
    """Raised by a task that failed and can be retried, at the earliest `after` seconds from now."""

    def __init__(
        self, error: str = "the task requested a retry", *, after: float | None = None, code: str | None = None
    ) -> None:
        """`code` is the error code for the job's retry rules and events."""
        super().__init__(error)
        self.after = after
        self.code = code


class Failed(Exception):
    """Raised by a task that failed. The job's retry rules decide whether another attempt follows."""

    def __init__(self, error: str, *, code: str | None = None) -> None:
        """`code` is the error code for the job's retry rules and events."""
        super().__init__(error)
        self.code = code


@dataclass(frozen=True, slots=True)
class Completion:
    """The work is done. `result` can be written as JSON."""

    result: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """The work failed. The fields are the arguments of `Client.fail_run`."""

    error: str
    code: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None


Report = Completion | Failure


class ReportOutcome(Enum):
    """The meaning of the API's rejection of a report or heartbeat."""

    OVER = "the attempt is over"
    LATER = "the API is temporarily unavailable"
    BAD_RESULT = "the API does not accept the result"
    REFUSED = "the API rejects it"


def report_of(returned: object) -> Report:
    """Return the report for a task's return value: a success, unless the value cannot be written as JSON."""
    try:
        json.dumps(returned, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return Failure(_told(f"its result cannot be written as JSON: {error}"), BAD_RESULT, retryable=False)
    return Completion(returned)


def report_of_raised(raised: BaseException) -> Failure:
    """Return the report for a task's exception. The exception's type is the error code for the job's retry rules."""
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
    """Return the report for a result that the API rejected. The run ends, since another attempt would have the same
    result.
    """
    return Failure(_told(f"its result was rejected: {error}"), BAD_RESULT, retryable=False)


def verdict_of(error: ApiError) -> ReportOutcome:
    """Return the meaning of a rejection. Only Duecourse itself can report that an attempt is over. A gateway in front
    of it can return 401 for other reasons; in that case, the work must not be discarded.
    """
    if error.by_duecourse and error.status in (401, 409):
        return ReportOutcome.OVER
    if error.status in BUSY_STATUSES:
        return ReportOutcome.LATER
    return ReportOutcome.BAD_RESULT if error.status in _BAD_RESULT_STATUSES else ReportOutcome.REFUSED


def _told(text: str) -> str:
    """Return a text within the limits of the API, without invalid characters."""
    whole = _NO_CHARACTERS.sub("?", text.encode("utf-8", "replace").decode())
    return whole if len(whole) <= ERROR_CHARACTERS else whole[: ERROR_CHARACTERS - 1] + "…"


def _code(text: str | None) -> str | None:
    return None if text is None else _NOT_IN_CODES.sub("_", text)[:CODE_CHARACTERS] or None


def persistently(call: Callable[[], T], pause: Callable[[float], object], policy: Policy = POLICY) -> T:
    """Call the API until it accepts or rejects the request, or until `policy` allows no more retries. Raises ApiError
    or ApiUnreachableError.
    """
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
