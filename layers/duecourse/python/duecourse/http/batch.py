"""POST /v1/jobs/batch: many jobs in one request, each with an answer of its own."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field

from duecourse.http.answers import Document
from duecourse.http.api import Answer, Api
from duecourse.http.bodies import read_body
from duecourse.http.idempotency import read_key
from duecourse.http.job_problems import busy
from duecourse.http.jobs import created_job
from duecourse.http.limiting import charge
from duecourse.http.models import Body
from duecourse.http.problems import Fault, Problem, internal
from duecourse.http.request import Request
from duecourse.http.unavailable import unavailable

MAX_BATCH = 100

BATCH_SECONDS = 15.0
"""When no further job is begun: an HTTP API gives up after 30 s, and whoever sent them would learn of none."""

logger = logging.getLogger("duecourse.http")


class BatchBody(Body):
    """Jobs, each as POST /v1/jobs takes one."""

    jobs: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH)]


def create_jobs(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """POST /v1/jobs/batch. A job that is refused costs no other; with an Idempotency-Key each place has its own."""
    key = read_key(request)
    items: list[Document] = []
    counts: Counter[str] = Counter()
    until = api.jobs.clock.now() + BATCH_SECONDS
    jobs = read_body(request, BatchBody, refused=_bad_batch, apart="jobs").jobs
    charge(api, request, len(jobs))
    for index, value in enumerate(jobs):
        try:
            _check_time(api, until)
            answer = created_job(api, request, value, key, f"batch {index}")
        except Problem as problem:
            items.append({"status": int(problem.status), "problem": _placed(problem, index, request.request_id)})
        except Exception as error:
            # Those before it are created: whoever sent them must learn of it.
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


def _check_time(api: Api, until: float) -> None:
    """Raises Problem (503) for a job that there is no time for any more."""
    if api.jobs.clock.now() > until:
        raise busy()


def _bad_batch(faults: Sequence[Fault]) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-batch", "Nothing was created.", faults=faults)


def _placed(problem: Problem, index: int, request_id: str) -> Document:
    """The problem of one job, its pointers from the root of the whole body."""
    faults = [
        fault if fault.pointer is None else Fault(fault.detail, f"/jobs/{index}{fault.pointer}")
        for fault in problem.faults
    ]
    placed = Problem(problem.status, problem.kind, problem.detail, faults=faults)
    return placed.document(request_id)
