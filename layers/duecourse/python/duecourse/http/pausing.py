"""POST /v1/jobs/<job_id>/pause and /resume."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import ValidationError

from duecourse.http.models import Body
from duecourse.http.problems import Problem
from duecourse.http.request import Request
from duecourse.http.validation import faults_in


class ResumeBody(Body):
    """`catch_up`: treat what the pause covered as missed, by the job's policy, instead of skipping it."""

    catch_up: bool = False


def read_resume(request: Request) -> ResumeBody:
    """The body, which may be left out. Raises Problem."""
    if not request.body:
        return ResumeBody()
    try:
        return ResumeBody.model_validate(request.json())
    except ValidationError as error:
        faults = list(faults_in(error, ResumeBody))
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-resume", "Nothing was changed.", faults=faults
        ) from None
