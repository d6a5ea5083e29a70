"""Ids of jobs and tenants, names of runs, and the identity of a run.

A run has a name that is a function of its job and its occurrence, so it exists only once even if it is enqueued several
times. Its messages, start requests and record share one identity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any

ID_PATTERN = r"[A-Za-z0-9_-]{1,64}"
"""The pattern for ids of jobs and tenants. Such ids do not need escaping in keys (`#`), run ids (`.`) and paths
(`/`).
"""
ID_ERROR = "must be 1 to 64 letters (A-Z, a-z), digits, - or _"

SUFFIX_PATTERN = rf"(\.[mbf][A-Za-z0-9_-]{{1,32}})?(\.w{ID_PATTERN})?(\.i[0-9]{{1,3}})?"
"""The pattern for what a run id has after the instant (`RunName.suffix`)."""

_WORKFLOW = ".w"
_ITEM = ".i"

_ID = re.compile(ID_PATTERN)
_RUN = re.compile(rf"(?P<job>{ID_PATTERN})\.(?P<at>[0-9]{{8}}T[0-9]{{6}}Z)(?P<suffix>{SUFFIX_PATTERN})")
_BASIC = re.compile("[0-9]{8}T[0-9]{6}Z")


@lru_cache(maxsize=1024)
def to_basic(seconds: int) -> str:
    """Format an instant for run ids and sort keys: `20261121T064700Z`. This form sorts by time. Cached, since many jobs
    are due in the same seconds.
    """
    # strftime does not pad years below 1000 on every platform
    return (
        datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")[:19].replace("-", "").replace(":", "") + "Z"
    )


def from_basic(text: str) -> int:
    """Parse the form of :func:`to_basic`. Raises ValueError for any other form."""
    if not _BASIC.fullmatch(text):
        raise ValueError(f"{text!r} is not an instant such as 20261121T064700Z")
    day, time = (int(text[:4]), int(text[4:6]), int(text[6:8])), (int(text[9:11]), int(text[11:13]), int(text[13:15]))
    return int(datetime(*day, *time, tzinfo=UTC).timestamp())  # a tenth of the time of strptime


@dataclass(frozen=True, slots=True)
class RunName:
    """The job and the nominal instant (UTC seconds) of a run. Manual runs have a suffix `.m…`, runs of backfills
    `.b…`, or `.f…` if the backfill forces new idempotency keys. The run of a step whose job is shared has the suffix of
    its workflow's run and then `.w` and the workflow's id. The run of one item of a list (`for_each`) has the suffix of
    its step's run and then `.i` and the item's index.

    The other attributes are derived from these fields: `at` is the occurrence in the form of `to_basic`. `local` is the
    name within its job, which is part of the sort key of the run's record and sorts by occurrence. `id` is the run's
    id. `backfilled`: the run belongs to a backfill of its job, or of its workflow unless the job is shared.
    """

    job_id: str
    occurrence: int
    suffix: str = ""
    at: str = field(init=False, repr=False, compare=False)
    local: str = field(init=False, repr=False, compare=False)
    id: str = field(init=False, repr=False, compare=False)
    backfilled: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        at = to_basic(self.occurrence)
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "local", at + self.suffix)
        object.__setattr__(self, "id", f"{self.job_id}.{at}{self.suffix}")
        backfilled = self.suffix.startswith((".b", ".f")) and not self.shared
        object.__setattr__(self, "backfilled", backfilled)

    def __str__(self) -> str:
        return self.id

    @property
    def own_key(self) -> str:
        """The concurrency key of all runs of this backfill, such as `nightly.bkQ1xEo2a`, or of all items of this step's
        run (its id).
        """
        return f"{self.job_id}{self.suffix}" if self.item is None else self.whole.id

    @property
    def item(self) -> int | None:
        """The index of the item; None if this is not the run of an item."""
        _, mark, index = self.suffix.rpartition(_ITEM)
        return int(index) if mark else None

    @property
    def shared(self) -> bool:
        """Whether this is the run of a step whose job is shared."""
        return _WORKFLOW in self.suffix

    @property
    def scheduled(self) -> RunName:
        """The run of the same occurrence, step or item without a backfill: the name without `.b…` or `.f…`."""
        if not self.suffix.startswith((".b", ".f")):
            return self
        _, mark, rest = self.suffix[1:].partition(".")
        return RunName(self.job_id, self.occurrence, mark + rest)

    @property
    def whole(self) -> RunName:
        """The run of the step to which this run of an item belongs, or this run."""
        before, mark, _ = self.suffix.rpartition(_ITEM)
        return RunName(self.job_id, self.occurrence, before) if mark else self

    def of_item(self, index: int) -> RunName:
        """Return the name of the run of an item of this step's run."""
        return RunName(self.job_id, self.occurrence, f"{self.suffix}{_ITEM}{index}")

    def of_step(self, job_id: str, *, shared: bool) -> RunName:
        """Return the name of the run of a step of this workflow's run. `shared`: the job may be a step of several
        workflows.
        """
        own = f"{_WORKFLOW}{self.job_id}" if shared else ""
        return RunName(job_id, self.occurrence, self.suffix + own)

    def of_workflow(self, workflow: str) -> RunName:
        """Return the name of the run of a workflow, at any level, to which this run of a step or of an item belongs."""
        return RunName(workflow, self.occurrence, self.whole.suffix.partition(_WORKFLOW)[0])


def parse_run_id(text: str) -> RunName:
    """Parse a run id such as `nightly.20261121T064700Z`. Raises ValueError for any other form."""
    match = _RUN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a run id; write one such as nightly.20261121T064700Z")
    return RunName(match["job"], from_basic(match["at"]), match["suffix"])


def is_id(text: str) -> bool:
    """Return whether `text` is a valid id of a job or a tenant."""
    return _ID.fullmatch(text) is not None


def key_queue(key: str) -> str:
    """Return the name under which a concurrency key has locks and a wait queue, as a job has them under its id. No id
    contains a `*`.
    """
    return f"*{key}"


def is_key_queue(queue: str) -> bool:
    """Return whether this is the name of a concurrency key (`key_queue`), and not the id of a job."""
    return queue.startswith("*")


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The identity of a run: `tenant`'s job and one `occurrence`, due at `due` with its jitter (UTC seconds).

    - `generation`: the generation of the definition that enqueued the run.
    - `suffix`: marks a manual run (`.m…`, `.b…`), requested by `requested_by`.
    - `own_payload`: the run is called with the payload of that request (stores.inputs) instead of the job's payload.
    - `count`, `through`: the number of missed occurrences that the run covers, and the last of them.
    - `correlation_id`: the id of the request that created the run, or of the round that enqueued it. None in data
      written before this field existed.
    - `at_once`: the maximum number of active runs of the run's backfill, which is then the limit of a concurrency key
      (`own_key`). None: the backfill has no such limit. The same for the items of a list.
    - `workflow`: the graph of a workflow's run and of the runs of its steps (`nightly@3f2a…`). The names of these runs
      differ only in the job, except for shared jobs. If the workflow is itself a step, its graph follows those of the
      outer workflows (`nightly@3f2a…/load@91bc…`).
    - `wait_priority`: the priority in the wait queue of its concurrency key (0 to 9), set when the run first starts or
      waits for the key.
    - `items_within`: set for a step that runs once for each item of a list, and for the runs of its items: the longest
      time (seconds) from the start of the step's run to the end of all items.
    - `items`: the hash of the graph of these items, once the step's run has started.
    - `name`, `is_step`, `is_workflow`, `has_items`, `manual` follow from the other fields: the run's name, and whether
      this is the run of a workflow's step, of a workflow, of a step that runs once for each item, or a manual run (run
      now, backfill, by a workflow). Schedule changes do not affect a manual run. The run of a step with items is also
      that of a workflow: its items are its steps. So is the run of a workflow that is a step.
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
    at_once: int | None = None
    wait_priority: int = 0
    items_within: int | None = None
    items: str | None = None
    name: RunName = field(init=False, repr=False, compare=False)
    is_step: bool = field(init=False, repr=False, compare=False)
    is_workflow: bool = field(init=False, repr=False, compare=False)
    has_items: bool = field(init=False, repr=False, compare=False)
    manual: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        outer, _, own = ("", "", "") if self.workflow is None else self.workflow.rpartition("/")
        is_own = own.partition("@")[0] == self.job_id
        object.__setattr__(self, "name", RunName(self.job_id, self.occurrence, self.suffix))
        object.__setattr__(self, "is_step", bool(outer) or (bool(own) and not is_own))
        object.__setattr__(self, "has_items", self.items_within is not None and self.name.item is None)
        object.__setattr__(self, "is_workflow", is_own or self.has_items)
        object.__setattr__(self, "manual", bool(self.suffix) or self.is_step)

    @property
    def workflow_id(self) -> str | None:
        """The id of the workflow of which this is a run, or to which the run of this step belongs."""
        if self.workflow is None:
            return None
        outer, _, own = self.workflow.rpartition("/")
        is_own = bool(outer) and own.partition("@")[0] == self.job_id
        return (outer.rpartition("/")[2] if is_own else own).partition("@")[0]


def _of_identity(name: str) -> Any:
    """Return a property that reads the identity's field of this name. It adds no Python frame, because these fields are
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
    workflow_id: str | None = _of_identity("workflow_id")
    at_once: int | None = _of_identity("at_once")
    wait_priority: int = _of_identity("wait_priority")
    items_within: int | None = _of_identity("items_within")
    items: str | None = _of_identity("items")
    name: RunName = _of_identity("name")
    run_id: str = _of_identity("name.id")
    is_step: bool = _of_identity("is_step")
    is_workflow: bool = _of_identity("is_workflow")
    has_items: bool = _of_identity("has_items")
    manual: bool = _of_identity("manual")


RunLike = OfRun | RunIdentity
"""A run, a message about it, or its identity."""
