"""The types of responses, and the code that builds responses for API Gateway.

The routes build responses of these types, and the OpenAPI document describes them. A field without a value is null.
Only a field that is marked NotRequired can be missing. The suffix `Answer` is not part of a schema's name in the
document.

Powertools resolves the route of a request. This module builds and logs every response, including errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NotRequired, TypeVar, cast

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.metrics import MetricUnit, single_metric
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.api import Answer, Route
from duecourse.api.bodies.models import write_json
from duecourse.api.problems import Problem, internal, later, unavailable
from duecourse.api.request import Request, read_request
from duecourse.domain.ids import ID_PATTERN, SUFFIX_PATTERN
from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.jobs.calendars import pause_of
from duecourse.domain.jobs.document import definition_document
from duecourse.domain.runs import document as documents
from duecourse.domain.runs.states import MAX_ATTEMPTS, MAX_ERROR, AttemptOutcome, Run, RunState
from duecourse.domain.targets.targets import ExecutionService
from duecourse.limits import METRICS_NAMESPACE
from duecourse.stores.run_item import ignored
from duecourse.telemetry import failures, loggable
from duecourse.usecases.jobs.view import JobView
from duecourse_schedules.schedule import understood

if TYPE_CHECKING:
    from duecourse.usecases.standby import Standby

Document = dict[str, Any]
Item = TypeVar("Item")

LOCAL = rf"[0-9]{{8}}T[0-9]{{6}}Z{SUFFIX_PATTERN}$"
RUN_ID = rf"^{ID_PATTERN}\.{LOCAL}"
"""A run's id as an ECMA regular expression."""

_INSTANT: Document = {"format": "date-time"}
Second = Annotated[
    str, Field(json_schema_extra=_INSTANT, description="UTC, with a fraction only if it is not a whole second.")
]
Millisecond = Annotated[str, Field(json_schema_extra=_INSTANT, description="UTC, to the millisecond.")]
JobId = Annotated[str, Field(pattern=f"^{ID_PATTERN}$")]
RunId = Annotated[str, Field(pattern=RUN_ID)]
Count = Annotated[int, Field(ge=0)]


class TotalAnswer(TypedDict):
    """The number of matching jobs, and the number of jobs that were searched."""

    matching: Count
    searched: Count
    complete: Annotated[bool, Field(description="False if one request cannot search or read all jobs.")]


class PageAnswer(TypedDict, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: str | None
    total: NotRequired[Annotated[TotalAnswer, Field(description="Only with `total=true`.")]]
    unlisted: NotRequired[
        Annotated[
            list[RunState],
            Field(description="The states whose runs the stage does not list across jobs. Only if there are some."),
        ]
    ]
    complete: NotRequired[
        Annotated[bool, Field(description="Only for limits: false if there are more waiting runs than were examined.")]
    ]
    unreadable: NotRequired[
        Annotated[
            list[JobId],
            Field(description="The jobs of this page that this release cannot read. Only if there are some."),
        ]
    ]


class DiscardAnswer(TypedDict):
    """When a dead run was discarded, by which caller (null: its job was deleted), and the caller's note."""

    at: Millisecond
    by: str | None
    note: str | None


class DelaysAnswer(TypedDict):
    """The parts of a run's lateness, in seconds."""

    dispatch: Annotated[float, Field(ge=0, description="Until its message was sent.")]
    queue: Annotated[
        float,
        Field(ge=0, description="Until a worker received the message. For a run that waited, also until it was sent."),
    ]
    waiting: Annotated[float, Field(ge=0, description="For another run of its job, or at the limits of a key.")]
    start: Annotated[float, Field(ge=0, description="Until the call, in the worker.")]


class ExecutionAnswer(TypedDict):
    """The work that the call of a run has started in an AWS service."""

    service: ExecutionService
    id: Annotated[str, Field(description="An ARN, a Batch job's id, or a Glue job's name and run id (`name/jr_1`).")]


class RunAnswer(TypedDict):
    """A run: the execution of one occurrence."""

    id: RunId
    job_id: JobId
    state: RunState
    reason: Annotated[str | None, Field(description="The reason for this state, if it is not obvious.")]
    occurrence: Annotated[Second, Field(description="The instant that the schedule gives, before spread and jitter.")]
    due: Annotated[Second, Field(description="The occurrence, delayed by the spread and jitter of the job.")]
    started_at: Annotated[Millisecond | None, Field(description="When the first attempt started.")]
    finished_at: Millisecond | None
    attempt_started_at: Annotated[
        Millisecond | None,
        Field(description="The start of the attempt that is in progress or that ended at `finished_at`."),
    ]
    next_attempt_at: Annotated[Millisecond | None, Field(description="When the next attempt starts, or tries again.")]
    duration_seconds: Annotated[float | None, Field(description="How long the last attempt took, if it has ended.")]
    lateness_seconds: Annotated[float | None, Field(description="The time from the due second to the first start.")]
    delays: Annotated[
        DelaysAnswer | None,
        Field(description="Where the lateness came from, if the first start was more than a second late."),
    ]
    attempts: Annotated[Count, Field(description="The number of attempts that have started.")]
    max_attempts: Count
    waiting_for: Annotated[
        Literal["overlap", "concurrency", "rate", "breaker"] | None,
        Field(
            description="Whether the run waits for another run of its job, for a place of its concurrency key, for the "
            "rate of its rate key, or for a circuit breaker."
        ),
    ]
    concurrency_key: Annotated[
        str | None,
        Field(description="The key for which the run waits, or whose limit counted its last attempt."),
    ]
    rate_key: Annotated[str | None, Field(description="The key for whose rate the run waits.")]
    breaker_key: Annotated[str | None, Field(description="The key for whose circuit breaker the run waits.")]
    waiting_since: Annotated[Millisecond | None, Field(description="When the run began to wait; kept after the wait.")]
    waiting_until: Annotated[Millisecond | None, Field(description="The time by which the callback must arrive.")]
    heartbeat_until: Annotated[
        Millisecond | None, Field(description="The time by which the next heartbeat must arrive.")
    ]
    heartbeat_at: Annotated[Millisecond | None, Field(description="The last heartbeat of the last attempt.")]
    progress: Annotated[float | None, Field(ge=0, le=1, description="The progress that the last attempt reported.")]
    note: Annotated[str | None, Field(description="The note that the last attempt reported.")]
    worker: Annotated[str | None, Field(description="The pull worker that last reported for the last attempt.")]
    execution: Annotated[
        ExecutionAnswer | None,
        Field(description="The execution whose end the run waits for, or waited for (`completion: end`)."),
    ]
    cancel_requested: Annotated[
        str | None,
        Field(description="The reason for a requested cancellation, until the worker has received the request."),
    ]
    result: Annotated[
        Any,
        Field(
            description="The response of the target; null if the response is stored elsewhere (result_url, "
            "result_location)."
        ),
    ]
    result_bytes: int | None
    result_location: Annotated[
        str | None, Field(description="The object (s3://BUCKET/KEY) with the result of a job that has `results`.")
    ]
    result_error: Annotated[str | None, Field(description="Why the bucket in `results` did not accept the result.")]
    error: str | None
    code: Annotated[str | None, Field(description="The code of the last failure, such as http.503 or timeout.")]
    discarded: DiscardAnswer | None
    count: Annotated[int, Field(ge=1, description="The number of occurrences that this record covers.")]
    requested_by: Annotated[str | None, Field(description="The caller who requested the run, or who skipped it.")]
    correlation_id: Annotated[
        str | None, Field(description="The correlation id in the log lines of the run and in the calls of its target.")
    ]
    workflow: Annotated[JobId | None, Field(description="The workflow that started this run, or whose run this is.")]


class AttemptAnswer(TypedDict):
    """One attempt of a run."""

    number: Annotated[int, Field(ge=1)]
    started_at: Millisecond | None
    ended_at: Annotated[
        Millisecond | None, Field(description="Null while the attempt is in progress, and if its end was not recorded.")
    ]
    outcome: Annotated[AttemptOutcome | None, Field(description="Null while the attempt is in progress.")]
    error: Annotated[str | None, Field(description=f"The first {MAX_ERROR} characters of the error.")]
    code: str | None
    worker: Annotated[str | None, Field(description="The pull worker that last reported for this attempt.")]


class SingleRunAnswer(RunAnswer):
    """A run with its attempts, and a temporary address of a large result."""

    attempt_list: Annotated[
        list[AttemptAnswer],
        Field(max_length=MAX_ATTEMPTS, description="The last attempts that the record has, oldest first."),
    ]
    result_url: NotRequired[str]
    result_url_seconds: NotRequired[Count]
    waits_for: NotRequired[
        Annotated[
            list[JobId],
            Field(
                description="The steps that the run waits for, if it belongs to a step that may run after all because "
                "another step was redriven. Empty if the step can start."
            ),
        ]
    ]


class AcceptedAnswer(TypedDict):
    """The request was accepted and is processed later; the response is the current state of the run."""

    run: RunAnswer
    accepted: Literal["complete", "fail", "cancel", "redrive"]


class ErrorAnswer(TypedDict):
    """One error: a pointer (RFC 6901) into the body, or the name of a query parameter or header."""

    detail: str
    pointer: NotRequired[str]
    parameter: NotRequired[str]
    header: NotRequired[str]


class ProblemAnswer(TypedDict):
    """An error (RFC 9457). Programs should compare the last part of `type` and show `detail`."""

    type: Annotated[str, Field(pattern=r"^/problems/[a-z-]+$")]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    errors: list[ErrorAnswer]
    request_id: str


class StateProblemAnswer(ProblemAnswer):
    """An error with the state of the run."""

    state: RunState


class GatewayMessage(TypedDict):
    """A response of API Gateway to a request that does not reach Duecourse."""

    message: str | None


class OpenApiDocument(TypedDict):
    """This document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]


def job_document(view: JobView) -> Document:
    """Return the fields of the posted body with defaults filled in, and the job's current state. Its schema is
    `JobAnswer`.
    """
    job = view.job
    paused_until, following = job.pause_ends_at, view.next_occurrence
    return {
        "id": job.id,
        "tenant": job.tenant,
        "state": job.state.value,
        **definition_document(job),
        **understood(job.schedule),
        "next_occurrence": None if following is None else to_iso(following),
        "runs_left": view.runs_left,
        "paused_by": job.paused_by,
        "paused_because": job.paused_because,
        "paused_until": None if paused_until is None else to_iso(paused_until),
        "shadow_since": None if job.shadow_since is None else millisecond(job.shadow_since),
        "planned_pause": pause.window if job.exclude and (pause := pause_of(job.exclude)) else None,
        "created_at": millisecond(job.created_at),
        "updated_at": millisecond(job.updated_at),
        "error": view.error,
        "workflow": job.workflow,
        "delete_at": None if job.expires_at is None else to_iso(job.expires_at),
    }


def run_document(run: Run) -> RunAnswer:
    """Return the run in the format that the archive also uses."""
    return cast(RunAnswer, documents.run_document(run))


def single_run_document(run: Run) -> SingleRunAnswer:
    """Return the run with its attempts."""
    return cast(SingleRunAnswer, documents.run_document(run) | {"attempt_list": documents.attempt_documents(run)})


JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
SHOWN_FAULTS = 5
"""The maximum number of faults of a rejected request that are logged."""


class Answering(ABC):
    """Responds to API Gateway's events (payload format 2.0) for some routes. Raises only if the event or the runtime is
    broken.

    `request` is the current request.
    """

    def __init__(self, stage: str, routes: Sequence[Route], logger: Logger) -> None:
        self._stage = stage
        self._routes = routes
        self._logger = logger
        self.request = Request("")
        self._resolver = APIGatewayHttpResolver()
        for route in routes:
            self._resolver.route(route.path, method=route.method)(self._bound(route))
        self._resolver.not_found(self._no_route)

    def __call__(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Return the response to one request."""
        self.request = read_request(event)
        # Powertools keeps the event in a class attribute, which applications in several threads would share.
        self._resolver.current_event = APIGatewayProxyEventV2(event)
        return self._resolver.resolve(event, context)

    @abstractmethod
    def answer(self, route: Route, parameters: Mapping[str, str]) -> Answer:
        """Return the response to `request`. `parameters` are the path parameters. Raises Problem."""

    @property
    def standby(self) -> Standby | None:
        """Whether this region works; None if the stage has no standby."""
        return None

    def _bound(self, route: Route) -> Callable[..., Response[str]]:
        def answered(parameters: Mapping[str, str]) -> Answer:
            # Also for reads: a health check and a client must find the region that works.
            if self.standby is not None and (stopped := self.standby.stopped()) is not None:
                raise later("unavailable", f"This region does not work: {stopped.detail}.")
            return self.answer(route, parameters)

        def answer(**parameters: str) -> Response[str]:
            return self._answered(lambda: answered(parameters))

        return answer

    def _no_route(self, _error: NotFoundError) -> Response[str]:
        event = self._resolver.current_event
        return self._answered(lambda: self._refuse_route(event.http_method, event.path))

    def _answered(self, work: Callable[[], Answer]) -> Response[str]:
        """Run `work` and turn its result or its exception into a response and one log line."""
        request = self.request
        ids = {"request_id": request.request_id, "correlation_id": request.correlation_id}
        try:
            answer = work()
            response = _response(answer, request)
        except Problem as problem:
            answer = Answer(
                problem.status,
                "request_refused",
                problem.document(request.request_id),
                problem.headers,
                {"problem": problem.kind, "detail": problem.detail, "faults": _shown(problem)},
            )
            response = _response(answer, request, PROBLEM_JSON)
        except Exception as error:
            self._logger.exception("request_failed", extra={"action": "request_failed", **ids})
            fault = unavailable(error) or internal()
            document = fault.document(request.request_id)
            answer = Answer(fault.status, "request_failed", document, fault.headers, counts={"InternalErrors": 1})
            response = _response(answer, request, PROBLEM_JSON)
        line = {"action": answer.action, "status": int(answer.status), **self._caller(), **ids}
        self._logger.info(answer.action, extra={**line, **loggable(answer.facts)})
        for name, count in {**answer.counts, "AttributesIgnored": ignored()}.items():
            if count:
                self._measure(name, count, "function", "api")
        for symptom, count in failures(answer.counts).items():
            self._measure("Failures", count, "symptom", symptom)
        for name, value in self.balances(answer).items():
            self._measure(name, value, "function", "callbacks")
        return response

    def balances(self, _answer: Answer) -> Mapping[str, float]:
        """Return sums that can be negative, for alarms on a share of the requests."""
        return {}

    def _measure(self, name: str, count: float, dimension: str, value: str) -> None:
        namespace = METRICS_NAMESPACE.format(stage=self._stage)
        with single_metric(name=name, unit=MetricUnit.Count, value=count, namespace=namespace) as metric:
            metric.add_dimension(name=dimension, value=value)

    def _refuse_route(self, method: str, path: str) -> Answer:
        """Return 404 for an unknown path, or 405 for a method that the path does not support."""
        named = [route for route in self._routes if route.path == path]  # before a route whose parameter it could be
        allowed = sorted(route.method for route in named or self._routes if _matches(route.path, path))
        if not allowed or method in allowed:  # in the second case, the path has an invalid segment
            raise Problem("unknown-path", "This path does not exist; GET /v1/openapi.json lists all paths.")
        raise Problem(
            "unknown-method",
            f"{method} is not allowed for this path; use {' or '.join(allowed)}.",
            headers={"allow": ", ".join(allowed)},
        )

    def _caller(self) -> dict[str, str]:
        """Return the log fields of the caller that the scope check identified, without a principal if it rejected the
        request.
        """
        principal = self.request.principal
        return {"tenant": self.request.tenant} | ({"principal": principal} if principal else {})


COMPRESSED_CHARACTERS = 1_000
"""A response with more characters is compressed if the caller accepts gzip."""


def _response(answer: Answer, request: Request, content_type: str = JSON) -> Response[str]:
    ids = {"x-request-id": request.request_id, "x-correlation-id": request.correlation_id}
    headers = {**ids, "cache-control": "no-store", **answer.headers}
    if answer.body is None:
        return Response(int(answer.status), headers=dict(headers), body="")
    text = write_json(answer.body)
    if {"items", "next_cursor"} <= answer.body.keys():
        headers["etag"] = tag = f'W/"{sha256(text.encode()).hexdigest()[:32]}"'
        if tag in map(str.strip, request.headers.get("if-none-match", "").split(",")):
            return Response(int(HTTPStatus.NOT_MODIFIED), headers=dict(headers), body="")
    compress = len(text) > COMPRESSED_CHARACTERS
    return Response(int(answer.status), content_type, text, dict(headers), compress=compress)


def _matches(pattern: str, path: str) -> bool:
    wanted, given = pattern.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        part == found or (part.startswith("<") and found) for part, found in zip(wanted, given, strict=True)
    )


def _shown(problem: Problem) -> list[dict[str, str]]:
    return [fault.document() for fault in problem.faults[:SHOWN_FAULTS]]
