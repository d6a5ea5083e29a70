"""Calls of AWS APIs as targets: roles, results and errors.

All targets that are called by an AWS API map errors to outcomes of an attempt in the same way.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from math import ceil
from threading import Lock
from typing import Any, Protocol, Self

import orjson
from botocore import xform_name
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
from botocore.response import StreamingBody

from duecourse.adapters.aws.clients import Credentials
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import READ_BYTES, Redaction, call_values, cut, retry_after_seconds
from duecourse.domain.runs.rendering import render_document
from duecourse.domain.targets.targets import AwsTarget, Failed, Outcome, Returned
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import Call, Clock

_EARLY_SECONDS = 300
"""Credentials are renewed so long before they expire: a call that starts with them also ends with them."""

_KEPT = 256
_SESSION_CHARACTERS = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


class Roles:
    """Credentials of roles of the stage's own account, by sts:AssumeRole. Safe to share between threads.

    A session belongs to a job and is named `<tenant>.<job>`: logs then show whose call it was, and a role's trust
    policy can admit some tenants only (`sts:RoleSessionName` like `acme.*`).
    """

    def __init__(self, clock: Clock, sts_for: ClientFor, arns: Arns) -> None:
        self._clock = clock
        self._sts_for = sts_for
        self._arns = arns
        self._known: OrderedDict[tuple[str, str], Credentials] = OrderedDict()
        self._lock = Lock()

    def assume(self, role: str, call: Call, deadline: Deadline) -> Credentials:
        """Credentials of `role` for the call's job, with five minutes left at least. Raises botocore's errors and
        TimeoutError.
        """
        session = session_name(call)
        with self._lock:
            known = self._known.get((role, session))
        if known is not None and known.expires_at - _EARLY_SECONDS > self._clock.now():
            return known
        seconds = min(wait_of(deadline), HANDOVER_SECONDS)
        answer = self._sts_for(seconds).assume_role(RoleArn=self._arns.role_arn(role), RoleSessionName=session)
        given = answer["Credentials"]
        credentials = Credentials(
            given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], given["Expiration"].timestamp()
        )
        with self._lock:
            self._known[role, session] = credentials
            self._known.move_to_end((role, session))
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return credentials

    def forget(self, role: str, call: Call) -> None:
        """Discard the cached credentials of a role that the service rejected; the role may have been re-created."""
        with self._lock:
            self._known.pop((role, session_name(call)), None)


def session_name(call: Call) -> str:
    """`acme.nightly`, cut to 64 characters: what is left begins with the whole tenant always."""
    return _UNSAFE.sub("-", f"{call.run.tenant}.{call.run.job_id}")[:_SESSION_CHARACTERS]


_CHUNK_BYTES = 16 * 1024


def result_of(answer: Mapping[str, Any], deadline: Deadline) -> Any:
    """What is kept of a response: all but its metadata. Times are ISO-8601, bytes base64; a body that streams is read
    up to 256 KB, as text where it is UTF-8 and base64 where not. A response of more than 256 KB is the beginning of its
    text: `{"truncated": true, "text": …}`. Raises TimeoutError and, when the stream breaks, botocore's errors.
    """
    plain = {name: _plain(value, deadline) for name, value in answer.items() if name != "ResponseMetadata"}
    text = orjson.dumps(plain)
    if len(text) > READ_BYTES:
        return {"truncated": True, "text": cut(text, READ_BYTES)}
    return orjson.loads(text)


def _plain(value: Any, deadline: Deadline) -> Any:
    match value:
        case dict():
            return {str(key): _plain(inner, deadline) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner, deadline) for inner in value]
        case datetime():
            return value.isoformat()
        case bytes():
            return b64encode(value).decode()
        case StreamingBody():
            return _read(value, deadline)
        case bool() | float() | str() | None:
            return value
        case int() if value.bit_length() < 64:
            return value
        case _:
            return str(value)


def _read(body: StreamingBody, deadline: Deadline) -> str:
    data = b""
    with body as stream:
        while len(data) < READ_BYTES and (chunk := stream.read(min(_CHUNK_BYTES, READ_BYTES - len(data)))):
            data += chunk
            deadline.left()  # raises when there is no time left: a socket's own timeout starts again with each read
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()


ClientFor = Callable[[int], Any]
"""Gives a client with that read timeout in seconds and without retries: a repeated request would call the target twice
under one attempt.
"""

HANDOVER_SECONDS = 10
"""The longest wait where a target only takes something in: services do that in a fraction of a second. Most jobs then
share one client a service, whatever their timeouts.
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
"""Error codes for credentials that are no longer or not yet valid: another attempt gets new ones."""

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
    "the service had an internal error": ("internal",),
    "the resource does not exist": ("notfound", "doesnotexist", "nonexistent", "nosuch"),
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
        text = f"{what} did not respond within {ceil(seconds)} s; the call may still take effect"
        return Failed(text, code="timeout")
    except BotoCoreError as problem:
        return failure_of(problem, what)
    except (
        ResponseParserError
    ):  # no BotoCoreError: a page of some machine between us and the service, or half a response
        return Failed(
            f"{what} returned a response that cannot be read; the call may still take effect", code="connection"
        )
    except TemplateError as problem:
        return Failed(f"{what} was not called: {problem}", retryable=False, code=problem.code)


def redaction_of(call: Call) -> Redaction:
    """Hides the run's token: a target that answers with its event must not put it into the record."""
    return Redaction() if call.callback_token is None else Redaction((call.callback_token,))


def _kept(outcome: Outcome, redaction: Redaction) -> Outcome:
    match outcome:
        case Failed():  # cut at last: of a token that was cut before, the beginning would be left
            detail = None if outcome.detail is None else cut(redaction.text(outcome.detail), _ERROR_BYTES)
            return replace(outcome, error=cut(redaction.text(outcome.error), _ERROR_BYTES), detail=detail)
        case Returned():
            return Returned(redaction.value(outcome.result))


def wait_of(deadline: Deadline) -> int:
    """The timeout for a client, in whole seconds. Raises TimeoutError."""
    return ceil(deadline.left())


def refusal_of(refused: ClientError, what: str, now: float) -> Failed:
    """What a service's error means: its code, whether to come back, and when. `now` is UTC seconds."""
    error, meta = refused.response.get("Error", {}), refused.response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode", 500))
    wish = retry_after_seconds(meta.get("HTTPHeaders", {}).get("retry-after"), now)
    return refusal(what, error.get("Code"), error.get("Message"), status=status, retry_after=wish)


def refusal(what: str, code: object, message: object, *, status: int = 400, retry_after: float | None = None) -> Failed:
    """The failure of an error that a service named, be it for a whole request or for an entry of it. Its `message` is
    for operators: tenants get the code in plain words.

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
        return "the service had an internal error"
    if code in STALE_CREDENTIALS:
        return "its credentials were not accepted"
    words = code.lower()
    for said_so, parts in _MEANINGS.items():
        if any(part in words for part in parts):
            return said_so
    return "the service rejected the call"


def said(what: str, code: str, message: object) -> str:
    """`queue orders: AccessDenied: why`; `attempted` cuts it to a length that fits a record."""
    return ": ".join(str(word) for word in (what, code, message) if word)


def failure_of(problem: BotoCoreError, what: str) -> Failed:
    """What an error of botocore's own means. It never says what was sent: that may hold a token."""
    match problem:
        case ReadTimeoutError():
            return Failed(f"{what} did not respond in time; the call may still take effect", code="timeout")
        case SSLError():
            return Failed(f"{what}: the TLS connection failed", code="tls")
        case NoConnectionError() | HTTPClientError() | IncompleteReadError():
            return Failed(f"{what} could not be reached ({type(problem).__name__})", code="connection")
        case ParamValidationError():
            text = f"{what} was not called: {problem.kwargs.get('report', '')}"
            return Failed(text, retryable=False, code="ParamValidation")
        case DataNotFoundError():
            return Failed(f"{what} was not called: the service is not known", retryable=False, code="service_unknown")
        case _:
            return Failed(f"{what} could not be called ({type(problem).__name__})", code=type(problem).__name__)


def _throttles(code: str) -> bool:
    """`Throttling`, `ThrottlingException`, `KmsThrottled`, `RequestThrottled`, `EC2ThrottledException` …"""
    return "throttl" in code.lower()


class ClientInName(Protocol):
    """Gives a client of a service with a read timeout in seconds, without retries, acting with credentials."""

    def __call__(self, service: str, seconds: int, credentials: Credentials) -> Any:
        """The client; raises BotoCoreError for an unknown service."""


class AwsCaller:
    """Calls actions in the stage's own account and region. Safe to share between threads.

    Which actions and roles a job may name was checked when it was created, and what a role may do is its own policy.
    """

    def __init__(self, clock: Clock, client_for: ClientInName, roles: Roles) -> None:
        self._clock = clock
        self._client_for = client_for
        self._roles = roles

    @classmethod
    def made_of(cls, means: Means, client_for: ClientFor) -> Self:
        """The caller of a process; `client_for` is that of STS."""
        return cls(means.clock, means.clients.calling, Roles(means.clock, client_for, means.arns))

    def call(self, call: Call, target: AwsTarget) -> Outcome:
        """A response without an error succeeds; the result is the response.

        Not retryable beside the usual: an action that the service does not have, parameters that it does not know.
        """
        name = f"{target.service}:{target.action}"
        return attempted(name, call, self._clock, partial(self._ask, name, call, target))

    def _ask(self, name: str, call: Call, target: AwsTarget, deadline: Deadline) -> Outcome:
        parameters = render_document(target.parameters, call_values(call))
        credentials = self._roles.assume(target.role, call, deadline)
        client = self._client_for(target.service, wait_of(deadline), credentials)
        method = xform_name(target.action)
        if problem := _problem(client, method, target.action, parameters):
            return Failed(f"{name} was not called: {problem}", retryable=False, code="ParamValidation")
        try:
            answer = getattr(client, method)(**parameters)
        except ClientError as refused:
            if refused.response.get("Error", {}).get("Code") in STALE_CREDENTIALS:
                self._roles.forget(target.role, call)
            raise
        return Returned(result_of(answer, deadline))


def _problem(client: Any, method: str, action: str, parameters: Any) -> str | None:
    """What botocore would not say, or not plainly. Types of values are its own to check."""
    if client.meta.method_to_api_mapping.get(method) != action:
        return "the service has no such action"
    model = client.meta.service_model.operation_model(action)
    if model.has_event_stream_output or model.has_event_stream_input:
        return "actions with event streams are not supported"
    if not isinstance(parameters, dict):
        return "its parameters must be an object"
    known = model.input_shape.members if model.input_shape else {}
    if unknown := [name for name in parameters if name not in known]:
        return f"it has no parameter {unknown[0]}"
    return None
