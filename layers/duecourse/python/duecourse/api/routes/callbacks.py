"""The routes for the worker of a run. They require only the callback token, which contains the tenant and the attempt.

A body is read only after the token has been verified against the current attempt. These routes have no other
authorization.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from duecourse.api.answers import AcceptedAnswer, Millisecond, run_document
from duecourse.api.api import Answer, route
from duecourse.api.bodies.models import LINE, Body, no_controls, refuse
from duecourse.api.bodies.validation import read_body
from duecourse.api.problems import FieldFault
from duecourse.api.refusals import bad_token
from duecourse.api.request import Request
from duecourse.api.routes.runs import accepted, run_id_in
from duecourse.domain.runs.callbacks import CallbackToken, ProgressReport, TokenError, read_token
from duecourse.domain.runs.logs import MAX_DELIVERIES, MAX_PORTION_BYTES
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.runs.workers import MAX_WORKER, WORKER_PATTERN
from duecourse.domain.targets.targets import MAX_RETRY_AFTER_SECONDS
from duecourse.usecases.runs.commands import DEFAULT_CODE, Callbacks, ReportedFailure
from duecourse.usecases.runs.logs import LogWriter

MAX_RESULT_BYTES = 200 * 1024
MAX_ERROR = 2000
MAX_HEARTBEAT_BYTES = 4 * 1024
"""The maximum size of a heartbeat's body. It is larger than progress and the longest note."""
MAX_FAIL_BYTES = 32 * 1024
"""The maximum size of the body of `fail`. It is larger than the longest error with every character escaped."""
PROGRESS_DIGITS = 6
MAX_NOTE = 200
"""The maximum length of a note in characters. Heartbeats store the note."""


_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_UNSENDABLE = re.compile("[\ufffe\uffff]")
"""Characters that an SQS message must not contain (SendMessage). JSON escapes the other forbidden ones."""
_UNSENDABLE_FAULT = "contains U+FFFE or U+FFFF, which are not characters; remove them"


def _worker(name: str) -> str:
    if re.fullmatch(WORKER_PATTERN, name) is None:
        raise refuse(f"must be 1 to {MAX_WORKER} letters (A-Z, a-z), digits or _ . : / @ = + -")
    return name


WorkerName = Annotated[
    Annotated[str, Field(json_schema_extra={"pattern": f"^{WORKER_PATTERN}$"}), AfterValidator(_worker)] | None,
    Field(description="The name of the program or machine that works on the run."),
]


class CallbackApi(Protocol):
    """The dependencies of these routes. `Api` provides them; the callback function has no others."""

    @property
    def callbacks(self) -> Callbacks:
        """Heartbeats, completions and failures."""

    @property
    def log_writer(self) -> LogWriter:
        """The writer of logs."""


def _code(code: str) -> str:
    if _CODE.fullmatch(code) is None:
        raise refuse("must be 1 to 64 letters (A-Z, a-z), digits or _ . -")
    return code


def rounded(progress: float) -> float:
    """Return the progress as it is stored. DynamoDB cannot store numbers below 1e-130."""
    return round(progress, PROGRESS_DIGITS)


class HeartbeatBody(Body):
    """The progress of the work. Missing and null fields keep their previous values."""

    progress: Annotated[
        Annotated[float, Field(ge=0, le=1), AfterValidator(rounded)] | None,
        Field(description=f"From 0 to 1, stored with {PROGRESS_DIGITS} digits."),
    ] = None
    note: Annotated[
        Annotated[str, Field(max_length=MAX_NOTE, json_schema_extra=LINE), AfterValidator(no_controls)] | None,
        Field(description="A note for people; an empty text removes the note."),
    ] = None
    worker: WorkerName = None


class CompleteBody(Body):
    """The result of the work."""

    result: Any = None
    worker: WorkerName = None


class FailBody(Body):
    """The error of the work, and whether to retry."""

    error: Annotated[str, Field(min_length=1, max_length=MAX_ERROR)]
    code: Annotated[str, Field(json_schema_extra={"pattern": f"^{_CODE.pattern}$"}), AfterValidator(_code)] = (
        DEFAULT_CODE
    )
    retryable: bool | None = None
    retry_after: Annotated[float | None, Field(ge=0, le=MAX_RETRY_AFTER_SECONDS)] = None
    worker: WorkerName = None


class LogBody(Body):
    """A portion of the log of the work. The caller numbers the portions of an attempt."""

    text: Annotated[str, Field(min_length=1, description="At most 64 KB in UTF-8, without NUL.")]
    number: Annotated[
        int,
        Field(ge=1, le=999_999, description="From 1. A portion replaces the portion with the same number."),
    ] = 1
    delivery: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_DELIVERIES,
            description=(
                "How often a queue has delivered the message of the attempt. Portions of different deliveries do not "
                "replace each other."
            ),
        ),
    ] = 1


class LogStoredAnswer(TypedDict):
    """Whether the portion was stored; otherwise the log is full."""

    stored: bool


class HeartbeatAnswer(TypedDict):
    """The state of the run, and whether to stop working on it."""

    state: RunState
    cancel_requested: bool
    reason: str | None
    heartbeat_until: Millisecond | None
    waiting_until: Millisecond | None


@route(
    "POST",
    "/v1/runs/<run_id>/heartbeat",
    "callbacks",
    {200: HeartbeatAnswer},
    body=HeartbeatBody,
    body_optional=True,
    problems=("invalid-command",),
    run_token=True,
    only_for=frozenset(),
)
def heartbeat_run(api: CallbackApi, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Send a heartbeat.

    Extends the deadline by `heartbeat_seconds` and stores the reported progress with the run. At most one heartbeat per
    run is stored every five seconds; the first reported progress is always stored. The name of the worker is stored
    with the next heartbeat that is stored, or with the end. The body can be up to 4 KB. Stop working if
    `cancel_requested` is true, and on every 401 and 409.
    """
    run_id, token = run_id_in(parameters), _token(request)
    run = api.callbacks.admitted(run_id, token)
    body = read_body(request, HeartbeatBody, optional=True, most=MAX_HEARTBEAT_BYTES)
    beat = api.callbacks.heartbeat(run, token, ProgressReport(body.progress, body.note, body.worker))
    run = beat.run
    shown = run_document(run)
    answer = HeartbeatAnswer(
        state=run.state,
        cancel_requested=beat.stop is not None,
        reason=beat.stop,
        heartbeat_until=shown["heartbeat_until"],
        waiting_until=shown["waiting_until"],
    )
    facts = {"tenant": run.tenant, "run_id": run_id, "attempt": run.attempt, "stop": beat.stop}
    return _noted(api, run, body.worker, Answer(HTTPStatus.OK, "heartbeat_taken", answer, facts=facts))


@route(
    "POST",
    "/v1/runs/<run_id>/complete",
    "callbacks",
    {200: AcceptedAnswer, 202: AcceptedAnswer},
    body=CompleteBody,
    problems=("invalid-command", "lane-unavailable"),
    run_token=True,
    only_for=frozenset(),
)
def complete_run(api: CallbackApi, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Complete a run.

    The request can be repeated with the same token: the status is 200 after the run has ended.
    """
    run = api.callbacks.admitted(run_id_in(parameters), _token(request))
    body = read_body(request, CompleteBody, more=result_faults)
    run = api.callbacks.complete(run, body.result, body.worker)
    answer = _noted(api, run, body.worker, accepted("complete", run))
    return replace(answer, status=HTTPStatus.OK) if run.state is RunState.SUCCEEDED else answer


@route(
    "POST",
    "/v1/runs/<run_id>/fail",
    "callbacks",
    {202: AcceptedAnswer},
    body=FailBody,
    problems=("invalid-command", "lane-unavailable"),
    run_token=True,
    only_for=frozenset(),
)
def fail_run(api: CallbackApi, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Report the failure of a run.

    The retry policy of the job applies; `retryable: false` prevents another attempt. The body can be up to 32 KB.
    """
    run = api.callbacks.admitted(run_id_in(parameters), _token(request))
    body = read_body(request, FailBody, more=_error_faults, most=MAX_FAIL_BYTES)
    failure = ReportedFailure(body.error, body.code, body.retryable, body.retry_after, body.worker)
    return _noted(api, run, body.worker, accepted("fail", api.callbacks.fail(run, failure)))


def _noted(api: CallbackApi, run: Run, worker: str | None, answer: Answer) -> Answer:
    """Note the worker after its report was accepted, and return the answer. The log line and a metric show a failure to
    do so.
    """
    if worker is None:
        return answer
    error, facts = api.callbacks.workers.note(run, worker), {**answer.facts, "worker": worker}
    if error is None:
        return replace(answer, facts=facts)
    return replace(answer, facts={**facts, "worker_not_noted": error}, counts={"WorkersNotNoted": 1})


@route(
    "POST",
    "/v1/runs/<run_id>/log",
    "callbacks",
    {200: LogStoredAnswer},
    body=LogBody,
    problems=("invalid-command",),
    run_token=True,
    only_for=frozenset(),
)
def append_run_log(api: CallbackApi, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Append to the log of a run.

    Stores a portion of the log of the current attempt, before the attempt ends. Send a growing portion again under the
    same number until it has 64 KB, and then start the next one: of each delivery, the first 100 portions are stored.
    After that, the log ends with a line that says so, and `stored` is false. Callback tokens in the text are replaced
    by asterisks.
    """
    run_id, token = run_id_in(parameters), _token(request)
    run = api.callbacks.admitted(run_id, token)
    body = read_body(request, LogBody, more=_log_faults)
    stored = api.log_writer.append(run, body.delivery, body.number, body.text)
    facts = {"tenant": run.tenant, "run_id": run_id, "attempt": run.attempt, "number": body.number, "stored": stored}
    return Answer(HTTPStatus.OK, "log_appended", LogStoredAnswer(stored=stored), facts=facts)


def _log_faults(value: Mapping[str, Any]) -> Iterator[FieldFault]:
    if (size := len(str(value["text"]).encode())) > MAX_PORTION_BYTES:
        remedy = "send the rest as the next portion"
        yield FieldFault(f"has {size} bytes; at most {MAX_PORTION_BYTES} are allowed: {remedy}", "/text")


def _token(request: Request) -> CallbackToken:
    """Return the callback token of the request. Raises Problem (401)."""
    scheme, _, text = (request.authorization or "").partition(" ")
    try:
        if scheme.lower() == "bearer":
            return read_token(text.strip())
    except TokenError:
        pass
    raise bad_token()


def result_faults(value: Mapping[str, Any]) -> Iterator[FieldFault]:
    """Yield the fault of a `result` that is too large for a message or contains characters that cannot be sent."""
    text = json.dumps(value.get("result"), ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode())
    if size > MAX_RESULT_BYTES:
        remedy = "store it elsewhere and send its address"
        yield FieldFault(f"has {size} bytes as JSON; at most {MAX_RESULT_BYTES} are allowed: {remedy}", "/result")
    else:
        yield from unsendable(text, "/result")


def unsendable(text: str, pointer: str) -> Iterator[FieldFault]:
    """Yield the fault of a text with characters that a queue does not accept."""
    if _UNSENDABLE.search(text):
        yield FieldFault(_UNSENDABLE_FAULT, pointer)


def _error_faults(value: Mapping[str, Any]) -> Iterator[FieldFault]:
    return unsendable(str(value["error"]), "/error")
