"""What makes a job a workflow."""

from __future__ import annotations

from typing import Any

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Completion, RetryPolicy
from duecourse.domain.targets.targets import WorkflowTarget

DEADLINE_SECONDS = DAY_SECONDS
"""By when the steps of a run must have ended, after its start, unless the workflow says otherwise."""

OWN_FAULTS = ("workflow.start", "internal")
"""Failures of a workflow's own attempt, which starts its steps: nothing else is tried again."""


def workflow_fields(graph: str, deadline_seconds: int = DEADLINE_SECONDS) -> dict[str, Any]:
    """The fields of the job of a workflow whose graph has this hash: its run waits for its steps as others wait for
    their callback.
    """
    return {
        "target": WorkflowTarget(graph),
        "completion": Completion.CALLBACK,
        "completion_seconds": deadline_seconds,
        "retry": RetryPolicy(on=OWN_FAULTS),
    }
