"""A job in responses: the posted fields with their defaults, and the state of the job.

Only the OpenAPI document uses these models. `answers.job_document` builds the responses.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, JobId, Millisecond, RunId, Second
from duecourse.api.bodies.definition_body import JobBody
from duecourse.api.bodies.models import Body
from duecourse.api.bodies.target_bodies import TargetBody
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.schedule_change import MOST_COMPARED
from duecourse.domain.runs.states import RunState
from duecourse.usecases.jobs.view import MOST_IN_LISTS

FIRST_CHANGES = 20
"""The maximum number of changed occurrences in a dry run."""

LAST_STATES = 20
"""The maximum number of runs in a summary."""


class LastRunAnswer(TypedDict):
    """One of the last runs of a job in a list of jobs."""

    id: RunId
    occurrence: Second
    state: RunState


class JobSummaryAnswer(TypedDict):
    """The row of a job in a list: when it runs next, and the states of its last 20 runs, newest first."""

    id: JobId
    name: str
    state: JobState
    schedule: Annotated[str | list[str] | None, Field(description="As it was posted.")]
    timezone: str
    next_occurrence: Second | None
    last_states: Annotated[list[RunState], Field(max_length=LAST_STATES)]
    tags: list[str]
    error: Annotated[str | None, Field(description="The reason why the job does not run.")]
    workflow: Annotated[JobId | None, Field(description="The workflow of which the job is a step.")]


class MinuteAnswer(TypedDict):
    """A minute, and the number of runs that are due in it."""

    at: Second
    runs: Annotated[int, Field(ge=0)]


class ChangedOccurrenceAnswer(TypedDict):
    """An occurrence that is due at another time."""

    before: Annotated[Second | None, Field(description="Null: the occurrence is added.")]
    after: Annotated[Second | None, Field(description="Null: the occurrence is removed.")]


class BeforeAfterAnswer(TypedDict):
    """A figure before and after a change; null if there are too many occurrences to count."""

    before: Annotated[float | None, Field(ge=0)]
    after: Annotated[float | None, Field(ge=0)]


class ScheduleChangeAnswer(TypedDict):
    """What a change does to the occurrences that are due in the next 30 days, as if the job were not paused."""

    until: Annotated[
        Second,
        Field(
            description=f"The end of the compared time: earlier than 30 days ahead after {MOST_COMPARED} occurrences."
        ),
    ]
    kept: Count
    moved: Count
    added: Count
    removed: Count
    first: Annotated[
        list[ChangedOccurrenceAnswer],
        Field(description="The due times of the first changes.", max_length=FIRST_CHANGES),
    ]
    runs_per_month: Annotated[
        BeforeAfterAnswer, Field(description=f"Occurrences in 30 days; null: more than {MOST_COMPARED}.")
    ]
    dollars_per_month: Annotated[
        BeforeAfterAnswer, Field(description="The approximate cost of these runs in USD, without the targets.")
    ]


class SpreadLoadAnswer(TypedDict):
    """The minute of the job's next run with its present and its chosen offset."""

    before: MinuteAnswer
    after: MinuteAnswer


def _tidy(schema: dict[str, Any]) -> None:
    """Remove `task`, because responses have the target. Make `last_runs`, `spread_load` and `schedule_change` optional,
    because only lists and dry runs have them.
    """
    del schema["properties"]["task"]
    for name in ("task", "last_runs", "spread_load", "schedule_change"):
        schema["required"].remove(name)


class KeptBody(Body):
    """The fields of a job or workflow in responses, in addition to the posted fields."""

    model_config = ConfigDict(defer_build=True)

    id: JobId
    tenant: JobId
    state: JobState
    understood_as: Annotated[str | None, Field(description="The schedule in words.")]
    schedule_canonical: Annotated[
        str | list[str] | None, Field(description="The schedule in a normalized form; a list if there are several.")
    ]
    next_occurrence: Annotated[
        Second | None, Field(description="The next occurrence that becomes due, whether or not it is already enqueued.")
    ]
    runs_left: Annotated[
        Count | None,
        Field(
            description="The number of occurrences that `max_runs` still allows; null without `max_runs`, and in a "
            f"list if more than {MOST_IN_LISTS} occurrences would have to be counted: read the job alone."
        ),
    ]
    paused_by: Annotated[str | None, Field(description="The caller who paused the job; null if Duecourse paused it.")]
    paused_because: Annotated[
        str | None, Field(description="The reason for the pause: the caller's note, or Duecourse's reason.")
    ]
    paused_until: Annotated[
        Second | None,
        Field(description="When the pause ends automatically; null if it does not."),
    ]
    planned_pause: Annotated[
        str | None, Field(description="The window of the pause that was planned last. It may be over.")
    ]
    created_at: Millisecond
    updated_at: Millisecond
    error: Annotated[
        str | None, Field(description="The error, if the schedule is no longer valid; the job then does not run.")
    ]


class WorkflowTargetBody(Body):
    """The target of a workflow: `graph` refers to its steps, which PUT /v1/workflows writes."""

    type: Literal["workflow"]
    graph: str


LastRuns = Annotated[
    list[LastRunAnswer],
    Field(description="In a list with `runs`: the last runs of the job, newest first, without queued runs."),
]

ShownTarget = Annotated[TargetBody | WorkflowTargetBody, Field(discriminator="type")]


class JobAnswer(KeptBody, JobBody):
    """A stored job: the posted fields with their defaults, and the state of the job."""

    model_config = ConfigDict(defer_build=True, json_schema_extra=_tidy)

    id: JobId
    target: ShownTarget  # type: ignore[assignment]  # responses have more types of target than requests
    precision: Literal["second", "exact"]
    workflow: Annotated[JobId | None, Field(description="The workflow that has the job as a step.")]
    delete_at: Annotated[
        Second | None, Field(description="When the job is removed after its end; null if it is not removed.")
    ]
    shadow_since: Annotated[
        Millisecond | None,
        Field(description="When the job became a shadow of another scheduler; null if it is not a shadow."),
    ]
    last_runs: LastRuns
    spread_load: Annotated[
        SpreadLoadAnswer,
        Field(description="In a dry run that chooses the offset of `spread`, unless the tenant has too many jobs."),
    ]
    schedule_change: Annotated[
        ScheduleChangeAnswer, Field(description="In a dry run that changes the times at which runs are due.")
    ]


class JobPatch(JobBody):
    """Some fields of a job."""

    model_config = ConfigDict(defer_build=True)
