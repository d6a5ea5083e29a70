"""A step that runs once for each item of a list (`for_each`): its graph, and its job as its run calls it. And the
manifest of a step whose run is a workflow's run: of items, or of a nested workflow.

The steps of the run of a step with `for_each` are the items. Their job is the step's job, and the id of an item's run
is that of the step's run with the index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.job import TIMED_GATES, Completion, Delivery, Job, JobSnapshot, Overlap, RetryPolicy
from duecourse.domain.runs.states import Cancelled, Run, RunState, Succeeded
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.check import OWN_FAULTS
from duecourse.domain.workflows.graph import Graph, GraphRun, Items, Step, StepOutcome, StepOutcomes
from duecourse.domain.workflows.results import Item


def items_graph(step: Step, values: Sequence[Any], timezone: str) -> Graph:
    """Return the graph of a run of a step with `for_each`, for the values of its list. Several items are active at a
    time, so they never have the seat of their job (domain.tenants.seats).
    """
    each = step.for_each
    if each is None:
        raise ValueError(f"{step.id} has no for_each")
    steps = tuple(
        Step(id=str(index), job=step.job_id, lane=step.lane, bulk=True, item=index) for index in range(len(values))
    )
    items = Items(tuple(map(json.dumps, values)), each.at_once, each.max_failed)
    return Graph(steps, timezone, step.lane, timed=False, items=items)


def item_at(items: Items, index: int) -> Item:
    """Return an item of a step's run."""
    return Item(json.loads(items.values[index]), index)


def as_starter(job: JobSnapshot, within_seconds: int) -> JobSnapshot:
    """Return the job of a step with items as the step's own run uses it. This run calls nothing and waits for its
    items, so the limits of the job's calls do not apply. None if the job has become a workflow.
    """
    if not isinstance(job, Job):
        return job
    if isinstance(job.target, WorkflowTarget):
        return None
    gates: dict[str, Any] = dict.fromkeys(("concurrency", *TIMED_GATES))
    return replace(
        job,
        target=WorkflowTarget(""),
        payload=None,
        completion=Completion.CALLBACK,
        completion_seconds=within_seconds,
        heartbeat_seconds=None,
        retry=RetryPolicy(on=OWN_FAULTS),
        delivery=Delivery.AT_LEAST_ONCE,
        overlap=Overlap.ALLOW,
        queue_limit=None,
        results=None,
        **gates,
    )


def manifest(inside: GraphRun, ends: StepOutcomes, records: Mapping[int, Run]) -> dict[str, Any]:
    """Return the result of a step with items, or of a workflow that is a step. `inside` is its run, whose items or
    steps have these `ends`. `records` are theirs, by number; a missing one has expired. A result above 2 KB is not part
    of it, only its size.
    """
    count = len(inside.graph.steps)
    entries = [_entry(inside.name_of(number), ends.of(number), records.get(number)) for number in range(count)]
    if inside.graph.items is None:
        return {"steps": {step.id: each for step, each in zip(inside.graph.steps, entries, strict=True)}}
    succeeded, items = ends.succeeded.bit_count(), [{"index": index} | each for index, each in enumerate(entries)]
    return {"count": count, "succeeded": succeeded, "failed": count - succeeded, "items": items}


def _entry(name: RunName, end: StepOutcome | None, run: Run | None) -> dict[str, Any]:
    found: dict[str, Any] = {"run_id": name.id, "state": _state(end, run).value, "result": None}
    match run:
        case None:
            found["expired"] = True
        case Succeeded() if run.result_bytes is None or (run.result_location is not None and run.result is not None):
            found["result"] = run.result
        case Succeeded():
            found["result_bytes"] = run.result_bytes
        case _:
            found["code"] = run.code
    return found


def _state(end: StepOutcome | None, run: Run | None) -> RunState:
    match end:
        case StepOutcome.SUCCEEDED:
            return RunState.SUCCEEDED
        case _ if isinstance(run, Cancelled):
            return RunState.CANCELLED
        case StepOutcome.ABORTED | StepOutcome.SKIPPED:
            return RunState.SKIPPED
        case StepOutcome.FAILED | None:
            return RunState.DEAD
