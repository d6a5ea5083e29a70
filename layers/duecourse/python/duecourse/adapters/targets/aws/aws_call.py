"""Calls to AWS APIs as targets: roles, results and errors.

All targets that are called through an AWS API map errors to outcomes of an attempt in the same way. boto3 is imported
only for calls that it makes: invocations of Lambda functions do not need it.
"""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self

import orjson

from duecourse.adapters.aws.clients import Credentials
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import READ_BYTES, Redaction, cut, retry_after_seconds
from duecourse.domain.jobs.job import Completion
from duecourse.domain.runs.rendering import render_target
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.executions import started_by
from duecourse.domain.targets.targets import AwsTarget, Failed, Outcome, Returned
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import Call, Clock, ServiceError

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.response import StreamingBody

_EARLY_SECONDS = 300
"""Credentials are renewed this many seconds before they expire, so that they do not expire during a call."""

_KEPT = 256
_SESSION_CHARACTERS = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


class Roles:
    """Provides credentials of roles of the stage's account, by sts:AssumeRole. Safe to share between threads.

    A session belongs to a job and is named `<tenant>.<job>`. So logs show which job made a call, and the trust policy
    of a role can admit certain tenants only (`sts:RoleSessionName` like `acme.*`).
    """

    def __init__(self, clock: Clock, sts_for: ClientFor, arns: Arns) -> None:
        self._clock = clock
        self._sts_for = sts_for
        self._arns = arns
        self._known: OrderedDict[tuple[str, str], Credentials] = OrderedDict()
        self._lock = Lock()

    def assume(self, role: str, session: str, deadline: Deadline) -> Credentials:
        """Return credentials of `role` for a job's session that are valid for at least five more minutes. Raises
        botocore's errors and TimeoutError.
        """
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

    def forget(self, role: str, session: str) -> None:
        """Discard the cached credentials of a role that the service rejected: the role may have been created again."""
        with self._lock:
            self._known.pop((role, session), None)


def session_name(run: Run) -> str:
    """Return the session name `acme.nightly`, cut to 64 characters, which always include the whole tenant."""
    return _UNSAFE.sub("-", f"{run.tenant}.{run.job_id}")[:_SESSION_CHARACTERS]


_CHUNK_BYTES = 16 * 1024


def result_of(answer: Mapping[str, Any], deadline: Deadline) -> Any:
    """Return the part of a response that is kept: everything except its metadata. Times are ISO 8601 and bytes are
    base64. Up to 256 KB of a streaming body are read, as text if it is UTF-8 and otherwise as base64. A response of
    more than 256 KB is reduced to the beginning of its text: `{"truncated": true, "text": …}`. Raises TimeoutError, and
    botocore's errors if the stream breaks.
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
        case bool() | float() | str() | None:
            return value
        case int() if value.bit_length() < 64:
            return value
        case _:
            from botocore.response import StreamingBody  # with boto3, which has made the response

            return _read(value, deadline) if isinstance(value, StreamingBody) else str(value)


def _read(body: StreamingBody, deadline: Deadline) -> str:
    data = b""
    with body as stream:
        while len(data) < READ_BYTES and (chunk := stream.read(min(_CHUNK_BYTES, READ_BYTES - len(data)))):
            data += chunk
            deadline.left()  # raises TimeoutError after the deadline: the timeout of a socket restarts with each read
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()


ClientFor = Callable[[int], Any]
"""Returns a client with this read timeout in seconds and without retries: a repeated request would call the target
twice in one attempt.
"""


class ServiceCaller:
    """The base class of the callers that use one AWS service. Safe to share between threads."""

    def __init__(self, clock: Clock, client_for: ClientFor, arns: Arns) -> None:
        self._clock = clock
        self._client_for = client_for
        self._arns = arns

    @classmethod
    def made_of(cls, means: Means, client_for: ClientFor) -> Self:
        """Return the caller of a process."""
        return cls(means.clock, client_for, means.arns)


HANDOVER_SECONDS = 10
"""The longest timeout in seconds for a target that only accepts a message or starts something, which takes services a
fraction of a second. So most jobs share one client of a service, regardless of their timeouts.
"""

_ERROR_BYTES = 1024
_CODE_BYTES = 128

_RETRYABLE_STATUSES = frozenset({408, 409, 429})
"""Retryable in addition to 5xx: resources that are not ready or are being changed, and throttling."""

STALE_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
    }
)
"""Error codes for credentials that are no longer or not yet valid. Another attempt gets new ones."""

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
"""Codes that are retryable although services return them with status 400, in addition to those of `_throttles`."""

_MEANINGS = {
    "the call is not allowed": ("accessdenied", "notauthorized", "unauthorized", "forbidden", "authorizationerror"),
    "the service had an internal error": ("internal",),
    "the resource does not exist": ("notfound", "doesnotexist", "nonexistent", "nosuch"),
}
"""Error messages for codes that contain one of these parts, in upper or lower case."""


def attempted(
    what: str, call: Call, clock: Clock, request: Callable[[Deadline], Outcome], *, longest: float | None = None
) -> Outcome:
    """Call `request` with a deadline and return its outcome. The deadline is the call's timeout, at most `longest`
    seconds.

    `what` is the target in error messages. Exceptions of botocore and templates that cannot be rendered become
    failures. The run's token is removed from the response of the target.
    """
    return _kept(_outcome(what, call, clock, request, longest), redaction_of(call))


def handed_over(what: str, call: Call, clock: Clock, request: Callable[[Deadline], Outcome]) -> Outcome:
    """Call `request` like `attempted`, for a target that only accepts a message or starts something."""
    return attempted(what, call, clock, request, longest=HANDOVER_SECONDS)


_RESPONSE_LOST = frozenset({"timeout", "connection"})
"""The codes of failures after which it is unknown whether a call took effect."""


def started(what: str, call: Call, clock: Clock, request: Callable[[Deadline], Outcome]) -> Outcome:
    """Call `request` like `handed_over`, for a target that starts an execution. If the job follows the execution, a
    call whose response was lost is repeated once: the service recognizes the name of the attempt, and otherwise the
    next attempt would start another execution beside this one. The two calls share the timeout of the attempt, whose
    lease ends soon afterwards.
    """
    if call.job.completion is not Completion.END:
        return handed_over(what, call, clock, request)
    longest = min(HANDOVER_SECONDS, call.timeout_seconds / 2)
    outcome = attempted(what, call, clock, request, longest=longest)
    if isinstance(outcome, Failed) and outcome.code in _RESPONSE_LOST:
        return attempted(what, call, clock, request, longest=longest)
    return outcome


def _outcome(
    what: str, call: Call, clock: Clock, request: Callable[[Deadline], Outcome], longest: float | None
) -> Outcome:
    seconds = call.timeout_seconds if longest is None else min(call.timeout_seconds, longest)
    if seconds <= 0:
        return Failed(f"{what} was not called: no time was left", code="timeout")
    try:
        return request(Deadline(seconds))
    except ServiceError as refused:
        wish = retry_after_seconds(refused.retry_after, clock.now())
        return refusal(what, refused.code, refused.message, status=refused.status, retry_after=wish)
    except TimeoutError:
        return _late(what, seconds)
    except ssl.SSLError:
        return Failed(f"{what}: the TLS connection failed", code="tls")
    except ConnectionError as problem:  # some of boto3's errors are an OSError, but none is a ConnectionError
        return _unreached(what, problem)
    except TemplateError as problem:
        return Failed(f"{what} was not called: {problem}", retryable=False, code=problem.code)
    except Exception as problem:
        if (outcome := _outcome_of_boto3(problem, what, clock, seconds)) is None:
            raise
        return outcome


def _late(what: str, seconds: float) -> Failed:
    return Failed(f"{what} did not respond within {ceil(seconds)} s; the call may still take effect", code="timeout")


def _unreached(what: str, problem: Exception) -> Failed:
    return Failed(f"{what} could not be reached ({type(problem).__name__})", code="connection")


def _outcome_of_boto3(problem: Exception, what: str, clock: Clock, seconds: float) -> Outcome | None:
    """Return the outcome of an error of boto3, or None for another exception."""
    from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError
    from botocore.parsers import ResponseParserError

    match problem:
        case ClientError():
            return refusal_of(problem, what, clock.now())
        case ReadTimeoutError():
            return _late(what, seconds)
        case BotoCoreError():
            return failure_of(problem, what)
        case ResponseParserError():  # not a BotoCoreError: the page of a proxy, or an incomplete response
            return Failed(
                f"{what} returned a response that cannot be read; the call may still take effect", code="connection"
            )
        case _:
            return None


def redaction_of(call: Call) -> Redaction:
    """Return a redaction of the run's token: a target that returns its event must not put the token into the record."""
    return Redaction() if call.callback_token is None else Redaction((call.callback_token,))


def _kept(outcome: Outcome, redaction: Redaction) -> Outcome:
    match outcome:
        case Failed():  # cut after the redaction: it would not find a token that is cut
            detail = None if outcome.detail is None else cut(redaction.text(outcome.detail), _ERROR_BYTES)
            return replace(outcome, error=cut(redaction.text(outcome.error), _ERROR_BYTES), detail=detail)
        case Returned():
            return replace(outcome, result=redaction.value(outcome.result))


def wait_of(deadline: Deadline) -> int:
    """Return the timeout for a client in whole seconds. Raises TimeoutError."""
    return ceil(deadline.left())


def refusal_of(refused: ClientError, what: str, now: float) -> Failed:
    """Return the failure for the error of a service: its code, and whether and when to retry. `now` is in UTC
    seconds.
    """
    error, meta = refused.response.get("Error", {}), refused.response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode", 500))
    wish = retry_after_seconds(meta.get("HTTPHeaders", {}).get("retry-after"), now)
    return refusal(what, error.get("Code"), error.get("Message"), status=status, retry_after=wish)


def refusal(what: str, code: object, message: object, *, status: int = 400, retry_after: float | None = None) -> Failed:
    """Return the failure for an error code of a service, either of a whole request or of one of its entries. `message`
    is for operators: tenants see a plain description of the code.

    Retryable: throttling, service errors, stale credentials, a conflict. Not retryable: missing permission, an unknown
    resource, an invalid request.
    """
    word = cut(str(code or f"http.{status}"), _CODE_BYTES)
    retryable = status >= 500 or status in _RETRYABLE_STATUSES or word in _RETRYABLE_CODES or _throttles(word)
    detail = str(message) if message else None
    return Failed(said(what, word, _plainly(word, status)), retryable, retry_after, code=word, detail=detail)


def _plainly(code: str, status: int) -> str:
    """Return a description of an error that does not depend on the message of the service."""
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
    """Return `queue orders: AccessDenied: why`. `attempted` truncates it to a length that fits a record."""
    return ": ".join(str(word) for word in (what, code, message) if word)


def failure_of(problem: BotoCoreError, what: str) -> Failed:
    """Return the failure for an error of botocore itself. It never contains the request, which may have a token."""
    from botocore import exceptions as botocore

    match problem:
        case botocore.ReadTimeoutError():
            return Failed(f"{what} did not respond in time; the call may still take effect", code="timeout")
        case botocore.SSLError():
            return Failed(f"{what}: the TLS connection failed", code="tls")
        case botocore.HTTPClientError() if isinstance(problem.kwargs.get("error"), ValueError):
            text = f"{what} was not called: a parameter contains characters that HTTP does not allow"
            return Failed(text, retryable=False, code="ParamValidation")
        case botocore.ConnectionError() | botocore.HTTPClientError() | botocore.IncompleteReadError():
            return _unreached(what, problem)
        case botocore.ParamValidationError():
            text = f"{what} was not called: {problem.kwargs.get('report', '')}"
            return Failed(text, retryable=False, code="ParamValidation")
        case botocore.EndpointProviderError() | botocore.InvalidHostLabelError():
            text = f"{what} was not called: its parameters do not result in a valid address"
            return Failed(text, retryable=False, code="ParamValidation")
        case botocore.DataNotFoundError():
            return Failed(f"{what} was not called: the service is not known", retryable=False, code="service_unknown")
        case _:
            return Failed(f"{what} could not be called ({type(problem).__name__})", code=type(problem).__name__)


def _throttles(code: str) -> bool:
    """Return whether a code means throttling: `Throttling`, `ThrottlingException`, `KmsThrottled`,
    `RequestThrottled` …
    """
    return "throttl" in code.lower()


class ClientInName(Protocol):
    """Creates an AWS client that uses an assumed role: for a service, with the role's credentials, a read timeout (in
    seconds) and no retries.
    """

    def __call__(self, service: str, seconds: int, credentials: Credentials) -> Any:
        """Return the client. Raises BotoCoreError for an unknown service."""


class AwsCaller:
    """Calls actions in the stage's account and region. Safe to share between threads.

    The actions and roles of a job were checked when it was created. The policy of a role limits the calls.
    """

    def __init__(self, clock: Clock, client_for: ClientInName, roles: Roles) -> None:
        self._clock = clock
        self._client_for = client_for
        self._roles = roles

    @classmethod
    def made_of(cls, means: Means, client_for: ClientFor) -> Self:
        """Return the caller of a process. `client_for` returns clients of STS."""
        return cls(means.clock, means.clients.calling, Roles(means.clock, client_for, means.arns))

    def call(self, call: Call, target: AwsTarget) -> Outcome:
        """Call the action. A response without an error is a success, and is the result.

        Not retryable, in addition to the usual errors: an action that the service does not have, and unknown
        parameters.
        """
        name = f"{target.service}:{target.action}"
        return attempted(name, call, self._clock, partial(self._ask, name, call, target))

    def _ask(self, name: str, call: Call, target: AwsTarget, deadline: Deadline) -> Outcome:
        from botocore import xform_name
        from botocore.exceptions import ClientError

        parameters = render_target(target, call.values).parameters
        session = session_name(call.run)
        credentials = self._roles.assume(target.role, session, deadline)
        client = self._client_for(target.service, wait_of(deadline), credentials)
        method = xform_name(target.action)
        if problem := _problem(client, method, target.action, parameters):
            return Failed(f"{name} was not called: {problem}", retryable=False, code="ParamValidation")
        try:
            answer = getattr(client, method)(**parameters)
        except ClientError as refused:
            if refused.response.get("Error", {}).get("Code") in STALE_CREDENTIALS:
                self._roles.forget(target.role, session)
            raise
        return Returned(result_of(answer, deadline), started_by(target, parameters, answer))


def _problem(client: Any, method: str, action: str, parameters: Any) -> str | None:
    """Return a problem that botocore does not report, or not clearly. botocore itself checks the types of values."""
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
