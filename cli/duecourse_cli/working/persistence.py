"""Reports are not lost because the API is away for a while.

When to ask again is urllib3's `Retry` (exponential, with jitter), which comes with botocore; only the asking is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from urllib3.exceptions import MaxRetryError
from urllib3.util import Retry as Policy

from duecourse_cli.client import ApiError, ApiUnreachableError
from duecourse_cli.working.report import ReportOutcome, verdict_of

T = TypeVar("T")

MAX_PAUSE_SECONDS = 30.0
POLICY = Policy(total=12, backoff_factor=1.0, backoff_max=MAX_PAUSE_SECONDS, backoff_jitter=1.0)
"""At once, then after 2, 4, 8, 16 and every 30 s: some four minutes in all."""


def persistently(call: Callable[[], T], pause: Callable[[float], object], policy: Policy = POLICY) -> T:
    """Call the API until it takes or refuses it, or the policy is used up. Raises ApiError, ApiUnreachableError."""
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
