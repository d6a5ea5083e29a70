"""The routes of what is asked for by hand: run now, backfill, skip what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

from duecourse.domain.backfill import Backfill, BackfillTooLargeError
from duecourse.domain.instants import to_iso
from duecourse.domain.job import Job
from duecourse.domain.target_document import type_of
from duecourse.http.answers import run_document
from duecourse.http.api import Answer, Api
from duecourse.http.bodies import read_body
from duecourse.http.etag import read_expected
from duecourse.http.idempotency import read_key
from duecourse.http.instants import Instant
from duecourse.http.job_problems import refusing
from duecourse.http.jobs import job_id_in
from duecourse.http.limiting import charge
from duecourse.http.models import Body, Whole, refuse
from duecourse.http.payload_rules import payload_faults
from duecourse.http.problems import Fault, Problem
from duecourse.http.rendering_rules import rendering_faults
from duecourse.http.request import Request
from duecourse.http.run_problems import bad_body, lane_unavailable
from duecourse.usecases.backfill import BackfillEstimate
from duecourse.usecases.commands import LaneUnavailableError
from duecourse.usecases.manual import OwnPayload
from duecourse.usecases.run_request import RunRequest
from duecourse.usecases.skip_next import MAX_SKIPPED, NothingToSkipError

MAX_PACE_SECONDS = 3600


class RunBody(Body):
    """`payload`: to be used instead of the job's, for all attempts of this run; null is one, too."""

    payload: Any = None


class BackfillBody(Body):
    """The occurrences from `from` on and before `to`, one each `pace_seconds`. Unless `dry_run` is false, the answer
    only says what would be.
    """

    start: Annotated[Instant, Field(alias="from")]
    end: Annotated[Instant, Field(alias="to")]
    pace_seconds: Annotated[Whole, Field(ge=1, le=MAX_PACE_SECONDS)] = 1
    newest_first: bool = False
    dry_run: bool = True

    @field_validator("end")
    @classmethod
    def _later(cls, end: int, info: ValidationInfo) -> int:
        start = info.data.get("start")
        if start is not None and end <= start:
            raise refuse("must be later than from")
        return end


class SkipBody(Body):
    """How many occurrences will not run."""

    count: Annotated[Whole, Field(ge=1, le=MAX_SKIPPED)] = 1


def run_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/<job_id>/run. With an Idempotency-Key that has started a run already, that one is shown."""
    job_id, expected = job_id_in(parameters), read_expected(request)
    run_request = RunRequest(request.principal, read_key(request), request.correlation_id)
    given = _given(request)
    with refusing(job_id, api.settings):
        job = api.manual.job(request.tenant, job_id, expected)
        if given is not None and (faults := _payload_faults(api, job, given)):
            raise bad_body(faults)
        try:
            run = api.manual.run(job, run_request, given)
        except LaneUnavailableError:
            raise lane_unavailable() from None
    facts = {"job_id": job_id, "run_id": str(run.name), "by": request.principal, "own_payload": given is not None}
    headers = {"location": f"/v1/runs/{run.name}"}
    return Answer(HTTPStatus.ACCEPTED, "run_requested", run_document(run), headers, facts)


def backfill_job(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/<job_id>/backfill. 200 for what would be, 202 for what is under way."""
    job_id, expected = job_id_in(parameters), read_expected(request)
    run_request = RunRequest(request.principal, read_key(request), request.correlation_id)
    body = read_body(request, BackfillBody)
    asked = Backfill(body.start, body.end, body.pace_seconds, body.newest_first)
    with refusing(job_id, api.settings):
        job = api.manual.job(request.tenant, job_id, expected)
        try:
            if body.dry_run:
                look = api.backfills.look(job, asked)
                facts: dict[str, object] = {"job_id": job_id, "count": look.plan.count}
                return Answer(HTTPStatus.OK, "backfill_looked_at", _backfill_document(asked, look, None), facts=facts)
            started = api.backfills.start(job, asked, run_request, charge=partial(charge, api, request))
        except BackfillTooLargeError as error:
            raise _too_large(error) from None
    facts = {
        "job_id": job_id,
        "count": started.look.plan.count,
        "suffix": started.suffix,
        "by": request.principal,
        "repeated": started.repeated,
    }
    document = _backfill_document(asked, started.look, started.suffix)
    return Answer(HTTPStatus.ACCEPTED, "backfill_started", document, facts=facts)


def skip_next(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/<job_id>/skip-next."""
    job_id, expected = job_id_in(parameters), read_expected(request)
    count = read_body(request, SkipBody, optional=True).count
    with refusing(job_id, api.settings):
        job = api.manual.job(request.tenant, job_id, expected)
        try:
            charge(api, request, count)
            runs = api.skip_next.skip(job, count, request.principal, request.correlation_id)
        except NothingToSkipError:
            detail = "Nothing is to come that could be skipped; see the job's schedule, its end and max_runs."
            raise Problem(HTTPStatus.CONFLICT, "nothing-to-skip", detail) from None
    facts = {"job_id": job_id, "skipped": len(runs), "by": request.principal}
    return Answer(HTTPStatus.OK, "runs_skipped", {"items": [run_document(run) for run in runs]}, facts=facts)


def _given(request: Request) -> OwnPayload | None:
    """The payload of the body; None where it names none, or there is no body. Raises Problem."""
    if not request.body:
        return None
    body = read_body(request, RunBody)
    return OwnPayload(body.payload) if "payload" in body.model_fields_set else None


def _payload_faults(api: Api, job: Job, given: OwnPayload) -> list[Fault]:
    """What the job's payload may not be, this one may not be either."""
    value = {"payload": given.payload, "completion": job.completion.value, "target": {"type": type_of(job.target)}}
    faults = {fault.pointer: fault for fault in payload_faults(value, {})}
    if not faults:
        made = rendering_faults(replace(job, payload=given.payload), api.jobs.tasks)
        faults = {fault.pointer: fault for fault in made if fault.pointer == "/payload"}
    return list(faults.values())


def _backfill_document(asked: Backfill, look: BackfillEstimate, suffix: str | None) -> dict[str, Any]:
    """What is, or would be. `suffix` ends the id of each of its runs; null where nothing was started."""
    plan = look.plan
    return {
        "dry_run": suffix is None,
        "count": plan.count,
        "first": None if plan.first is None else to_iso(plan.first),
        "last": None if plan.last is None else to_iso(plan.last),
        "newest_first": asked.newest_first,
        "pace_seconds": plan.pace_seconds,
        "starts_at": to_iso(plan.starts_at),
        "ends_at": None if plan.ends_at is None else to_iso(plan.ends_at),
        "estimated_cost_usd": round(look.cost, 6),
        "suffix": suffix,
    }


def _too_large(error: BackfillTooLargeError) -> Problem:
    count = f"more than {error.count}" if error.at_least else str(error.count)
    detail = f"The range has {count} occurrences; at most {error.limit} can be backfilled at once"
    fault = Fault(f"leaves {count} occurrences; at most {error.limit} are allowed: choose a shorter range", "/to")
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY, "backfill-too-large", f"{detail}. Nothing was started.", faults=[fault]
    )
