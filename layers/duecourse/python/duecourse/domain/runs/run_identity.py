"""The identity of a run: one value that its messages, start requests and record share."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from duecourse.domain.ids import RunName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """A run of `tenant`'s job for one `occurrence`, due at `due` with its jitter (UTC seconds).

    `generation` is that of the definition which enqueued it. A `suffix` (`.m…`, `.b…`) marks a run that somebody asked
    for: `requested_by`, with `own_payload` where it is called with the payload that was given then (ports.Inputs)
    instead of its job's. `count` and `through`: the missed occurrences that it stands for, and the last of them.
    `correlation_id` is that of the request which asked for the run, or of the round which enqueued it; None in what
    was written before there was one. `workflow` is the graph (`nightly@3f2a…`) of a workflow's own run, and of the
    runs of its members, whose names are its own but for the job.
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


class _Field(Generic[T]):
    """Reads the field of the same name of an identity."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._read = attrgetter(f"identity.{name}")

    def __get__(self, instance: OfRun, owner: type) -> T:
        value: T = self._read(instance)
        return value


class OfRun:
    """A base of values that belong to a run: gives access to the fields of its identity."""

    __slots__ = ()
    identity: RunIdentity

    tenant = _Field[str]()
    job_id = _Field[str]()
    occurrence = _Field[int]()
    due = _Field[int]()
    generation = _Field[int]()
    suffix = _Field[str]()
    count = _Field[int]()
    through = _Field[int | None]()
    own_payload = _Field[bool]()
    requested_by = _Field[str | None]()
    correlation_id = _Field[str | None]()
    workflow = _Field[str | None]()

    @property
    def is_member(self) -> bool:
        """Whether it is the run of a workflow's member, and not the workflow's own."""
        workflow = self.workflow
        return workflow is not None and workflow.partition("@")[0] != self.job_id

    @property
    def is_workflow(self) -> bool:
        """Whether it is a workflow's own run."""
        return self.workflow is not None and not self.is_member

    @property
    def name(self) -> RunName:
        """The run's name, which is a function of job and occurrence."""
        return RunName(self.job_id, self.occurrence, self.suffix)
