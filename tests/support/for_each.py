"""Workflows with a step that runs once for each item of a list, as tests want them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.rendering import render_document
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.workflows.graph import ForEach, Graph, Step
from duecourse.ports import Call
from tests.support.jobs import job
from tests.support.workflow_world import INSTANT, WorkflowWorld

STEPS = ("list", "load", "report")


def listed_graph(at_once: int = 10, max_failed: int = 0, within_seconds: int = 3600) -> Graph:
    """A graph of three steps: `load` runs once for each item that `list` has returned, and `report` after it."""
    each = ForEach("{{upstream.list.result.items}}", at_once, max_failed, within_seconds)
    return Graph((Step(id="list"), Step(id="load", after=("list",), for_each=each), Step(id="report", after=("load",))))


class ItemAnswers:
    """What targets answer: `list` returns `values`; `load` fails for the indexes in `failing`, and else returns twice
    its item. `payloads` has the payloads of each run, `called` counts its calls.
    """

    def __init__(self, values: Any) -> None:
        self.values: Any = values
        self.failing: set[int] = set()
        self.payloads: dict[str, Any] = {}
        self.called: Counter[str] = Counter()

    def __call__(self, call: Call) -> Outcome:
        run = call.run.name
        self.called[run.id] += 1
        self.payloads[run.id] = render_document(call.job.payload, call.values)
        if run.job_id == "list":
            return Returned({"items": self.values})
        if run.job_id == "load" and run.item in self.failing:
            return Failed("no", retryable=False, code="http.500")
        return Returned({"of": run.item} if run.job_id == "load" else None)


def with_items(
    world: WorkflowWorld, values: Any, payload: Any = None, report: Any = None, **overlap: Any
) -> ItemAnswers:
    """Write the jobs of the workflow, and let its targets answer like this. `overlap`: the rule of the items' job."""
    answers = ItemAnswers(values)
    world.caller.answer = answers
    world.add(job("", id="load", workflow="nightly", payload=payload, **({"overlap": Overlap.ALLOW} | overlap)))
    world.add(job("", id="report", overlap=Overlap.ALLOW, workflow="nightly", payload=report))
    return answers


def item(world: WorkflowWorld, index: int, local: str = INSTANT) -> Run | None:
    """The run of an item."""
    return world.run("load", f"{local}.i{index}")


def item_ids(count: int, local: str = INSTANT) -> list[str]:
    """The ids of the runs of the first items."""
    return [f"load.{local}.i{index}" for index in range(count)]
