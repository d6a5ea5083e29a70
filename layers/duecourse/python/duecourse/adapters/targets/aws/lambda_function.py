"""Lambda functions as targets, invoked synchronously or asynchronously."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from functools import partial

import orjson

from duecourse.adapters.targets.aws.aws_call import (
    ServiceCaller,
    attempted,
    redaction_of,
    said,
    started,
    wait_of,
)
from duecourse.adapters.targets.aws.names import attempt_name
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import READ_BYTES, cut, kept, run_event
from duecourse.domain.jobs.job import Completion
from duecourse.domain.runs.logs import without_rest_of_token
from duecourse.domain.targets.targets import (
    Execution,
    ExecutionService,
    Failed,
    LambdaMode,
    LambdaTarget,
    Outcome,
    Returned,
)
from duecourse.ports import Call

_CODE_BYTES = 128
_NAME_CHARACTERS = 64
_CUT_BYTES = 4_000
"""The end of a log from this size on may begin within a word: Lambda returns up to 4,096 bytes."""
_LAST_WORDS = ("DoNotRetry", "DoNotRetryError")


class LambdaCaller(ServiceCaller):
    """Invokes functions in the stage's account and region."""

    def call(self, call: Call, target: LambdaTarget) -> Outcome:
        """Invoke the function. SYNC succeeds with a response without an error, ASYNC with an event that Lambda accepts.
        If the job follows the execution of a durable function until its end, the execution is named after the attempt,
        so that an attempt starts one execution.

        Retryable: errors of the function, throttling, service errors, timeouts. Not retryable: an unknown function,
        missing permission, a request that Lambda rejects. An error whose type ends with `DoNotRetry` or
        `DoNotRetryError` forbids further attempts.
        """
        name = f"function {target.function}"
        match target.mode:
            case LambdaMode.SYNC:
                return attempted(name, call, self._clock, partial(self._ask, name, call, target))
            case LambdaMode.ASYNC:
                return started(name, call, self._clock, partial(self._tell, call, target))

    def _ask(self, name: str, call: Call, target: LambdaTarget, deadline: Deadline) -> Outcome:
        answer = self._client_for(wait_of(deadline)).invoke(
            FunctionName=target.function,
            InvocationType="RequestResponse",
            Payload=orjson.dumps(run_event(call)),
            **_qualified(target),
            **({"LogType": "Tail"} if target.log else {}),
        )
        with answer["Payload"] as stream:
            body: bytes = stream.read(READ_BYTES + 1)
        log = _tail(answer.get("LogResult"))
        if word := answer.get("FunctionError"):
            return replace(_raised(name, str(word), body), log=log)
        return Returned(kept(answer["StatusCode"], body, json=True, redaction=redaction_of(call)), log=log)

    def _tell(self, call: Call, target: LambdaTarget, deadline: Deadline) -> Outcome:
        durable = call.job.completion is Completion.END
        answer = self._client_for(wait_of(deadline)).invoke(
            FunctionName=target.function,
            InvocationType="Event",
            Payload=orjson.dumps(run_event(call)),
            **_qualified(target),
            **({"DurableExecutionName": attempt_name(call, _NAME_CHARACTERS)} if durable else {}),
        )
        answer["Payload"].read()  # empty, but the connection can be reused only after the read
        result = {"status": answer["StatusCode"]}
        if not durable:
            return Returned(result)
        if (arn := answer.get("DurableExecutionArn")) is None:
            text = f"function {target.function} was invoked, but it is not a durable function"
            return Failed(text, retryable=False, code="not_durable")
        return Returned(result | {"execution_arn": arn}, Execution(ExecutionService.LAMBDA, arn))


def _qualified(target: LambdaTarget) -> dict[str, str]:
    return {} if target.qualifier is None else {"Qualifier": target.qualifier}


def _tail(encoded: str | None) -> str | None:
    """Return the end of a function's log, of at most 4 KB (AWS Lambda API Reference, "Invoke": LogResult)."""
    if not encoded:
        return None
    data = b64decode(encoded)
    text = data.decode("utf-8", "replace")
    return (without_rest_of_token(text) if len(data) >= _CUT_BYTES else text) or None


def _raised(name: str, word: str, body: bytes) -> Failed:
    """Return the failure for an exception of a function, with its type and message. The stack trace stays in the
    function's log.
    """
    try:
        raised = orjson.loads(body)
    except orjson.JSONDecodeError:
        raised = None
    if not isinstance(raised, dict):
        return Failed(said(f"{name} failed", "", cut(body, READ_BYTES)), code=word)
    kind, message = raised.get("errorType"), raised.get("errorMessage")
    text = said(f"{name} failed", str(kind or ""), message or (None if kind else "no reason given"))
    code = cut(str(kind or word), _CODE_BYTES)
    return Failed(text, code=code, forbidden=code.endswith(_LAST_WORDS))
