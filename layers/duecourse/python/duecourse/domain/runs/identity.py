"""The identity of a run: one value that its messages, start requests and record share."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from duecourse.domain.ids import RunName


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The identity of a run: `tenant`'s job and one `occurrence`, due at `due` with its jitter (UTC seconds).

    - `generation`: the generation of the definition that enqueued the run.
    - `suffix`: marks a run on request (`.m…`, `.b…`), requested by `requested_by`.
    - `own_payload`: the run is called with the payload of that request (ports.Inputs) instead of the job's payload.
    - `count`, `through`: the number of missed occurrences that the run covers, and the last of them.
    - `correlation_id`: the id of the request that created the run, or of the round that enqueued it. None in data
      written before this field existed.
    - `workflow`: the graph of a workflow's run and of the runs of its steps (`nightly@3f2a…`). The names of these runs
      differ only in the job.
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
    """Return a property that reads the identity's field of this name. It adds no Python frame, since these fields are
    read very often.
    """
    return property(attrgetter(f"identity.{name}"))


class OfRun:
    """A base class of values that belong to a run. Provides access to the fields of the run's identity."""

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
        """Whether this is the run of a workflow's step, not of the workflow."""
        workflow = self.workflow
        return workflow is not None and workflow.partition("@")[0] != self.job_id

    @property
    def is_workflow(self) -> bool:
        """Whether this is a workflow's run."""
        return self.workflow is not None and not self.is_step

    @property
    def name(self) -> RunName:
        """The run's name, which is a function of job and occurrence."""
        return RunName(self.job_id, self.occurrence, self.suffix)
