"""Workflows as tests want them: steps by name, each with the jobs that it comes after."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from duecourse.domain.jobs.job import Job, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.check import workflow_fields
from duecourse.domain.workflows.graph import Graph, Step
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run

if TYPE_CHECKING:
    from tests.support.api import ApiClient
    from tests.support.world import World

SECOND_OF_ALL = 60
"""When the workflows of these tests begin, after NOON."""


class NoWorkflows:
    """The WorkflowStore of a worker that meets none."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} of the store of workflows is used for a run outside workflows")


def graph_of(steps: dict[str, tuple[str, ...]], **rules: dict[str, Any]) -> Graph:
    """A graph: the jobs after which each step comes, and what else is said of some of them (`report={"when": …}`)."""
    named = {name.replace("_", "-"): fields for name, fields in rules.items()}
    return Graph(tuple(Step(id=name, after=after, **named.get(name, {})) for name, after in steps.items()))


def add_workflow(
    world: World,
    graph: Graph,
    *,
    id: str = "nightly",
    deadline_seconds: int = 3600,
    overlap: Overlap = Overlap.ALLOW,
    **fields: Any,
) -> Job:
    """Write the steps that are not there, then the workflow, whose one run is due a minute after NOON. `overlap` is
    that of the steps.
    """
    for step in graph.steps:
        if world.jobs.get("default", step.id) is None:
            world.add(job("", id=step.id, overlap=overlap, workflow=id))
    ref = world.workflows.put_graph("default", id, graph)
    schedule = fields.pop("schedule", "1 12 21 11 *")
    return world.add(job(schedule, id=id, **(workflow_fields(ref.graph, deadline_seconds) | fields)))


def add_ended_workflow(api: ApiClient, tenant: str, id: str, **fields: Any) -> None:
    """Write a workflow of one job, extract, and a run of it at NOON that is dead."""
    ref = api.workflows.put_graph(tenant, id, Graph((Step(id="extract"),)))
    workflow = job("0 0 1 1 *", id=id, at=NOON - 7200, **workflow_fields(ref.graph), **fields)
    workflow = replace(workflow, tenant=tenant)
    assert api.jobs.create(workflow, cursor(workflow))
    ended = run(workflow, RunState.DEAD, error="failed: extract (http.500)")
    assert api.runs.write(replace(ended, identity=replace(ended.identity, workflow=str(ref))), None) is None
