"""Lambda functions as targets, called synchronously."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import orjson
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ParamValidationError,
    ReadTimeoutError,
)

from duecourse.adapters.targets.answer import READ_BYTES, cut, kept
from duecourse.adapters.targets.invocation import run_event
from duecourse.adapters.targets.retry_after import retry_after_seconds
from duecourse.domain.targets import Failed, LambdaTarget, Outcome, Succeeded
from duecourse.ports import Call, Clock

_ERROR_BYTES = 1024
_RETRYABLE_STATUSES = frozenset({408, 409, 410, 429})
"""Beside 5xx: file systems and snapshots that are not ready, functions that are being updated, throttling."""

_RETRYABLE_CODES = frozenset({"ExpiredTokenException", "RequestExpired", "Throttling", "ThrottlingException"})


class LambdaCaller:
    """Calls functions of the stage's own account and region. Safe to share between threads."""

    def __init__(self, clock: Clock, client_for: Callable[[int], Any]) -> None:
        """`client_for(seconds)` gives a Lambda client with that read time-out and without retries: a repeated request
        would run the function twice under one attempt.
        """
        self._clock = clock
        self._client_for = client_for

    def call(self, call: Call, target: LambdaTarget) -> Outcome:
        """An answer without an error succeeds.

        Retryable: errors of the function, throttling, service errors, time-outs. Not retryable: an unknown function,
        missing permission, a request that Lambda refuses.
        """
        name = f"function {target.function}"
        if call.timeout_seconds <= 0:
            return Failed(f"{name} was not called: no time was left")
        seconds = ceil(call.timeout_seconds)
        try:
            answer = self._client_for(seconds).invoke(
                FunctionName=target.function,
                InvocationType="RequestResponse",
                Payload=orjson.dumps(run_event(call)),
            )
            with answer["Payload"] as stream:
                body: bytes = stream.read(READ_BYTES)
        except ClientError as refused:
            return self._refused(name, refused.response)
        except ReadTimeoutError:
            return Failed(f"{name} gave no answer within {seconds} s; it may still be running")
        except ParamValidationError as problem:
            return Failed(f"{name} could not be called: {problem}", retryable=False)
        except BotoCoreError as problem:
            return Failed(f"{name} could not be reached ({type(problem).__name__})")
        if answer.get("FunctionError"):
            return Failed(f"{name} failed: {_function_error(body)}")
        return Succeeded(kept(answer["StatusCode"], body, json=True))

    def _refused(self, name: str, response: dict[str, Any]) -> Failed:
        error, meta = response.get("Error", {}), response.get("ResponseMetadata", {})
        code, status = str(error.get("Code", "")), int(meta.get("HTTPStatusCode", 500))
        retryable = status >= 500 or status in _RETRYABLE_STATUSES or code in _RETRYABLE_CODES
        text = cut(f"{name} was not run: {code}: {error.get('Message') or ''}", _ERROR_BYTES)
        wish = retry_after_seconds(meta.get("HTTPHeaders", {}).get("retry-after"), self._clock.now())
        return Failed(text, retryable, wish)


def _function_error(body: bytes) -> str:
    """Type and message of what a function raised; the stack trace stays in its own log."""
    try:
        raised = orjson.loads(body)
    except orjson.JSONDecodeError:
        raised = None
    if not isinstance(raised, dict):
        return cut(body, _ERROR_BYTES)
    words = [str(raised[key]) for key in ("errorType", "errorMessage") if raised.get(key)]
    return cut(": ".join(words) or "no reason given", _ERROR_BYTES)
