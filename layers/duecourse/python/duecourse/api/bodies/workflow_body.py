"""The body of PUT /v1/workflows/<id>."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from duecourse.api.bodies.definition_body import DefinitionBody
from duecourse.api.bodies.models import UNIQUE, Body, Whole, refuse
from duecourse.api.bodies.schedule_body import Expression
from duecourse.domain.ids import ID_PATTERN, is_id
from duecourse.domain.jobs.job_limits import MAX_COMPLETION_SECONDS
from duecourse.domain.workflows.check import MAX_DIRECT, MAX_MEMBERS
from duecourse.domain.workflows.definition import DEADLINE_SECONDS

MIN_DEADLINE_SECONDS = 60


def _job_id(text: str) -> str:
    if not is_id(text):
        raise refuse("must be a job's id: 1 to 64 letters (a-z), digits, - or _")
    return text


JobName = Annotated[str, AfterValidator(_job_id), Field(json_schema_extra={"pattern": f"^{ID_PATTERN}$"})]


class MemberBody(Body):
    """A job of a workflow, and when it starts."""

    job: Annotated[
        dict[str, Any] | None,
        Field(
            description="Creates or replaces the job: as POST /v1/jobs takes it, but for its id and the fields of its "
            "schedule; `overlap` is `allow` unless it is said. Without it the job must exist, without a schedule."
        ),
    ] = None
    after: Annotated[
        list[JobName],
        Field(max_length=MAX_DIRECT, description="The jobs that it comes directly after.", json_schema_extra=UNIQUE),
    ] = Field(default_factory=list)
    when: Annotated[
        Literal["all_success", "all_done", "any_success", "any_failure", "none_failed"],
        Field(description="By which ends of those it starts."),
    ] = "all_success"
    may_fail: Annotated[bool, Field(description="The workflow succeeds though it fails.")] = False
    not_before: Annotated[
        Expression | None,
        Field(description="It starts at this expression's first instant at or after the occurrence, or later."),
    ] = None
    only: Annotated[Expression | None, Field(description="It takes part in occurrences that this names alone.")] = None


class WorkflowBody(DefinitionBody):
    """A workflow as posted: when it runs, and the jobs that it runs."""

    model_config = ConfigDict(defer_build=False)

    payload: Annotated[
        Any,
        Field(description="Any JSON up to 200 KB, no template: its jobs take from it ({{workflow.payload.PATH}})."),
    ] = None
    deadline_seconds: Annotated[
        Whole,
        Field(
            ge=MIN_DEADLINE_SECONDS,
            le=MAX_COMPLETION_SECONDS,
            description="How long after its start a run may take until all its jobs have ended.",
        ),
    ] = DEADLINE_SECONDS
    jobs: Annotated[
        dict[JobName, MemberBody],
        Field(min_length=1, max_length=MAX_MEMBERS, description="Its jobs by their ids."),
    ]
