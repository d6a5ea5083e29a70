"""The route POST /v1/jobs/batch, which creates many jobs in one request and returns a result for each."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import Document, ProblemAnswer
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.job_answer import JobAnswer
from duecourse.api.bodies.models import Body
from duecourse.api.bodies.validation import read_body
from duecourse.api.problems import FieldFault, Problem, internal, unavailable
from duecourse.api.refusals import busy, refusal
from duecourse.api.request import Request, read_key, request_key
from duecourse.api.routes.jobs import JOB_PROBLEMS, created_answer, new_draft
from duecourse.usecases.jobs.batch import JobBatch, JobOutcome, job_of
from duecourse.usecases.jobs.change import Draft, RequestKey
from duecourse.usecases.jobs.spreading import Chosen

MAX_BATCH = 100

BATCH_SECONDS = 15.0
"""The time after which no further jobs are written. An HTTP API times out after 30 s, and the caller would get no
response.
"""

logger = logging.getLogger("duecourse.api")


class BatchBody(Body):
    """Jobs, each in the format of POST /v1/jobs."""

    jobs: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH)]


class BatchItemAnswer(TypedDict):
    """The result for one job: `job` and `etag`, or `problem`."""

    status: int
    job: NotRequired[JobAnswer]
    etag: NotRequired[str]
    problem: NotRequired[ProblemAnswer]


class BatchAnswer(TypedDict):
    """The results, in the order of the jobs."""

    items: list[BatchItemAnswer]


@route(
    "POST",
    "/v1/jobs/batch",
    "jobs",
    {200: BatchAnswer},
    body=BatchBody,
    headers=("Idempotency-Key",),
    problems=("invalid-batch",),
    checks_tags=True,
)
def create_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Create many jobs.

    Creates up to 100 jobs. Each job has its own result, and an error in one job does not affect the other jobs. An
    `Idempotency-Key` applies to each position of the list separately.
    """
    key = read_key(request)
    items: list[Document] = []
    counts: Counter[str] = Counter()
    until = api.jobs.parts.clock.now() + BATCH_SECONDS
    jobs = read_body(request, BatchBody, kind="invalid-batch", apart="jobs").jobs
    request.budget.charge(len(jobs))
    for index, outcome in enumerate(_outcomes(api, request, jobs, key, until)):
        try:
            answer = created_answer(request, job_of(outcome))
        except Exception as error:
            if (problem := refusal(error, api.settings.job_quota, {}, JOB_PROBLEMS)) is not None:
                items.append({"status": int(problem.status), "problem": _placed(problem, index, request.request_id)})
                continue
            # The jobs before this one have been created, so the caller must get a response.
            ids = {"request_id": request.request_id, "correlation_id": request.correlation_id}
            logger.exception("job_failed", extra={"action": "job_failed", "index": index, **ids})
            fault = unavailable(error) or internal()
            items.append({"status": int(fault.status), "problem": fault.document(request.request_id)})
        else:
            items.append({"status": int(answer.status), "job": answer.body, "etag": answer.headers["etag"]})
            counts.update(answer.counts)
    good = sum("job" in item for item in items)
    facts = {"items": len(items), "made": good, "refused": len(items) - good}
    return Answer(HTTPStatus.OK, "jobs_created", {"items": items}, facts=facts, counts=counts)


def _outcomes(api: Api, request: Request, values: Sequence[Any], key: str | None, until: float) -> list[JobOutcome]:
    """Return the outcome of each posted value: its job, or the error."""
    outcomes: dict[int, JobOutcome] = {}
    named: dict[int, RequestKey | None] = {}
    drafts: dict[int, Draft] = {}
    for index, value in enumerate(values):
        with _kept(outcomes, [index]):
            named[index] = request_key(key, value, f"batch {index}")
    with _kept(outcomes, named):
        keys = {index: own for index, own in named.items() if own is not None}
        known = zip(keys, api.jobs.all_repeated(request.tenant, list(keys.values())), strict=True)
        outcomes |= {index: outcome for index, outcome in known if outcome is not None}
    for index, value in enumerate(values):
        if index not in outcomes:
            with _kept(outcomes, [index]):
                drafts[index] = new_draft(api, request, value)
    with _kept(outcomes, drafts):
        chosen = api.spreading.all_chosen([(draft, None) for draft in drafts.values()], request.budget.charge)
        placed = dict(zip(drafts, chosen, strict=True))
        outcomes |= {index: each for index, each in placed.items() if isinstance(each, Exception)}
        drafts = {index: each.draft for index, each in placed.items() if isinstance(each, Chosen)}
        asked = [(draft, named[index]) for index, draft in drafts.items()]
        made = JobBatch(api.jobs, until).create(asked, request.correlation_id, by=request.principal)
        outcomes |= zip(drafts, made, strict=True)
    return [outcomes[index] for index in range(len(values))]


@contextmanager
def _kept(outcomes: dict[int, JobOutcome], indices: Iterable[int]) -> Iterator[None]:
    """Record an error that the block raises as the outcome of the jobs at these indices."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 (the error is the result of each job)
        outcomes |= dict.fromkeys(indices, error)


def check_time(api: Api, until: float) -> None:
    """Raise Problem (503) if no time is left for another job or run."""
    if api.jobs.parts.clock.now() > until:
        raise busy()


def _placed(problem: Problem, index: int, request_id: str) -> Document:
    """Return the problem of one job with pointers relative to the root of the request body."""
    faults = [
        fault if fault.pointer is None else FieldFault(fault.detail, f"/jobs/{index}{fault.pointer}")
        for fault in problem.faults
    ]
    placed = Problem(problem.kind, problem.detail, faults=faults)
    return placed.document(request_id)
