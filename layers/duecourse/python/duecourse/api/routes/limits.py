"""The routes of concurrency limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import unquote

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId, Millisecond, PageAnswer, RunId, Second
from duecourse.api.api import Answer, Api, page_answer, route
from duecourse.api.bodies.models import Body, Whole
from duecourse.api.bodies.posted import posted
from duecourse.api.bodies.validation import read_body
from duecourse.api.identity import OPS, WRITE
from duecourse.api.problems import FieldFault, Problem, invalid, later, shortened
from duecourse.api.query import PageQuery, key_page_token, read_key_page_token
from duecourse.api.request import Request, read_absent, read_expected
from duecourse.domain.ids import parse_run_id
from duecourse.domain.instants import DAY_SECONDS, millisecond, to_iso
from duecourse.domain.jobs.job import MAX_ACTIVE_LIMIT, Breaker, Rate
from duecourse.domain.runs.overlap import KeyLimit
from duecourse.domain.runs.rendering import CONCURRENCY_KEY_PATTERN, DOT_SEGMENTS
from duecourse.domain.runs.states import RunState
from duecourse.gates.gate import KeyBusyError
from duecourse.usecases.runs.key_limits import (
    MAX_COUNTED,
    MAX_SHOWN,
    MAX_WAITING_READ,
    KeyStatus,
    KeyUnknownError,
    NoPlaceError,
    NoStoredLimitError,
    PlaceTakenAgainError,
)
from duecourse.usecases.worker.wait_queue import WaitQueueUnavailableError

CHANGE = frozenset({WRITE, OPS})
EXAMINED = f"the newest {MAX_WAITING_READ} queued and {MAX_WAITING_READ} retrying runs"

LimitKey = Annotated[str, Field(pattern=f"^{CONCURRENCY_KEY_PATTERN}$")]


if TYPE_CHECKING:
    from duecourse.domain.jobs.job import Breaker as _Breaker
    from duecourse.domain.jobs.job import Rate as _Rate
else:
    _Rate, _Breaker = posted(Rate, key=None), posted(Breaker, key=None)


class LimitRateBody(_Rate):
    """The rate of the attempts with the key."""


class LimitBreakerBody(_Breaker):
    """The settings of the circuit breaker of the key."""


class LimitBody(Body):
    """The limits of a key. Each value replaces the corresponding values of the jobs; without it, the values of the jobs
    apply.
    """

    concurrency: Annotated[
        Whole | None,
        Field(ge=0, le=MAX_ACTIVE_LIMIT, description="The maximum number of active runs with the key; 0: none starts."),
    ] = None
    rate: Annotated[LimitRateBody | None, Field(description="The rate of the attempts with the key.")] = None
    breaker: Annotated[
        LimitBreakerBody | None, Field(description="The settings of the circuit breaker of the key.")
    ] = None


class ReleaseBody(Body):
    """The run whose place is given to another run."""

    run_id: Annotated[str, Field(description="The id of a run that has a place of the key.")]


class HoldBody(Body):
    """The time for which no attempt with the key starts."""

    seconds: Annotated[Whole, Field(ge=1, le=DAY_SECONDS, description="The length of the hold.")]


class StoredRateAnswer(TypedDict):
    """A stored rate: attempts per minute, and how many may start at once."""

    per_minute: Annotated[int, Field(ge=1)]
    burst: Annotated[int, Field(ge=1)]


class StoredBreakerAnswer(TypedDict):
    """The stored settings of a circuit breaker."""

    failures: Annotated[int, Field(ge=1)]
    open_seconds: Annotated[int, Field(ge=1)]


class LimitAnswer(TypedDict):
    """A concurrency key and its stored limit."""

    key: LimitKey
    concurrency: Annotated[
        int | None, Field(ge=0, description="The stored limit; null if the limits of the jobs apply.")
    ]
    rate: Annotated[StoredRateAnswer | None, Field(description="The stored rate; null if the rates of the jobs apply.")]
    breaker: Annotated[
        StoredBreakerAnswer | None,
        Field(description="The stored settings of the circuit breaker; null if the settings of the jobs apply."),
    ]
    updated_at: Millisecond | None
    updated_by: str | None


class ListedLimitAnswer(LimitAnswer):
    """A concurrency key in a list."""

    waiting: Annotated[Count, Field(description="The runs that wait for a place, among the newest waiting runs.")]
    waiting_for_rate: Annotated[
        Count, Field(description="The runs that wait for the rate, among the newest waiting runs.")
    ]
    waiting_for_breaker: Annotated[
        Count, Field(description="The runs that wait for the circuit breaker, among the newest waiting runs.")
    ]


class ActiveRunAnswer(TypedDict):
    """A run that has a place of a key. `state` is null if it is about to start."""

    id: RunId
    job_id: JobId
    state: RunState | None
    started_at: Millisecond | None


class WaitingRunAnswer(TypedDict):
    """A run that waits for a place of a key."""

    id: RunId
    job_id: JobId
    due: Second
    place: Annotated[int, Field(ge=1, description="Its position in the wait queue.")]


class RatedRunAnswer(TypedDict):
    """A run that waits for the rate of a key."""

    id: RunId
    job_id: JobId
    next_attempt_at: Annotated[Millisecond | None, Field(description="When it starts, or tries again.")]


class SingleLimitAnswer(LimitAnswer):
    """A concurrency key, its stored limit and its runs."""

    active: list[ActiveRunAnswer]
    waiting: Annotated[
        Count, Field(description=f"The number of runs that wait for a place; at most {MAX_COUNTED} are counted.")
    ]
    queue: Annotated[list[WaitingRunAnswer], Field(description=f"The first {MAX_SHOWN} of them, in order.")]
    waiting_for_rate: Annotated[
        Count, Field(description="The number of runs that wait for the rate, among the newest waiting runs.")
    ]
    rate_queue: Annotated[list[RatedRunAnswer], Field(description=f"The first {MAX_SHOWN} of them, in order.")]
    paused_until: Annotated[
        Millisecond | None,
        Field(
            description="No run with the key starts before this time, because a target sent Retry-After or an operator "
            "holds the key."
        ),
    ]
    waiting_for_breaker: Annotated[
        Count, Field(description="The number of runs that wait for the circuit breaker, among the newest waiting runs.")
    ]
    breaker_state: Annotated[
        Literal["closed", "open", "half_open"],
        Field(description="The state of the circuit breaker. `half_open`: one attempt tests the target."),
    ]
    breaker_failures: Annotated[Count, Field(description="The failed attempts since the last success.")]
    breaker_open_until: Annotated[
        Millisecond | None, Field(description="When the circuit breaker lets an attempt start; null if it is closed.")
    ]
    complete: Annotated[
        bool, Field(description=f"False if there are more waiting runs of all keys than were examined ({EXAMINED}).")
    ]


@route("GET", "/v1/limits", "limits", {200: PageAnswer[ListedLimitAnswer]}, query=PageQuery)
def list_limits(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List concurrency limits.

    Lists the keys with a stored limit or with waiting runs, ordered by key. If `complete` is false, only the newest 200
    queued and 200 retrying runs were examined: there may be more keys, and more waiting runs.
    """
    query = PageQuery.of(request)
    after = read_key_page_token(query.cursor)
    found, following, complete = api.key_limits.page(request.tenant, limit=query.limit, after=after)
    cursor = None if following is None else key_page_token(following)
    items = [
        {
            **_document(each.key, each.stored),
            "waiting": each.waiting,
            **{f"waiting_for_{gate}": count for gate, count in each.at_gates.items()},
        }
        for each in found
    ]
    answer = page_answer("limits_listed", items, cursor, {})
    return replace(answer, body={**answer.body, "complete": complete})


@route(
    "GET",
    "/v1/limits/<limit_key>",
    "limits",
    {200: SingleLimitAnswer},
    problems=("unknown-limit", "invalid-limit"),
)
def get_limit(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Read a concurrency limit.

    Returns the stored limit of a key, its active runs and its wait queue.
    """
    key = _key_in(parameters)
    with _refused(key):
        found = api.key_limits.get(request.tenant, key)
    return Answer(HTTPStatus.OK, "limit_read", _status(found), _headers(found), {"key": key})


@route(
    "PUT",
    "/v1/limits/<limit_key>",
    "limits",
    {200: SingleLimitAnswer, 201: SingleLimitAnswer},
    body=LimitBody,
    only_for=CHANGE,
    headers=("If-Match", "If-None-Match"),
    problems=("invalid-limit", "busy", "lane-unavailable"),
)
def put_limit(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Set a concurrency limit.

    The limit replaces the limits of the jobs with this key, from the next start on. A higher limit starts waiting runs.
    A lower limit stops no run; the next run starts when fewer runs are active. With 0, all runs with the key wait. A
    run that waits for the rate keeps its planned instant.
    """
    expected = replace(read_expected(request), absent=read_absent(request))
    key, body = _key_in(parameters), read_body(request, LimitBody, kind="invalid-limit")
    if body.concurrency is None and body.rate is None and body.breaker is None:
        text = "is required without rate and breaker: write the maximum number of active runs"
        fault = FieldFault(text, "/concurrency")
        raise invalid([fault], "invalid-limit")
    rate = None if body.rate is None else Rate(key, body.rate.per_minute, body.rate.burst)
    breaker = None if body.breaker is None else Breaker(key, body.breaker.failures, body.breaker.open_seconds)
    with _refused(key):
        created = api.key_limits.put(
            request.tenant, key, body.concurrency, rate, breaker, by=request.principal, expected=expected
        )
    found = api.key_limits.status(request.tenant, key)
    answer, headers, facts = _status(found), _headers(found), {"key": key, "concurrency": body.concurrency}
    if created:
        headers["location"] = f"/v1/limits/{key}"
        return Answer(HTTPStatus.CREATED, "limit_created", answer, headers, facts)
    return Answer(HTTPStatus.OK, "limit_put", answer, headers, facts)


@route(
    "DELETE",
    "/v1/limits/<limit_key>",
    "limits",
    {204: None},
    only_for=CHANGE,
    headers=("If-Match",),
    problems=("unknown-limit", "invalid-limit", "busy", "lane-unavailable"),
)
def delete_limit(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Delete a concurrency limit.

    The limits of the jobs then apply again.
    """
    key, expected = _key_in(parameters), read_expected(request)
    with _refused(key):
        api.key_limits.delete(request.tenant, key, expected)
    return Answer(HTTPStatus.NO_CONTENT, "limit_deleted", facts={"key": key})


@route(
    "POST",
    "/v1/limits/<limit_key>/release",
    "limits",
    {200: SingleLimitAnswer},
    body=ReleaseBody,
    only_for=frozenset({OPS}),
    problems=("unknown-limit", "invalid-limit", "no-place", "lane-unavailable"),
)
def release_place(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Release a place.

    Gives the place of a run to the first waiting run. The run itself continues, so more runs than the limit may be
    active. Use this request only if no program works on the run any longer.
    """
    key, body = _key_in(parameters), read_body(request, ReleaseBody, kind="invalid-limit")
    try:
        with _refused(key):
            api.key_limits.release(request.tenant, key, body.run_id)
    except NoPlaceError:
        detail = f'The run "{shortened(body.run_id)}" has no place of the key {key}; see GET /v1/limits/{key}.'
        raise Problem("no-place", detail) from None
    except PlaceTakenAgainError:
        detail = f'The run "{shortened(body.run_id)}" took its place of the key {key} again. Repeat the request.'
        raise Problem("no-place", detail) from None
    answer = _status(api.key_limits.status(request.tenant, key))
    return Answer(HTTPStatus.OK, "place_released", answer, facts={"key": key, "run_id": body.run_id})


@route(
    "POST",
    "/v1/limits/<limit_key>/hold",
    "limits",
    {200: SingleLimitAnswer},
    body=HoldBody,
    only_for=frozenset({OPS}),
    problems=("invalid-limit", "busy"),
)
def hold_key(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Hold a key.

    No attempt with the key starts for this time, regardless of whether its jobs have a limit, a rate or a circuit
    breaker. Active runs continue. If the key is already paused for longer, that pause remains.
    """
    key, body = _key_in(parameters), read_body(request, HoldBody, kind="invalid-limit")
    with _refused(key):
        api.key_limits.hold(request.tenant, key, api.key_limits.parts.clock.now() + body.seconds)
    answer = _status(api.key_limits.status(request.tenant, key))
    return Answer(HTTPStatus.OK, "key_held", answer, facts={"key": key, "seconds": body.seconds})


@route(
    "POST",
    "/v1/limits/<limit_key>/close",
    "limits",
    {200: SingleLimitAnswer},
    only_for=frozenset({OPS}),
    problems=("invalid-limit", "busy", "lane-unavailable"),
)
def close_breaker(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Close a circuit breaker.

    Closes the circuit breaker of a key, and ends its hold or its pause after a `Retry-After`. Attempts start again. Of
    the tenant's newest 200 queued and 200 retrying runs, those that wait for the circuit breaker start within 30
    seconds. Other waiting runs keep their planned instant, which is at most 15 minutes away.
    """
    key = _key_in(parameters)
    with _refused(key):
        api.key_limits.close(request.tenant, key)
    answer = _status(api.key_limits.status(request.tenant, key))
    return Answer(HTTPStatus.OK, "key_closed", answer, facts={"key": key})


@contextmanager
def _refused(key: str) -> Iterator[None]:
    """Turn the errors of the use case into problems."""
    try:
        yield
    except KeyUnknownError:
        detail = f"The key {key} has no stored limit, and none of its runs is active or waits."
        raise Problem("unknown-limit", detail) from None
    except NoStoredLimitError:
        detail = f"The key {key} has no stored limit; the limits of its jobs apply."
        raise Problem("unknown-limit", detail) from None
    except KeyBusyError:
        detail = f"Other requests changed the key {key} at the same time. Repeat the request."
        raise later("busy", detail) from None
    except WaitQueueUnavailableError:
        detail = "The change is stored, but the first waiting run could not be started now. Repeat the request."
        raise Problem("lane-unavailable", detail) from None


def _key_in(parameters: Mapping[str, str]) -> str:
    key = unquote(parameters["limit_key"])
    if re.fullmatch(CONCURRENCY_KEY_PATTERN, key) is None or key in DOT_SEGMENTS:
        detail = "must be 1 to 128 letters (A-Z, a-z), digits or _ . : @ = + -, and not only one or two dots"
        fault = FieldFault(detail, parameter="limit_key")
        raise invalid([fault], "invalid-limit")
    return key


def _headers(found: KeyStatus) -> dict[str, str]:
    return {} if found.stored is None else {"etag": f'"{found.stored.tag}"'}


def _document(key: str, stored: KeyLimit | None) -> LimitAnswer:
    return {
        "key": key,
        "concurrency": None if stored is None else stored.concurrency,
        "rate": _rate(None if stored is None else stored.limit(Rate)),
        "breaker": _breaker(None if stored is None else stored.limit(Breaker)),
        "updated_at": None if stored is None else millisecond(stored.updated_at),
        "updated_by": None if stored is None else stored.updated_by,
    }


def _rate(rate: Rate | None) -> StoredRateAnswer | None:
    return None if rate is None else {"per_minute": rate.per_minute, "burst": rate.burst}


def _breaker(breaker: Breaker | None) -> StoredBreakerAnswer | None:
    return None if breaker is None else {"failures": breaker.failures, "open_seconds": breaker.open_seconds}


def _status(found: KeyStatus) -> dict[str, object]:
    return {
        **_document(found.key, found.stored),
        "active": [
            {
                "id": name,
                "job_id": parse_run_id(name).job_id,
                "state": None if run is None else run.state,
                "started_at": None if run is None else millisecond(run.started_at),
            }
            for name, run in sorted(found.active.items())
        ],
        "waiting": found.waiting,
        "queue": [
            {"id": each.run_id, "job_id": each.job_id, "due": to_iso(each.due), "place": place}
            for place, each in enumerate(found.first, 1)
        ],
        "rate_queue": [
            {"id": run.run_id, "job_id": run.job_id, "next_attempt_at": millisecond(run.not_before)}
            for run in found.at_gates["rate"][:MAX_SHOWN]
        ],
        "paused_until": millisecond(found.paused_until),
        **{f"waiting_for_{gate}": len(runs) for gate, runs in found.at_gates.items()},
        **found.shown,
        "complete": found.complete,
    }
