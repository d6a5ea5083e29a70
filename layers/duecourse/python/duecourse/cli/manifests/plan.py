"""Plans the changes that make the stored jobs match the files. The API validates each document with `dry_run` and
returns it with its defaults, so this module does not need to know the defaults. Planning changes nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, TypeVar, cast

from duecourse.cli.manifests.difference import (
    JOB_FIELDS,
    OF_THE_WORKFLOW,
    WORKFLOW_FIELDS,
    Difference,
    differences,
    only,
)
from duecourse.cli.manifests.documents import MANAGED_BY, FaultsError, Manifest, owner_tag
from duecourse.cli.manifests.moving import faults_of, is_unfinished, kept, move
from duecourse.client import (
    ApiError,
    Client,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    PreconditionError,
    TooManyRequestsError,
)
from duecourse.client.bodies import JobRequest, WorkflowRequest
from duecourse.client.models import Job, Workflow

SIDE_BY_SIDE = 8
"""The maximum number of concurrent requests."""
PATIENCE_TRIES = 20
"""The maximum number of tries of a request while the tenant's rate limit is reached."""

_OF_ITEMS = {"for_each": None, "at_once": None, "max_failed": None}
_CONDITIONS = {
    "after": [],
    "when": "all_success",
    "may_fail": False,
    "not_before": None,
    "only": None,
    "shared": False,
} | _OF_ITEMS
"""A step without conditions in the API's format."""

_WITH_ITEMS = {"at_once": 10, "max_failed": 0}
"""The defaults of a step with `for_each`."""

T = TypeVar("T")

Gives = Callable[[str, str], bool]
"""Returns whether the plan releases this job from this workflow."""


class Action(StrEnum):
    """The change of a job, with the mark in the plan."""

    CREATE = "+"
    CHANGE = "~"
    REMOVE = "-"
    KEEP = "="


@dataclass(frozen=True, slots=True)
class Step:
    """The change of one job or workflow with this ETag (None: it does not exist). `takes` has the jobs that workflows
    must release first, each with its workflow. `moved_from` is the id from which the job is moved.
    `managed_by` is the owner of the files that define the job, if the change is not in them. `interim`: a version of a
    workflow that only lasts until the plan's next step for it, or a job that only such a version needs. `within`: a
    workflow writes the job first, because its new definition is only valid with the workflow's new graph. `before` is
    the stored job; the release of the job changes its ETag. `scheduled` has the stored jobs with a schedule that the
    workflow defines as its steps. `tried` is the result of the dry run of the job, if it has this id.
    """

    action: Action
    id: str
    is_workflow: bool
    manifest: Manifest | None = None
    etag: str | None = None
    differences: tuple[Difference, ...] = ()
    takes: Mapping[str, str] = field(default_factory=dict)
    moved_from: str | None = None
    managed_by: str | None = None
    interim: bool = False
    within: bool = False
    before: Job | Workflow | None = field(default=None, repr=False)
    scheduled: tuple[Job, ...] = ()
    tried: Job | None = field(default=None, repr=False)

    @property
    def takes_from(self) -> frozenset[str]:
        """The workflows that must release jobs first."""
        return frozenset(self.takes.values())

    @property
    def kind(self) -> Literal["job", "workflow"]:
        """The kind of the resource as a word."""
        return "workflow" if self.is_workflow else "job"

    @property
    def was_promoted(self) -> bool:
        """Whether the file still says `shadow: true`, although the stored job is not a shadow."""
        shadow = self.manifest is not None and self.manifest.shadow
        return shadow and isinstance(self.before, Job) and self.before.shadow_since is None

    @property
    def not_found(self) -> tuple[str, ...]:
        """The earlier ids of a new job: it is created because no job has one of them."""
        return self.manifest.moved_from if self.action is Action.CREATE and self.manifest is not None else ()


def plan(client: Client, manifests: Sequence[Manifest], owner: str | None = None, *, prune: bool = False) -> list[Step]:
    """Return the steps in the order of the files. With `prune`, the removals follow: jobs that have the owner's tag and
    are in no file. Raises FaultsError with all faults, for example for jobs of another owner.
    """
    jobs = {each.id: each for each in manifests if not each.is_workflow}
    named = {job_id for each in manifests for job_id in each.owned_steps}
    written = {job_id for each in manifests for _, job_id in each.names}
    new: dict[str, Manifest] = {}
    nested = {each.id: each for each in manifests if each.is_workflow}
    removals = _removals(client, manifests, owner) if prune and owner is not None else []
    graphs: dict[str, Collection[str]] = {each.id: each.owned_steps for each in manifests if each.is_workflow}
    graphs |= {each.id: () for each in removals if each.is_workflow}

    def gives(workflow: str, job: str) -> bool:
        return workflow in graphs and job not in graphs[workflow]

    def look(manifest: Manifest) -> Step | list[str]:
        try:
            if manifest.is_workflow:
                return _of_workflow(client, manifest, jobs, new, owner, gives, written, nested)
            return _of_job(client, manifest, owner, gives, written, is_step=manifest.id in named)
        except FaultsError as error:
            return [*error.faults]
        except ApiError as error:
            return told(manifest, error)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        found = dict(zip(jobs, threads.map(look, jobs.values()), strict=True))
        of_jobs = [each for each in found.values() if isinstance(each, Step)]
        shared = frozenset[str]().union(*(each.shared for each in manifests))
        new |= {
            each.id: jobs[each.id]
            for each in of_jobs
            if each.action is Action.CREATE or (each.action is not Action.KEEP and each.id not in shared)
        }
        within = {each.id: jobs[each.id] for each in of_jobs if each.within}
        workflows = [_with(each, within) for each in manifests if each.is_workflow]
        found |= dict(zip((each.id for each in workflows), threads.map(look, workflows), strict=True))
    if faults := [line for manifest in manifests for line in _faults(found[manifest.id])]:
        raise FaultsError(_grouped(faults))
    steps = [step for manifest in manifests if isinstance(step := found[manifest.id], Step)]
    moved = {step.moved_from for step in steps}
    steps += [step for step in removals if step.id not in moved]
    steps = [each for step in steps for each in (*_unscheduled(step), step)]
    while True:
        try:
            in_turn(steps)
        except CycleError as error:
            steps = _broken(client, steps, sorted({name for name, _ in error.args[1]}))
        else:
            return steps


def in_turn(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the steps in groups that must be applied one after the other: jobs exist before their workflow is put and
    until it is removed, and two workflows never contain the same job. A workflow releases a job before the job or
    another workflow that needs this is written. Jobs that deliver notices are written before the jobs that name them,
    unless these are needed first. Raises CycleError.
    """
    giving = frozenset[str]().union(*(step.takes_from for step in steps))
    interim = {step.id for step in steps if step.interim and step.is_workflow}
    late: dict[bool, list[Step]] = {True: [], False: []}
    early: dict[tuple[str, bool], Step] = {}
    for step in steps:
        if step.action is Action.REMOVE and step.id not in giving:
            late[step.is_workflow].append(step)
        else:
            early[step.id, step.interim and step.is_workflow] = step
    writers = {
        job_id: place
        for place, step in early.items()
        if step.manifest is not None and not place[1]
        for job_id in (step.id, *step.manifest.inline)
    }
    delivering = {
        place: {writers[name] for name in _started(step.manifest, writers)} - {place}
        for place, step in early.items()
        if step.manifest is not None
    }
    # A release changes the ETags of jobs, so jobs that need none are written before all workflows.
    free = {
        place
        for place, step in early.items()
        if not (step.is_workflow or step.takes or step.within)
        and not any(early[other].is_workflow for other in delivering.get(place, ()))
    }
    within = {place for place, step in early.items() if step.within}
    graph: dict[tuple[str, bool], set[tuple[str, bool]]] = {}
    for place, step in early.items():
        needs = {(name, name in interim) for name in step.takes_from}
        named = () if step.manifest is None else step.manifest.steps
        if step.is_workflow:
            needs |= free | {(name, False) for name in named if (name, False) not in within}
        elif place in within:
            needs |= {
                (each.id, False) for each in steps if each.manifest is not None and step.id in each.manifest.owned_steps
            }
        if step.id in interim and not place[1]:
            needs.add((step.id, True))
        graph[place] = (needs & early.keys()) - {place}
    for place, others in delivering.items():
        graph[place] |= {other for other in others if place not in _needed(graph, other)}
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    groups: list[list[Step]] = []
    while ready := sorter.get_ready():
        groups.append([early[place] for place in sorted(ready, key=list(early).index)])
        sorter.done(*ready)
    return [*groups, *_outermost_first(late[True]), late[False]]


def _outermost_first(removals: Sequence[Step]) -> Iterator[list[Step]]:
    """Yield the removals of workflows in groups: a workflow cannot be removed while it is a step of another one."""
    left = {step.id: step for step in removals}
    while left:
        inside = {name for name, step in left.items() if isinstance(step.before, Job) and step.before.workflow in left}
        group = [step for name, step in left.items() if name not in inside] or list(left.values())
        yield group
        left = {name: left[name] for name in inside} if len(group) < len(left) else {}


def _needed(graph: Mapping[T, Collection[T]], place: T) -> set[T]:
    """Return what a place of the graph needs, directly or through others, and the place itself."""
    found, todo = {place}, [place]
    while todo:
        todo += (new := {*graph[todo.pop()]} - found)
        found |= new
    return found


def _unscheduled(step: Step) -> Iterator[Step]:
    """Yield the changes that remove the schedules of jobs which the workflow then defines as its steps."""
    for job in step.scheduled:
        kept = {name: job.document[name] for name in JOB_FIELDS if name not in OF_THE_WORKFLOW}
        manifest = Manifest(job.id, {**kept, "id": job.id, "schedule": None}, file=step.kind)
        yield _step(manifest, job.etag, (Difference("schedule", job.document["schedule"], None),))


MOVING = "--moving"
"""The end of the id of a copy that replaces the job of a step while the job moves to another workflow."""


def _broken(client: Client, steps: Sequence[Step], names: Sequence[str]) -> list[Step]:
    """Return the steps with one that lets a workflow release the jobs that others take, so that these workflows (by
    name) can exchange jobs. The workflow does without the jobs or, if it has no other steps, contains copies of them.
    Raises FaultsError.
    """
    taken = {job_id: name for step in steps for job_id, name in step.takes.items()}
    for copying in (False, True):
        for step in (each for each in steps if each.id in names and each.is_workflow and not each.interim):
            leaving = {job_id for job_id, name in taken.items() if name == step.id}
            made = None if step.manifest is None else _interim(client, step, leaving, copying=copying)
            if made is not None:
                return [*steps, *made]
    said = f"the workflows {', '.join(names)} exchange jobs, and no order of the changes is valid"
    raise FaultsError([f"{said}; remove the jobs from one of them in a first plan"])


def _interim(client: Client, step: Step, leaving: Collection[str], *, copying: bool) -> list[Step] | None:
    """Return the step that puts the stored workflow without the jobs that leave it, or with copies of them (`copying`),
    and the removals of these copies. None if such a workflow is not valid.
    """
    if not isinstance(step.before, Workflow) or step.manifest is None:
        return None
    jobs: dict[str, Any] = {name: dict(each) for name, each in step.before.document["jobs"].items()}
    gone = {name: each["job_id"] for name, each in jobs.items() if each["job_id"] in leaving}
    copies: dict[str, str] = {}
    for name, job_id in gone.items():
        if copying:
            copies[name] = f"{job_id}{MOVING}"
            jobs[name] |= {"job_id": copies[name], "job": _copied(client, job_id)}
        else:
            del jobs[name]
    for each in jobs.values():
        each["after"] = [name for name in each["after"] if name in jobs]
    body = {name: step.before.document[name] for name in WORKFLOW_FIELDS if name in step.before.document}
    manifest = replace(step.manifest, body={**body, "jobs": jobs})
    try:
        patient(partial(_put_workflow, client, manifest, step.etag, dry_run=True))
    except ApiError:
        return None
    found = tuple(Difference(f"jobs.{name}", job_id, copies.get(name)) for name, job_id in gone.items())
    made = Step(
        Action.CHANGE, step.id, is_workflow=True, manifest=manifest, etag=step.etag, differences=found, interim=True
    )
    return [made, *(Step(Action.REMOVE, name, is_workflow=False, interim=True) for name in copies.values())]


def _copied(client: Client, job_id: str) -> dict[str, Any]:
    """Return the definition of a step's job, for a workflow."""
    job = patient(partial(client.get_job, job_id))
    return {name: job.document[name] for name in JOB_FIELDS if name in job.document and name not in OF_THE_WORKFLOW}


def told(manifest: Manifest, error: ApiError) -> list[str]:
    """Return the API's errors for a document, each with its file and line."""
    if isinstance(error, PreconditionError):
        return [f"{manifest.place()}: another caller changed {manifest.id} at the same time; run the command again"]
    faults = error.faults if error.status < 500 else ()
    lines = [f"{manifest.place(fault.where)}: {fault}" for fault in faults]
    return lines or [f"{manifest.place()}: {error}"]


def patient(ask: Callable[[], T], wait: Callable[[float], object] = time.sleep) -> T:
    """Return the response of the API, after waits for its rate limit. Raises ApiError."""
    for _ in range(PATIENCE_TRIES):
        try:
            return ask()
        except TooManyRequestsError as error:
            wait(error.retry_after or 1.0)
    return ask()


def every_job(client: Client, tag: str | None = None, search: str | None = None) -> Iterator[Job]:
    """Yield all jobs, or those with a tag and a part of their id or name, page by page."""
    cursor = None
    while True:
        page = patient(partial(client.list_jobs, tag=tag, search=search, limit=100, cursor=cursor))
        yield from page.items
        if not (cursor := page.next_cursor):
            return


def standing(ask: Callable[[], T]) -> T | None:
    """Return the resource, or None if it does not exist."""
    try:
        return patient(ask)
    except NotFoundError:
        return None


def _faults(found: Step | list[str]) -> list[str]:
    return [] if isinstance(found, Step) else found


_OF_ANOTHER = re.compile(r".+: (?P<name>\S+) (?P<why>belongs to the owner [^;]+); .+")
SHOWN = 3
"""The maximum number of jobs of one other owner that are listed on separate lines."""


def _grouped(faults: Sequence[str]) -> list[str]:
    """Return the faults. Of the jobs of one other owner, the first SHOWN have a line each, and all further ones share a
    line.
    """
    seen: dict[str, list[str]] = {}
    lines = []
    for line in faults:
        found = _OF_ANOTHER.fullmatch(line)
        names = [] if found is None else seen.setdefault(found["why"], [])
        if found is not None:
            names.append(found["name"])
        if len(names) <= SHOWN:
            lines.append(line)
    rest = [(why, names[SHOWN:]) for why, names in seen.items() if len(names) > SHOWN]
    return lines + [f"{len(names)} more, each {why}: {', '.join(names)}" for why, names in rest]


def _of_others(place: str, name: str, tags: Iterable[str], owner: str | None) -> list[str]:
    """Return the fault if the files of this owner would change a job with these tags that belongs to another owner. An
    owner of None has no faults.
    """
    others = [tag for tag in tags if tag.startswith(MANAGED_BY)]
    if owner is None or not others or owner_tag(owner) in others:
        return []
    other = others[0].removeprefix(MANAGED_BY)
    remedy = f"use --owner {other}, or apply it once without --owner, which removes the tag"
    return [f"{place}: {name} belongs to the owner {other} (tag {others[0]}); {remedy}"]


def _of_job(
    client: Client, manifest: Manifest, owner: str | None, gives: Gives, written: Collection[str], *, is_step: bool
) -> Step:
    """Return the step for a job. `is_step`: a workflow in the files names it. `written` has all jobs of the files."""
    before = standing(partial(client.get_job, manifest.id))
    moved_from, present = None, manifest
    if manifest.moved_from and (before is None or is_unfinished(before)):
        olds = (job for name in manifest.moved_from if (job := standing(partial(client.get_job, name))) is not None)
        if (old := next(olds, None)) is not None:
            if before is None:  # the id, the quota, and what the API checks only for a new job
                _rehearsed(_put_job, client, manifest, None, written)
            before, moved_from = old, old.id
            present = replace(manifest, id=old.id, body={**manifest.body, "id": old.id})
        elif before is not None:
            moved_from = manifest.moved_from[0]
    if before is None:
        tried = _rehearsed(_put_job, client, manifest, None, written)
        return Step(Action.CREATE, manifest.id, is_workflow=False, manifest=manifest, tried=tried)
    faults = _of_others(manifest.place(), before.id, before.tags, owner)
    if faults := faults or ([] if before.id == manifest.id else faults_of(manifest, before)):
        raise FaultsError(faults)
    if before.id == manifest.id:
        present = kept(manifest, before)
        manifest = manifest if moved_from else present
    takes: dict[str, str] = {}
    within = False
    try:
        after = _rehearsed(_put_job, client, present, before.etag, written)
    except ApiError:
        within = is_step and before.workflow is not None
        if before.workflow is not None and not is_step and gives(before.workflow, before.id):
            takes = {before.id: before.workflow}
        elif not within:
            raise
        # The API validates the definition under another id, because the job is still a step of the present workflow.
        free = replace(manifest, id=f"{manifest.id}{MOVING}", body={**manifest.body, "id": f"{manifest.id}{MOVING}"})
        after = _rehearsed(_put_job, client, free, None, written)
    found = tuple(differences(only(before.document, JOB_FIELDS), only(after.document, JOB_FIELDS)))
    tried = after if after.id == before.id else None
    step = replace(_step(manifest, before.etag, found), takes=takes, within=within, before=before, tried=tried)
    return step if moved_from is None else replace(step, action=Action.CHANGE, moved_from=moved_from)


def _of_workflow(
    client: Client,
    manifest: Manifest,
    jobs: Mapping[str, Manifest],
    new: Mapping[str, Manifest],
    owner: str | None,
    gives: Gives,
    written: Collection[str],
    nested: Mapping[str, Manifest],
) -> Step:
    """Return the step for a workflow. `jobs` has the jobs of the files, `new` those that the plan creates before it, or
    changes after another workflow has released them, and `written` also the jobs that workflows define. `nested` are
    the workflows of the files, which may be steps of this one.
    """
    own = {**jobs, **nested}
    if faults := _with_schedule(manifest, own):
        raise FaultsError(faults)
    before, moved = standing(partial(client.get_workflow, manifest.id)), dict[str, str]()
    etag, whole, after = None if before is None else before.etag, _with(manifest, new), None
    scheduled: list[Job] = []
    try:
        after = _rehearsed(_put_workflow, client, whole, etag, written)
    except ConflictError as error:
        moved = _moved(client, manifest, error, own, gives, scheduled)
    except ApiError as error:
        if not _only_missing(client, manifest, error, nested):
            raise
    changed = [job_id for job_id in manifest.inline if after is None or job_id in after.changed]
    faults = [] if before is None else _of_others(manifest.place(), manifest.id, before.tags, owner)
    for job_id in changed if owner is not None else ():
        if (job := standing(partial(client.get_job, job_id))) is not None:
            faults += _of_others(manifest.place(f"jobs/{manifest.steps[job_id]}"), job_id, job.tags, owner)
    if faults:
        raise FaultsError(faults)
    steps = manifest.steps
    found = [Difference(f"jobs.{steps[job_id]}.workflow", other, manifest.id) for job_id, other in moved.items()]
    if before is not None and after is not None:
        found += differences(only(before.document, WORKFLOW_FIELDS), only(_as_shared(manifest, after), WORKFLOW_FIELDS))
        found += [
            Difference(f"jobs.{steps[job_id]}.job", None, "new")
            for job_id in after.created
            if job_id in manifest.inline
        ]
    elif before is not None:
        found += _besides(client, whole, before)
    zone = str(manifest.body.get("timezone", "UTC") if after is None else after.timezone)
    for job_id in changed:
        if before is not None or job_id in moved:
            found += _of_step(client, job_id, steps[job_id], manifest.inline[job_id], zone)
    step = _step(manifest, etag, tuple(found))
    action = Action.CREATE if before is None else step.action
    return replace(step, action=action, takes=moved, before=before, scheduled=tuple(scheduled))


def _as_shared(manifest: Manifest, after: Workflow) -> dict[str, Any]:
    """Return the workflow as it will be: a new shared job was defined in the request that only validated it."""
    names = {manifest.steps[job_id] for job_id in manifest.shared}
    jobs = {name: each | {"shared": True} if name in names else each for name, each in after.document["jobs"].items()}
    return {**after.document, "jobs": jobs}


def _only_missing(client: Client, manifest: Manifest, error: ApiError, nested: Collection[str]) -> bool:
    """Return whether the only errors are that workflows of the files, which are steps of this one, do not exist yet.
    The plan creates them first.
    """
    ids = {name: job_id for job_id, name in manifest.steps.items()}
    found = {ids.get(fault.where.removeprefix("jobs/"), "") for fault in error.faults}
    return bool(found) and found <= set(nested) and all(_is_missing(client, name) for name in found)


def _is_missing(client: Client, job_id: str) -> bool:
    return standing(partial(client.get_job, job_id)) is None


def _with_schedule(manifest: Manifest, jobs: Mapping[str, Manifest]) -> list[str]:
    """Return a fault for each step of a workflow whose job has its own schedule in the files."""
    return [
        f"{manifest.place(f'jobs/{name}')}: {job_id} has its own schedule in {jobs[job_id].place('schedule')}; "
        "set it to null, or remove the step"
        for job_id, name in manifest.steps.items()
        if job_id in jobs and job_id not in manifest.shared and jobs[job_id].body.get("schedule") is not None
    ]


def _moved(
    client: Client,
    manifest: Manifest,
    error: ConflictError,
    jobs: Mapping[str, Manifest],
    gives: Gives,
    scheduled: list[Job],
) -> dict[str, str]:
    """Return the jobs that other workflows will release for this one, each with its workflow. Jobs whose schedule the
    plan removes are no conflict; those that only the workflow defines are added to `scheduled`. Raises FaultsError
    for any other conflict of a job, and `error` itself if it is another kind of conflict.
    """
    if error.type != "workflow-conflict" or not error.faults:
        raise error
    moved, faults, ids = dict[str, str](), [], {name: job_id for job_id, name in manifest.steps.items()}
    for fault in error.faults:
        job_id = ids.get(fault.where.removeprefix("jobs/"), "")
        job = standing(partial(client.get_job, job_id)) if job_id else None
        if job is not None and job.workflow not in (None, manifest.id) and gives(str(job.workflow), job_id):
            moved[job_id] = str(job.workflow)
        elif job is not None and job.workflow is None and job.schedule is not None and job_id in jobs:
            continue  # its own document has no schedule
        elif job is not None and job.workflow is None and job.schedule is not None and job_id in manifest.inline:
            scheduled.append(job)
        else:
            faults.append(f"{manifest.place(fault.where)}: {fault}")
    if faults:
        raise FaultsError(faults)
    return moved


def _besides(client: Client, manifest: Manifest, before: Workflow) -> list[Difference]:
    """Return the differences of a workflow that cannot be validated before another one releases jobs. The fields are
    validated with the current graph. The graph in the file is compared without validation.
    """
    present = replace(manifest, body={**manifest.body, "jobs": before.document["jobs"]})
    try:
        after = patient(partial(_put_workflow, client, present, before.etag, dry_run=True))
        found = [*differences(only(before.document, WORKFLOW_FIELDS), only(after.document, WORKFLOW_FIELDS))]
    except ApiError:
        found = [Difference("fields", "as they are", "changed")]
    graph = {
        name: {"job_id": job_id}
        | _CONDITIONS
        | (_WITH_ITEMS if manifest.body["jobs"][name].get("for_each") is not None else {})
        | {key: each for key, each in manifest.body["jobs"][name].items() if key not in ("job", "job_id")}
        for job_id, name in manifest.steps.items()
    }
    return [*found, *differences(before.document["jobs"], graph, "jobs.")]


def _with(manifest: Manifest, new: Mapping[str, Manifest]) -> Manifest:
    """Return the workflow with the definitions of its jobs in `new`: the API does not know them yet."""
    jobs = manifest.body.get("jobs")
    wanted = {name: job_id for job_id, name in manifest.steps.items() if job_id in new}
    if not isinstance(jobs, Mapping) or not wanted:
        return manifest
    defined = {name: _defined(step, new[wanted[name]]) if name in wanted else step for name, step in jobs.items()}
    return replace(manifest, body={**manifest.body, "jobs": defined})


def _defined(step: Any, job: Manifest) -> Any:
    own = {"overlap": "skip"} | {name: each for name, each in job.body.items() if name not in ("id", *OF_THE_WORKFLOW)}
    if not isinstance(step, Mapping):
        return step
    return {**{name: each for name, each in step.items() if name != "shared"}, "job_id": job.id, "job": own}


def _of_step(client: Client, job_id: str, name: str, job: Mapping[str, Any], zone: str) -> list[Difference]:
    """Return the differences of a step. The caller knows that it differs; differences that the API does not return
    separately are omitted.
    """
    body = {"overlap": "allow", **job, "schedule": None, "timezone": zone}
    try:
        if (before := standing(partial(client.get_job, job_id))) is None:
            return [Difference(f"jobs.{name}.job", None, "new")]
        after = patient(partial(client.put_job, job_id, cast("JobRequest", body), dry_run=True))
    except ApiError:
        return [Difference(f"jobs.{name}.job", "as it is", "changed")]
    one, other = only(before.document, JOB_FIELDS), only(after.document, JOB_FIELDS)
    return list(differences(one, other, f"jobs.{name}.job."))


def _step(manifest: Manifest, etag: str | None, found: tuple[Difference, ...]) -> Step:
    action = Action.CHANGE if found else Action.KEEP
    return Step(action, manifest.id, manifest.is_workflow, manifest, etag, found)


def _removals(client: Client, manifests: Iterable[Manifest], owner: str) -> list[Step]:
    """Return the removals."""
    wanted = {name for manifest in manifests for _, name in manifest.names}
    steps = []
    for job in [each for each in every_job(client, owner_tag(owner)) if each.id not in wanted]:
        now = standing(partial(client.get_job, job.id))
        if now is not None and owner_tag(owner) in now.tags:
            steps.append(removal(now))
    return workflows_first(steps)


def removal(job: Job) -> Step:
    """Return the removal of a job or a workflow."""
    is_workflow = job.target.get("type") == "workflow"
    etag = job.etag if job.workflow is None else None  # its workflow, which releases it first, changes its ETag
    return Step(Action.REMOVE, job.id, is_workflow, etag=etag, before=job)


def workflows_first(steps: Iterable[Step]) -> list[Step]:
    """Return removals in their order. A job cannot be removed while it is a step."""
    return sorted(steps, key=lambda step: not step.is_workflow)


def carry_out(client: Client, step: Step) -> str | None:
    """Apply the step if the job has not changed. Return the new ETag of a workflow. Raises ApiError or FaultsError."""
    if step.action is Action.REMOVE:
        standing(partial(client.delete_job, step.id, if_match=step.etag))
    elif step.manifest is not None and step.is_workflow:
        return cast("str | None", patient(partial(_put_workflow, client, step.manifest, step.etag)).etag)
    elif step.manifest is not None:
        etag = _released(client, step) if step.takes else step.etag
        if step.within:  # its workflow has just written it
            etag = patient(partial(client.get_job, step.id)).etag
        if step.moved_from is not None:
            move(client, step.manifest, step.moved_from, etag, patient)
        else:
            patient(partial(_put_job, client, step.manifest, etag))
    return None


def _released(client: Client, step: Step) -> str | None:
    """Return the ETag of a job after its workflow has released it, or its earlier ETag if the job has changed."""
    now, before = patient(partial(client.get_job, step.id)), step.before
    same = before is not None and only(now.document, JOB_FIELDS) == only(before.document, JOB_FIELDS)
    return now.etag if same else step.etag


def _rehearsed(
    put: Callable[..., Any], client: Client, manifest: Manifest, etag: str | None, written: Collection[str]
) -> Any:
    """Return the result of a dry run. A caller with tag-scoped permissions may only start jobs that exist. In place of
    those that the plan writes first, the API validates the rules of `notify` with the manifest's own id; their rules in
    `then` are left out, because a job cannot start itself.
    """
    try:
        return patient(partial(put, client, manifest, etag, dry_run=True))
    except ForbiddenError:
        rules = {place: name for place, name in _notified(manifest) if name in written}
        later = {place: others for place, names, others in _followed(manifest, written) if names}
        if not rules and not later:
            raise
    body = deepcopy(dict(manifest.body))
    for place in rules:
        _set(body, place, manifest.id)
    for place, others in later.items():
        _set(body, place, others)
    after = patient(partial(put, client, replace(manifest, body=body), etag, dry_run=True))
    for place, name in rules.items():
        if place.startswith("notify/"):
            _set(after.document, place, name)
    if "then" in later:
        after.document["then"] = [{"on": "succeeded", **rule} for rule in manifest.body["then"]]
    return after


def _bodies(manifest: Manifest) -> Mapping[str, Mapping[str, Any]]:
    """Return the bodies of the jobs of a manifest by the beginning of the pointers in them."""
    inline = {f"jobs/{manifest.steps[job_id]}/job/": job for job_id, job in manifest.inline.items()}
    return {"": manifest.body, **inline}


def _notified(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the jobs that deliver the notices about the jobs of a manifest, each with its pointer."""
    for start, body in _bodies(manifest).items():
        rules = body.get("notify")
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            to = rule.get("to") if isinstance(rule, Mapping) else None
            if isinstance(to, Mapping) and isinstance(to.get("job"), str):
                yield f"{start}notify/{index}/to/job", to["job"]


def _started(manifest: Manifest, written: Collection[str]) -> Iterator[str]:
    """Yield those of the `written` jobs that the jobs of a manifest start."""
    yield from (name for _, name in _notified(manifest) if name in written)
    for _, names, _others in _followed(manifest, written):
        yield from names


def _followed(manifest: Manifest, written: Collection[str]) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Yield each `then` in a manifest by its pointer, with those of its jobs that are `written` and the other rules."""
    for start, body in _bodies(manifest).items():
        rules = body.get("then")
        if not isinstance(rules, list) or not all(isinstance(rule, Mapping) for rule in rules):
            continue
        names = [str(rule["job"]) for rule in rules if rule.get("job") in written]
        yield f"{start}then", names, [rule for rule in rules if rule.get("job") not in written]


def _set(body: Any, pointer: str, value: object) -> None:
    *names, last = pointer.split("/")
    for name in names:
        body = body[int(name) if isinstance(body, list) else name]
    body[last] = value


def _put_job(client: Client, manifest: Manifest, etag: str | None, *, dry_run: bool | None = None) -> Any:
    return client.put_job(
        manifest.id,
        cast("JobRequest", manifest.body),
        dry_run=dry_run,
        shadow=True if manifest.shadow and etag is None else None,
        if_match=etag,
        if_none_match="*" if etag is None else None,
    )


def _put_workflow(client: Client, manifest: Manifest, etag: str | None, *, dry_run: bool | None = None) -> Any:
    return client.put_workflow(
        manifest.id,
        cast("WorkflowRequest", manifest.body),
        dry_run=dry_run,
        if_match=etag,
        if_none_match="*" if etag is None else None,
    )
