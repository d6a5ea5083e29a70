"""The identity of a run: one value that its messages, start requests and record share."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from duecourse.domain.ids import RunName


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """A run of `tenant`'s job for one `occurrence`, due at `due` with its jitter (UTC seconds).

    `generation` is that of the definition which enqueued it. A `suffix` (`.m…`, `.b…`) marks a run that was requested
    for: `requested_by`, with `own_payload` where it is called with the payload that was given then (ports.Inputs)
    instead of its job's. `count` and `through`: the number of missed occurrences that it covers, and the last of them.
    `correlation_id` is that of the request which asked for the run, or of the round which enqueued it; None in what
    was written before there was one. `workflow` is the graph (`nightly@3f2a…`) of a workflow's own run, and of the
    runs of its steps, whose names are its own but for the job.
    """

    tenant: str
    job_id: str
    occurrence: int
    due: int
    generation: int
    suffix: str = ""
    count: int = 1
    through: int | None = None
    own_payload: bool = False
    requested_by: str | None = None
    correlation_id: str | None = None
    workflow: str | None = None


def _of_identity(name: str) -> Any:
    """Reads the field of the same name of an identity, without a Python frame: these are read all the time."""
    return property(attrgetter(f"identity.{name}"))


class OfRun:
    """A base of values that belong to a run: gives access to the fields of its identity."""

    __slots__ = ()
    identity: RunIdentity

    tenant: str = _of_identity("tenant")
    job_id: str = _of_identity("job_id")
    occurrence: int = _of_identity("occurrence")
    due: int = _of_identity("due")
    generation: int = _of_identity("generation")
    suffix: str = _of_identity("suffix")
    count: int = _of_identity("count")
    through: int | None = _of_identity("through")
    own_payload: bool = _of_identity("own_payload")
    requested_by: str | None = _of_identity("requested_by")
    correlation_id: str | None = _of_identity("correlation_id")
    workflow: str | None = _of_identity("workflow")

    @property
    def is_step(self) -> bool:
        """Whether it is the run of a workflow's step, and not the workflow's own."""
        workflow = self.workflow
        return workflow is not None and workflow.partition("@")[0] != self.job_id

    @property
    def is_workflow(self) -> bool:
        """Whether it is a workflow's own run."""
        return self.workflow is not None and not self.is_step

    @property
    def name(self) -> RunName:
        """The run's name, which is a function of job and occurrence."""
        return RunName(self.job_id, self.occurrence, self.suffix)
