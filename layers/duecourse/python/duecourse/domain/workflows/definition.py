"""The fields of a job that is a workflow."""

from __future__ import annotations

from typing import Any

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Completion, RetryPolicy
from duecourse.domain.targets.targets import WorkflowTarget

DEADLINE_SECONDS = DAY_SECONDS
"""The default time within which the steps of a run must end, from its start, in seconds."""

OWN_FAULTS = ("workflow.start", "internal")
"""The failures that are retried. They concern the attempt of the workflow's run, which starts its steps."""


def workflow_fields(graph: str, deadline_seconds: int = DEADLINE_SECONDS) -> dict[str, Any]:
    """Return the fields of the job of a workflow with this graph (a hash). The run waits for its steps like other runs
    wait for their callback.
    """
    return {
        "target": WorkflowTarget(graph),
        "completion": Completion.CALLBACK,
        "completion_seconds": deadline_seconds,
        "retry": RetryPolicy(on=OWN_FAULTS),
    }
