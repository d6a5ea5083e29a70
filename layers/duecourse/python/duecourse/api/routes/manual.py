"""The routes for manual actions: run a job, backfill, and skip the next occurrences."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import Field, ValidationInfo, field_validator
from typing_extensions import TypedDict

from duecourse.api.answers import Count, Document, ProblemAnswer, RunAnswer, Second, run_document
from duecourse.api.api import Answer, Api, check_delivering, route
from duecourse.api.bodies.job_answer import JobAnswer
from duecourse.api.bodies.models import Body, Instant, Whole, refuse
from duecourse.api.bodies.validation import payload_faults, read_body, rendering_faults
from duecourse.api.problems import FieldFault, internal, invalid, unavailable
from duecourse.api.refusals import refusal
from duecourse.api.request import Request, read_expected, read_key
from duecourse.api.routes.batch import BATCH_SECONDS, MAX_BATCH, check_time
from duecourse.api.routes.jobs import job_answer, job_id_in
from duecourse.api.routes.shadow import PingQuery, ping_shadow
from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.backfill import Backfill, Only, Standing
from duecourse.domain.jobs.job import MAX_ACTIVE_LIMIT, Job
from duecourse.domain.targets.kinds import type_of
from duecourse.usecases.jobs.job_errors import NoPingExpectedError
from duecourse.usecases.runs.requests import MAX_AHEAD_DAYS, BackfillEstimate, Later, OwnPayload, RunRequest, instant_of
from duecourse.usecases.runs.skip_next import MAX_SKIPPED

MAX_PACE_SECONDS = 3600
_PROBLEMS = ("job-changed", "idempotency-key-reused", "invalid-command", "invalid-job", "busy")


logger = logging.getLogger("duecourse.api")


class RunBody(Body):
    """A run to start: now, at the time `at`, or after `delay_seconds`. `payload` replaces the job's payload for all
    attempts of this run; null is a valid payload.
    """

    payload: Any = None
    at: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=64,
            description="An instant with an offset, or a time in the job's zone, such as 2026-12-24T18:00:00.",
        ),
    ] = None
    delay_seconds: Annotated[Whole | None, Field(ge=0, le=MAX_AHEAD_DAYS * DAY_SECONDS)] = None

    @field_validator("delay_seconds")
    @classmethod
    def _one_time(cls, delay: int | None, info: ValidationInfo) -> int | None:
        if delay is not None and info.data.get("at") is not None:
            raise refuse("cannot be combined with at; remove one of them")
        return delay


class RunsBody(Body):
    """Runs of one job."""

    runs: Annotated[list[RunBody], Field(min_length=1, max_length=MAX_BATCH)]


class RequestedRunAnswer(TypedDict):
    """The result of one request: `run`, or `problem`."""

    status: int
    run: NotRequired[RunAnswer]
    problem: NotRequired[ProblemAnswer]


class RequestedRunsAnswer(TypedDict):
    """The result of each request, in the order of the requests."""

    items: list[RequestedRunAnswer]


class BackfillBody(Body):
    """The occurrences to run: those from `from` (inclusive) to `to` (exclusive) whose result so far is `only`, one
    every `pace_seconds`, at most `at_once` at a time. They have the idempotency keys of the scheduled runs, unless
    `force_new_key` is true. If `dry_run` is true (the default), the response has only the plan.
    """

    start: Annotated[Instant, Field(alias="from")]
    end: Annotated[Instant, Field(alias="to")]
    pace_seconds: Annotated[Whole, Field(ge=1, le=MAX_PACE_SECONDS)] = 1
    at_once: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=MAX_ACTIVE_LIMIT,
            description="The maximum number of active runs; further runs wait. Default: the job's overlap rule.",
        ),
    ] = None
    newest_first: bool = False
    only: Literal["missing", "failed", "all"] = "missing"
    force_new_key: bool = False
    dry_run: bool = True

    @field_validator("end")
    @classmethod
    def _later(cls, end: int, info: ValidationInfo) -> int:
        start = info.data.get("start")
        if start is not None and end <= start:
            raise refuse("must be later than from")
        return end


class SkipBody(Body):
    """The number of occurrences to skip."""

    count: Annotated[Whole, Field(ge=1, le=MAX_SKIPPED)] = 1


class ResultsAnswer(TypedDict):
    """The number of occurrences in a range, by result."""

    missing: Annotated[int, Field(ge=0, description="Occurrences without a record, or skipped because they were late.")]
    failed: Annotated[int, Field(ge=0, description="Occurrences whose run is dead.")]
    succeeded: Annotated[int, Field(ge=0)]
    active: Annotated[
        int,
        Field(ge=0, description="Occurrences whose run is in progress, or may still start within the grace period."),
    ]
    skipped: Annotated[int, Field(ge=0, description="Occurrences that were skipped for another reason, or cancelled.")]


class BackfillAnswer(TypedDict):
    """A backfill that was started, or would be started."""

    dry_run: bool
    count: Count
    only: Literal["missing", "failed", "all"]
    results: Annotated[
        ResultsAnswer | None,
        Field(description="The occurrences of the range by their result so far; null if the backfill was started."),
    ]
    first: Annotated[Second | None, Field(description="The oldest occurrence of the backfill.")]
    last: Annotated[Second | None, Field(description="The newest occurrence of the backfill.")]
    newest_first: bool
    pace_seconds: Annotated[int, Field(ge=1)]
    at_once: Annotated[
        int | None, Field(ge=1, description="The maximum number of active runs; null if they are not limited.")
    ]
    starts_at: Second
    ends_at: Annotated[Second | None, Field(description="The start time of the last run.")]
    estimated_cost_usd: Annotated[float, Field(ge=0)]
    suffix: Annotated[str | None, Field(description="The suffix of the ids of the runs; null if no runs were started.")]
    message: Annotated[str | None, Field(description="How to start a backfill that was only planned.")]


class SkippedAnswer(TypedDict):
    """The occurrences that will not run."""

    items: list[RunAnswer]


@route(
    "POST",
    "/v1/jobs/<job_id>/run",
    "manual actions",
    {202: RunAnswer},
    body=RunBody,
    body_optional=True,
    headers=("If-Match", "Idempotency-Key"),
    problems=(*_PROBLEMS, "lane-unavailable", "run-quota"),
)
def run_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Run a job now or at a later time.

    Starts a run independently of the state and the schedule of the job; `overlap`, `start_deadline_seconds` and
    deadlines apply. Exception: if the job is a step of a workflow and is paused, its run waits until the job is
    resumed. With `at` or `delay_seconds`, the run is `QUEUED` until its start time, at most 366 days ahead. It can be
    listed, read and cancelled, and does not start if the job is deleted. A repeated request with the same
    `Idempotency-Key` returns the same run.
    """
    job_id, expected = job_id_in(parameters), read_expected(request)
    run_request = RunRequest(request.principal, read_key(request), request.correlation_id)
    body = read_body(request, RunBody, optional=True)
    own = own_payload(body)
    job = api.manual.job(request.tenant, job_id, expected)
    if faults := payload_faults_of(api, job, own):
        raise invalid(faults, "invalid-command")
    run = api.manual.run(job, run_request, own, later_of(job, body))
    facts = {
        "job_id": job_id,
        "run_id": run.run_id,
        "by": request.principal,
        "own_payload": own is not None,
        "due": run.due,
    }
    headers = {"location": f"/v1/runs/{run.name}"}
    return Answer(HTTPStatus.ACCEPTED, "run_requested", run_document(run), headers, facts)


@route(
    "POST",
    "/v1/jobs/<job_id>/run/batch",
    "manual actions",
    {200: RequestedRunsAnswer},
    body=RunsBody,
    headers=("If-Match", "Idempotency-Key"),
    problems=_PROBLEMS,
)
def run_job_many_times(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Request many runs of a job.

    Requests up to 100 runs, now or at later times. Each run has its own result and counts as one request. An
    `Idempotency-Key` applies to each position of the list separately.
    """
    job_id, expected, key = job_id_in(parameters), read_expected(request), read_key(request)
    bodies = read_body(request, RunsBody).runs
    request.budget.charge(len(bodies))
    job = api.manual.job(request.tenant, job_id, expected)
    faults = [
        replace(fault, pointer=f"/runs/{index}{fault.pointer}")
        for index, body in enumerate(bodies)
        for fault in payload_faults_of(api, job, own_payload(body))
    ]
    if faults:
        raise invalid(faults, "invalid-command")
    until = api.manual.parts.clock.now() + BATCH_SECONDS
    items: list[Document] = []
    for index, body in enumerate(bodies):
        place = RunRequest(request.principal, None if key is None else f"batch {index} {key}", request.correlation_id)
        items.append(_one_of_many(api, request, job, body, place, until))
    good = sum("run" in item for item in items)
    facts = {"job_id": job_id, "items": len(items), "made": good, "refused": len(items) - good}
    return Answer(HTTPStatus.OK, "runs_requested", {"items": items}, facts=facts)


def _one_of_many(api: Api, request: Request, job: Job, body: RunBody, place: RunRequest, until: float) -> Document:
    """Return the result for one run. An error does not affect the other runs, which may have been requested already."""
    try:
        check_time(api, until)
        run = api.manual.run(job, place, own_payload(body), later_of(job, body))
    except Exception as error:
        problem = refusal(error, api.settings.job_quota, {}, _PROBLEMS)
        if problem is None:
            logger.exception("run_failed", extra={"action": "run_failed", "request_id": request.request_id})
            problem = unavailable(error) or internal()
        return {"status": int(problem.status), "problem": problem.document(request.request_id)}
    return {"status": int(HTTPStatus.ACCEPTED), "run": run_document(run)}


@route(
    "POST",
    "/v1/jobs/<job_id>/backfill",
    "manual actions",
    {200: BackfillAnswer, 202: BackfillAnswer},
    body=BackfillBody,
    headers=("If-Match", "Idempotency-Key"),
    problems=(*_PROBLEMS, "backfill-too-large"),
)
def backfill_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Run past occurrences.

    Runs occurrences of the current schedule in a range, one every `pace_seconds`, at most `at_once` at a time. `only`
    selects those that are missing (without a record, or skipped because they were late), those that failed (dead), or
    all. Each has the idempotency key of its scheduled run. If `dry_run` is true (the default), the response (200) has
    only the plan, its estimated cost and the results so far. A started backfill returns 202.
    """
    job_id, expected = job_id_in(parameters), read_expected(request)
    run_request = RunRequest(request.principal, read_key(request), request.correlation_id)
    body = read_body(request, BackfillBody)
    only, new_key = Only(body.only), body.force_new_key
    asked = Backfill(body.start, body.end, body.pace_seconds, body.newest_first, only, new_key, at_once=body.at_once)
    if body.dry_run:
        job = api.manual.job(request.tenant, job_id, expected)
        look = api.backfills.look(job, asked, charge=request.budget.charge)
        facts: dict[str, object] = {"job_id": job_id, "count": look.plan.count}
        return Answer(HTTPStatus.OK, "backfill_looked_at", _backfill_document(asked, look, None), facts=facts)
    job = api.manual.job(request.tenant, job_id, replace(expected, versions=None))
    started = api.backfills.start(job, asked, run_request, expected=expected, charge=request.budget.charge)
    facts = {
        "job_id": job_id,
        "count": started.look.plan.count,
        "suffix": started.suffix,
        "by": request.principal,
        "repeated": started.repeated,
    }
    document = _backfill_document(asked, started.look, started.suffix)
    return Answer(HTTPStatus.ACCEPTED, "backfill_started", document, facts=facts)


@route(
    "POST",
    "/v1/jobs/<job_id>/skip-next",
    "manual actions",
    {200: SkippedAnswer},
    body=SkipBody,
    body_optional=True,
    headers=("If-Match", "Idempotency-Key"),
    problems=(*_PROBLEMS, "job-unreadable", "nothing-to-skip"),
)
def skip_next(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Skip the next occurrences.

    Skips the next occurrences that have no record yet. A repeated request with the same `Idempotency-Key` skips no
    further occurrences.
    """
    job_id, expected = job_id_in(parameters), read_expected(request)
    run_request = RunRequest(request.principal, read_key(request), request.correlation_id)
    count = read_body(request, SkipBody, optional=True).count
    job = api.manual.job(request.tenant, job_id, expected)
    request.budget.charge(count)
    runs = api.skip_next.skip(job, count, run_request)
    facts = {"job_id": job_id, "skipped": len(runs), "by": request.principal}
    return Answer(HTTPStatus.OK, "runs_skipped", SkippedAnswer(items=[run_document(run) for run in runs]), facts=facts)


class NotifyTestAnswer(TypedDict):
    """The runs that deliver the test notice, and the ids of jobs in `notify` that do not exist."""

    runs: list[RunAnswer]
    missing: list[str]


@route(
    "POST",
    "/v1/jobs/<job_id>/test-notice",
    "jobs",
    {202: NotifyTestAnswer},
    headers=("Idempotency-Key",),
    problems=("lane-unavailable",),
)
def send_test_notice(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Send a test notice.

    Starts a run of each job that the rules in `notify` name. Its payload is a notice that is marked as a test.
    """
    job_id = job_id_in(parameters)
    job = api.manual.job(request.tenant, job_id)
    check_delivering(api, request, job)
    sent = api.notices.test(job, read_key(request))
    body = NotifyTestAnswer(runs=[run_document(run) for run in sent.runs], missing=list(sent.missing))
    facts = {"job_id": job_id, "runs": len(sent.runs), "missing": len(sent.missing)}
    return Answer(HTTPStatus.ACCEPTED, "test_notice_sent", body, facts=facts)


@route(
    "POST",
    "/v1/jobs/<job_id>/ping",
    "manual actions",
    {200: JobAnswer},
    query=PingQuery,
    problems=("job-changed", "busy", "job-unreadable", "no-ping-expected", "invalid-job", "too-many-pings"),
)
def ping_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Ping a job.

    A job with `expect_every` runs if no further ping arrives within that interval. `anchor` is the time of the last
    ping. For a shadow of another scheduler, the ping is stored for 35 days and compared with the schedule
    (`GET /v1/jobs/{job_id}/shadow`); a second ping for the same second changes nothing. The change history does not
    contain pings.
    """
    job_id, occurrence = job_id_in(parameters), PingQuery.of(request).occurrence
    if occurrence is not None:
        return ping_shadow(api, request, job_id, occurrence)
    try:
        edited = api.editing.ping(request.tenant, job_id, request.correlation_id, by=request.principal)
    except NoPingExpectedError:
        return ping_shadow(api, request, job_id, None)
    return job_answer("job_pinged", edited.view)


def own_payload(body: RunBody) -> OwnPayload | None:
    """Return the payload of the body, or None if the body has none."""
    return OwnPayload(body.payload) if "payload" in body.model_fields_set else None


def later_of(job: Job, body: RunBody) -> Later | None:
    """Return the start time of the run, or None for now. Raises ScheduleError for an invalid `at`."""
    if body.at is not None:
        return Later(at=instant_of(job, body.at))
    return None if body.delay_seconds is None else Later(delay_seconds=body.delay_seconds)


def payload_faults_of(api: Api, job: Job, own: OwnPayload | None) -> list[FieldFault]:
    """Return the faults of the payload of a run. The rules are those for the payload of its job."""
    if own is None:
        return []
    value = {"payload": own.payload, "completion": job.completion.value, "target": {"type": type_of(job.target)}}
    faults = {fault.pointer: fault for fault in payload_faults(value, {})}
    if not faults:
        made = rendering_faults(replace(job, payload=own.payload), api.jobs.tasks)
        faults = {fault.pointer: fault for fault in made if fault.pointer == "/payload"}
    return list(faults.values())


NOTHING_TO_START = "Nothing was started, because there are no such occurrences in the range."
NOT_STARTED = "Nothing was started. To start this backfill, repeat the request with dry_run set to false."


def _backfill_document(asked: Backfill, look: BackfillEstimate, suffix: str | None) -> BackfillAnswer:
    """Return the document of a backfill that was started or planned. `suffix` is the suffix of its run ids, or None if
    nothing was started.
    """
    plan, results = look.plan, {each.value: (look.counts or {}).get(each, 0) for each in Standing}
    return BackfillAnswer(
        dry_run=suffix is None,
        count=plan.count,
        only=asked.only.value,
        results=None if suffix is not None or look.counts is None else cast(ResultsAnswer, results),
        first=None if plan.first is None else to_iso(plan.first),
        last=None if plan.last is None else to_iso(plan.last),
        newest_first=asked.newest_first,
        pace_seconds=plan.pace_seconds,
        at_once=look.at_once,
        starts_at=to_iso(plan.starts_at),
        ends_at=None if plan.ends_at is None else to_iso(plan.ends_at),
        estimated_cost_usd=round(look.cost, 6),
        suffix=suffix,
        message=None if suffix is not None else NOT_STARTED if plan.count else NOTHING_TO_START,
    )
