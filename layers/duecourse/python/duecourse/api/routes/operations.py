"""The routes of operations: redrives, discards and cancellations of many runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import unquote

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, Millisecond, Second
from duecourse.api.api import Answer, Api, check_tags, route
from duecourse.api.bodies.definition_body import JobName, Tag
from duecourse.api.bodies.models import Body, Instant, Note, Whole
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import OPS, WRITE, insufficient_scope
from duecourse.api.problems import FieldFault, Problem, invalid, shortened
from duecourse.api.query import MAX_ERROR_TEXT
from duecourse.api.request import Request, read_key, request_key
from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.runs.operations import (
    MAX_KEPT,
    MAX_PER_MINUTE,
    MAX_RUNNING,
    OPERATION_ID,
    STATES,
    Omission,
    Operation,
    OperationKind,
    OperationState,
)
from duecourse.domain.runs.states import RunState
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.runs.operations import (
    OperationEndedError,
    OperationQuotaError,
    OperationUnknownError,
)

HANDLED = tuple(dict.fromkeys(state for states in STATES.values() for state in states))

MAX_EXPECTED = 1_000_000_000

if TYPE_CHECKING:
    HandledState = str
else:
    HandledState = Literal[tuple(each.value for each in HANDLED)]


class OperationBody(Body):
    """An operation to create: its kind, and a filter for runs. The filter has the job, the states, the time at which
    the runs entered their state (from `since`, before `until`), a current tag of the job, and a text in the error.
    """

    kind: Annotated[Literal["redrive", "cancel", "discard"], Field(description="What is done with each run.")]
    job_id: JobName | None = None
    tag: Tag | None = None
    state: Annotated[
        list[HandledState] | None,
        Field(
            min_length=1,
            max_length=len(HANDLED),
            description="`DEAD` for `redrive` and `discard`, and states of runs that have not ended for `cancel`; by "
            "default, all of them.",
        ),
    ] = None
    error: Annotated[str, Field(min_length=1, max_length=MAX_ERROR_TEXT)] | None = None
    since: Instant | None = None
    until: Instant | None = None
    per_minute: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=MAX_PER_MINUTE,
            description="The maximum number of runs per minute. By default, half of the tenant's request rate.",
        ),
    ] = None
    limit: Annotated[Whole | None, Field(ge=1, description="The maximum number of runs. By default, all.")] = None
    expected: Annotated[
        Whole | None,
        Field(ge=0, le=MAX_EXPECTED, description="The number of runs that you expect. It is only shown, as progress."),
    ] = None
    note: Annotated[Note, Field(min_length=1, description="The note of a `discard`.")] | None = None

    def states(self) -> tuple[RunState, ...]:
        """Return the states in the order in which they are handled. Raises Problem (422) if the kind does not allow
        one of them or the note, or if `until` is not later than `since`.
        """
        known = STATES[OperationKind(self.kind)]
        faults = [
            FieldFault(f"is not a state of runs that {self.kind} can handle: {', '.join(known)}", f"/state/{index}")
            for index, state in enumerate(self.state or ())
            if state not in known
        ]
        if self.since is not None and self.until is not None and self.since >= self.until:
            faults.append(FieldFault("must be later than since", "/until"))
        if self.note is not None and self.kind != "discard":
            faults.append(FieldFault("is only for kind discard; remove it", "/note"))
        if faults:
            raise invalid(faults, "invalid-command")
        return tuple(state for state in known if self.state is None or state in self.state)


class OperationFilterAnswer(TypedDict):
    """The filter of an operation."""

    job_id: str | None
    tag: str | None
    state: list[RunState]
    error: str | None
    since: Second | None
    until: Second | None


Skipped = Annotated[
    dict[Omission, Count],
    Field(
        description="The number of runs to which no command was sent, by reason: the job was deleted "
        "(`job_deleted`) or cannot be read by this release (`job_unreadable`), no failed step of the workflow is dead "
        "(`nothing_to_redrive`), the run is no longer dead (`not_dead`), or the job, or another job of the "
        "workflow, has none of the tags of the creator's scopes (`out_of_scope`)."
    ),
]


class OperationAnswer(TypedDict):
    """An operation and its progress."""

    id: Annotated[str, Field(pattern=f"^{OPERATION_ID}$")]
    kind: OperationKind
    filter: OperationFilterAnswer
    per_minute: int | None
    limit: int | None
    expected: Annotated[int | None, Field(description="The number of runs that the creator expected.")]
    scope_tags: Annotated[
        list[str] | None, Field(description="The tags of the creator's scopes; null if these had no tags.")
    ]
    note: str | None
    state: OperationState
    reason: Annotated[str | None, Field(description="Why it failed.")]
    done: Annotated[
        Count,
        Field(
            description="The number of runs to which the command was sent. Each time a worker dies, up to 100 runs may "
            "not be counted, also towards `limit`."
        ),
    ]
    refused: Annotated[Count, Field(description="The number of runs whose queue did not accept the command.")]
    skipped: Skipped
    searched_to: Annotated[
        Millisecond | None,
        Field(
            description="The time down to which the list of runs was handled, newest first. Null for a cancellation of "
            "runs of one job."
        ),
    ]
    created_by: str
    created_at: Millisecond
    updated_at: Annotated[Millisecond, Field(description="The last progress.")]
    ended_at: Millisecond | None
    expires_at: Annotated[Second, Field(description="The operation ends by this time, even if it is not complete.")]


class OperationEstimateAnswer(TypedDict):
    """The number of runs that an operation would handle."""

    runs: Count
    skipped: Skipped
    more: Annotated[bool, Field(description="Whether there may be further runs; the count is limited.")]


class OperationsAnswer(TypedDict):
    """The operations of the tenant, newest first."""

    items: list[OperationAnswer]


@route(
    "POST",
    "/v1/operations",
    "operations",
    {202: OperationAnswer},
    body=OperationBody,
    headers=("Idempotency-Key",),
    only_for=frozenset({OPS, WRITE}),
    checks_tags=True,
    problems=(
        *("invalid-command", "unknown-job", "operation-quota", "idempotency-key-reused", "idempotency-key-expired"),
        *("lane-unavailable", "busy"),
    ),
)
def create_operation(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Redrive, discard or cancel many runs.

    Creates an operation, which continues without its caller. It handles each run that the filter selects once, newest
    first: `redrive` starts dead runs again, and `discard` discards them, unless they died after the operation was
    created; `cancel` requests the cancellation of runs that have not ended, except those that came due after the
    operation was created and have started. Each run counts as a request of the tenant; the operation waits while the
    tenant's limit is reached. At most five operations of a tenant run at the same time, each for at most a day. A
    tag-scoped caller can only affect runs of jobs with its tags, and redrive or cancel runs of workflows all of whose
    jobs have them; a caller with several tags sets `tag` or `job_id`. The operation continues if the caller's token
    expires or is revoked.
    """
    wanted = _drafted(api, request, read_key(request))
    try:
        made = api.operations.create(wanted)
    except OperationQuotaError:
        detail = f"{MAX_RUNNING} operations of the tenant are running, the maximum"
        raise Problem("operation-quota", f"{detail}; wait until one of them ends, or cancel one.") from None
    facts = {"operation": made.id, "kind": made.kind, "job_id": made.job_id, "by": made.created_by}
    location = {"location": f"/v1/operations/{made.id}"}
    return Answer(HTTPStatus.ACCEPTED, "operation_created", _document(api, made), location, facts)


@route(
    "POST",
    "/v1/operations/estimate",
    "operations",
    {200: OperationEstimateAnswer},
    body=OperationBody,
    only_for=frozenset({OPS, WRITE}),
    checks_tags=True,
    problems=("invalid-command", "unknown-job"),
)
def estimate_operation(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Count the runs of an operation.

    Returns the number of runs that an operation with this body would handle, without creating it. It counts at most
    2,000 runs, and fewer if it has to search many runs.
    """
    wanted = _drafted(api, request, None)
    found = api.operations.estimate(wanted, request.budget.charge)
    estimate = OperationEstimateAnswer(runs=found.runs, skipped=found.skipped, more=found.more)
    facts = {"kind": wanted.kind, "job_id": wanted.job_id, "runs": found.runs}
    return Answer(HTTPStatus.OK, "operation_estimated", estimate, facts=facts)


def _drafted(api: Api, request: Request, key: str | None) -> Operation:
    """Return the operation of a request's body. Raises Problem for an invalid body, or one out of the caller's
    reach.
    """
    body = read_body(request, OperationBody)
    states = body.states()
    _check_reach(api, request, body)
    chosen = body.model_dump(exclude={"kind", "state"})
    place = f"operation {request.principal} {sorted(request.tags or ())}"
    return api.operations.draft(
        request.tenant,
        OperationKind(body.kind),
        by=request.principal,
        tags=request.tags,
        request=request_key(key, body.model_dump(mode="json"), place),
        states=states,
        **chosen,
    )


def _check_reach(api: Api, request: Request, body: OperationBody) -> None:
    """Raise Problem (403) if a tag-scoped caller may not use the filter. The runs are checked one by one later."""
    if request.tags is None:
        return
    if body.job_id is not None:
        job = api.manual.parts.jobs.get(request.tenant, body.job_id)
        if job is None:
            raise JobUnknownError(body.job_id)
        check_tags(request, job.tags, f"The job {job.id}", "/job_id")
    is_chosen = body.job_id is not None or len(request.tags) == 1
    if body.tag not in request.tags and not (body.tag is None and is_chosen):
        remedy = f"must be one of the tags of the caller's scopes: {', '.join(sorted(request.tags))}"
        raise insufficient_scope(f"The field tag {remedy}.", frozenset({WRITE}), [FieldFault(remedy, "/tag")])


@route("GET", "/v1/operations", "operations", {200: OperationsAnswer}, checks_tags=True)
def list_operations(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List operations.

    Lists the running operations of the tenant and about 20 ended ones of the last two days, newest first. Tag-scoped
    callers see the operations of callers with no other tags than theirs.
    """
    items = [_document(api, each) for each in api.operations.all(request.tenant) if _is_visible(request, each)]
    return Answer(HTTPStatus.OK, "operations_listed", OperationsAnswer(items=items), facts={"items": len(items)})


@route(
    "GET",
    "/v1/operations/<operation_id>",
    "operations",
    {200: OperationAnswer},
    problems=("unknown-operation",),
    checks_tags=True,
)
def get_operation(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read an operation.

    Returns the operation with its progress.
    """
    operation = _named(api, request, parameters)
    return Answer(HTTPStatus.OK, "operation_read", _document(api, operation), facts={"operation": operation.id})


@route(
    "POST",
    "/v1/operations/<operation_id>/cancel",
    "operations",
    {200: OperationAnswer},
    only_for=frozenset({OPS, WRITE}),
    problems=("unknown-operation", "operation-ended"),
    checks_tags=True,
)
def cancel_operation(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Cancel an operation.

    It handles no further runs, except those of the page in progress (at most 100). Commands that were already sent
    remain in effect.
    """
    operation = _named(api, request, parameters)
    try:
        cancelled = api.operations.cancel(operation)
    except OperationUnknownError:
        raise _unknown(operation.id) from None
    except OperationEndedError as error:
        raise Problem("operation-ended", f"The operation has ended: it is {error.state}.") from None
    facts = {"operation": cancelled.id, "by": request.principal}
    return Answer(HTTPStatus.OK, "operation_cancelled", _document(api, cancelled), facts=facts)


def _named(api: Api, request: Request, parameters: Mapping[str, str]) -> Operation:
    operation_id = unquote(parameters["operation_id"])
    if re.fullmatch(OPERATION_ID, operation_id) is None:
        raise _unknown(operation_id)
    try:
        operation = api.operations.get(request.tenant, operation_id)
    except OperationUnknownError:
        raise _unknown(operation_id) from None
    if not _is_visible(request, operation):
        raise _unknown(operation_id)
    return operation


def _is_visible(request: Request, operation: Operation) -> bool:
    return request.tags is None or (operation.tags is not None and operation.tags <= request.tags)


def _unknown(operation_id: str) -> Problem:
    why = f"it never existed, or has ended: about {MAX_KEPT} ended operations are kept, for two days"
    return Problem("unknown-operation", f'There is no operation "{shortened(operation_id)}"; {why}.')


def _document(api: Api, operation: Operation) -> OperationAnswer:
    state, reason = operation.shown_state(api.operations.parts.clock.now())
    return {
        "id": operation.id,
        "kind": operation.kind,
        "filter": {
            "job_id": operation.job_id,
            "tag": operation.tag,
            "state": list(operation.states),
            "error": operation.error,
            "since": _second(operation.since),
            "until": _second(operation.until),
        },
        "per_minute": operation.per_minute,
        "limit": operation.limit,
        "expected": operation.expected,
        "note": operation.note,
        "scope_tags": None if operation.tags is None else sorted(operation.tags),
        "state": state,
        "reason": reason,
        "done": operation.done,
        "refused": operation.refused,
        "skipped": dict(operation.skipped),
        "searched_to": millisecond(operation.searched_to),
        "created_by": operation.created_by,
        "created_at": millisecond(operation.created_at),
        "updated_at": millisecond(operation.updated_at),
        "ended_at": millisecond(operation.ended_at),
        "expires_at": to_iso(operation.ends_by),
    }


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)
