"""Plans the changes that make the stored jobs match the files. The API validates each document with `dry_run` and
returns it with its defaults, so this module does not need to know the defaults. Planning changes nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
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
from duecourse.client import ApiError, Client, ConflictError, NotFoundError, PreconditionError, TooManyRequestsError
from duecourse.client.bodies import JobRequest, WorkflowRequest
from duecourse.client.models import Job, Workflow

SIDE_BY_SIDE = 8
"""The maximum number of concurrent requests."""
PATIENCE_TRIES = 20
"""The maximum number of tries of a request while the tenant's rate limit is reached."""

_CONDITIONS = {"after": [], "when": "all_success", "may_fail": False, "not_before": None, "only": None}
"""A step without conditions in the API's format."""

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
    """The change of one job or workflow with this ETag (None: it does not exist). `takes_from` has the workflows that
    must release jobs first. `moved_from` is the id from which the job is renamed first.
    `managed_by` is the owner of the files that define the job, if the change is not in them.
    """

    action: Action
    id: str
    is_workflow: bool
    manifest: Manifest | None = None
    etag: str | None = None
    differences: tuple[Difference, ...] = ()
    takes_from: frozenset[str] = frozenset()
    moved_from: str | None = None
    managed_by: str | None = None

    @property
    def kind(self) -> Literal["job", "workflow"]:
        """The kind of the resource as a word."""
        return "workflow" if self.is_workflow else "job"

    @property
    def not_found(self) -> tuple[str, ...]:
        """The former ids of a new job: it is created because no job has one of them."""
        return self.manifest.moved_from if self.action is Action.CREATE and self.manifest is not None else ()


def plan(client: Client, manifests: Sequence[Manifest], owner: str | None = None, *, prune: bool = False) -> list[Step]:
    """Return the steps in the order of the files. With `prune`, the removals follow: jobs that have the owner's tag and
    are in no file. Raises FaultsError with all faults, for example for jobs of another owner.
    """
    jobs = {each.id: each for each in manifests if not each.is_workflow}
    new: dict[str, Manifest] = {}
    removals = _removals(client, manifests, owner) if prune and owner is not None else []
    graphs: dict[str, Collection[str]] = {each.id: each.steps for each in manifests if each.is_workflow}
    graphs |= {each.id: () for each in removals if each.is_workflow}

    def gives(workflow: str, job: str) -> bool:
        return workflow in graphs and job not in graphs[workflow]

    def look(manifest: Manifest) -> Step | list[str]:
        try:
            if manifest.is_workflow:
                return _of_workflow(client, manifest, new, owner, gives)
            return _of_job(client, manifest, owner)
        except FaultsError as error:
            return [*error.faults]
        except ApiError as error:
            return told(manifest, error)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        found = dict(zip(jobs, threads.map(look, jobs.values()), strict=True))
        new |= {name: jobs[name] for name, each in found.items() if isinstance(each, Step) and each.etag is None}
        workflows = [each for each in manifests if each.is_workflow]
        found |= dict(zip((each.id for each in workflows), threads.map(look, workflows), strict=True))
    if faults := [line for manifest in manifests for line in _faults(found[manifest.id])]:
        raise FaultsError(_grouped(faults))
    steps = [step for manifest in manifests if isinstance(step := found[manifest.id], Step)]
    moved = {step.moved_from for step in steps}
    steps += [step for step in removals if step.id not in moved]
    try:
        in_turn(steps)
    except CycleError as error:
        names = ", ".join(sorted(set(error.args[1])))
        raise FaultsError([f"the workflows {names} exchange jobs; apply the changes one at a time"]) from error
    return steps


def in_turn(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the steps in groups that must be applied one after the other: jobs exist before their workflow is put and
    until it is removed, and two workflows never contain the same job. Raises CycleError.
    """
    giving = frozenset[str]().union(*(step.takes_from for step in steps))
    turns: dict[tuple[bool, bool], list[Step]] = {}
    for step in steps:
        late = step.action is Action.REMOVE and step.id not in giving
        turns.setdefault((late, step.is_workflow), []).append(step)
    workflows = {step.id: step for step in turns.get((False, True), [])}
    sorter = TopologicalSorter({name: step.takes_from & workflows.keys() for name, step in workflows.items()})
    sorter.prepare()
    groups = [turns.get((False, False), [])]
    while ready := sorter.get_ready():
        groups.append([workflows[name] for name in ready])
        sorter.done(*ready)
    return [*groups, turns.get((True, True), []), turns.get((True, False), [])]


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


def _of_job(client: Client, manifest: Manifest, owner: str | None) -> Step:
    names = (manifest.id, *manifest.moved_from)
    before = next((job for name in names if (job := standing(partial(client.get_job, name))) is not None), None)
    if before is None:
        patient(partial(_put_job, client, manifest, None, dry_run=True))
        return Step(Action.CREATE, manifest.id, is_workflow=False, manifest=manifest)
    if faults := _of_others(manifest.place(), before.id, before.tags, owner):
        raise FaultsError(faults)
    moved_from, present = None, manifest
    if before.id != manifest.id:
        moved_from, present = before.id, replace(manifest, id=before.id, body={**manifest.body, "id": before.id})
        patient(partial(client.rename_job, before.id, manifest.id, dry_run=True, if_match=before.etag))
    after = patient(partial(_put_job, client, present, before.etag, dry_run=True))
    found = tuple(differences(only(before.document, JOB_FIELDS), only(after.document, JOB_FIELDS)))
    step = _step(manifest, before.etag, found)
    return step if moved_from is None else replace(step, action=Action.CHANGE, moved_from=moved_from)


def _of_workflow(
    client: Client, manifest: Manifest, new: Mapping[str, Manifest], owner: str | None, gives: Gives
) -> Step:
    """Return the step for a workflow. `new` has the jobs that the plan creates before it."""
    before, moved = standing(partial(client.get_workflow, manifest.id)), dict[str, str]()
    etag, whole, after = None if before is None else before.etag, _with(manifest, new), None
    try:
        after = patient(partial(_put_workflow, client, whole, etag, dry_run=True))
    except ConflictError as error:
        moved = _moved(client, manifest, error, gives)
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
        found += differences(only(before.document, WORKFLOW_FIELDS), only(after.document, WORKFLOW_FIELDS))
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
    return replace(step, action=Action.CREATE if before is None else step.action, takes_from=frozenset(moved.values()))


def _moved(client: Client, manifest: Manifest, error: ConflictError, gives: Gives) -> dict[str, str]:
    """Return the workflows that contain jobs of this one and will release them. Raises FaultsError if a job will not be
    released, and `error` itself if it is another kind of conflict.
    """
    if error.type != "workflow-conflict" or not error.faults:
        raise error
    moved, faults, ids = dict[str, str](), [], {name: job_id for job_id, name in manifest.steps.items()}
    for fault in error.faults:
        job_id = ids.get(fault.where.removeprefix("jobs/"), "")
        job = standing(partial(client.get_job, job_id)) if job_id else None
        if job is not None and job.workflow not in (None, manifest.id) and gives(str(job.workflow), job_id):
            moved[job_id] = str(job.workflow)
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
        | {key: each for key, each in manifest.body["jobs"][name].items() if key not in ("job", "job_id")}
        for job_id, name in manifest.steps.items()
    }
    return [*found, *differences(before.document["jobs"], graph, "jobs.")]


def _with(manifest: Manifest, new: Mapping[str, Manifest]) -> Manifest:
    """Return the workflow with the definitions of its jobs that do not exist yet: the API does not know them."""
    jobs = manifest.body.get("jobs")
    wanted = {name: job_id for job_id, name in manifest.steps.items() if job_id in new}
    if not isinstance(jobs, Mapping) or not wanted:
        return manifest
    defined = {name: _defined(step, new[wanted[name]]) if name in wanted else step for name, step in jobs.items()}
    return replace(manifest, body={**manifest.body, "jobs": defined})


def _defined(step: Any, job: Manifest) -> Any:
    own = {name: each for name, each in job.body.items() if name not in ("id", *OF_THE_WORKFLOW)}
    return {**step, "job_id": job.id, "job": own} if isinstance(step, Mapping) else step


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
    """Return the removals. Workflows come first, because a job cannot be removed while it is a step."""
    wanted = {name for manifest in manifests for _, name in manifest.names}
    steps = []
    for job in [each for each in every_job(client, owner_tag(owner)) if each.id not in wanted]:
        now = standing(partial(client.get_job, job.id))
        if now is not None and owner_tag(owner) in now.tags:
            is_workflow = now.target.get("type") == "workflow"
            etag = now.etag if now.workflow is None else None  # its workflow, which releases it first, changes its ETag
            steps.append(Step(Action.REMOVE, job.id, is_workflow, etag=etag))
    return sorted(steps, key=lambda step: not step.is_workflow)


def carry_out(client: Client, step: Step) -> None:
    """Apply the step if the job has not changed. Raises ApiError."""
    if step.action is Action.REMOVE:
        standing(partial(client.delete_job, step.id, if_match=step.etag))
    elif step.manifest is not None and step.is_workflow:
        patient(partial(_put_workflow, client, step.manifest, step.etag))
    elif step.manifest is not None:
        etag = step.etag
        if step.moved_from is not None:
            etag = patient(partial(client.rename_job, step.moved_from, step.id, if_match=etag)).etag
        if step.moved_from is None or step.differences:
            patient(partial(_put_job, client, step.manifest, etag))


def _put_job(client: Client, manifest: Manifest, etag: str | None, *, dry_run: bool | None = None) -> Any:
    return client.put_job(
        manifest.id,
        cast("JobRequest", manifest.body),
        dry_run=dry_run,
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
