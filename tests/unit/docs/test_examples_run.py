"""Every job and workflow of the documentation is created and run, against targets that succeed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from duecourse.testing import Answer, Scheduler, TargetCall
from scripts.openapi.examples import NEW_WORKFLOW

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")))
BLOCK = re.compile(r"^( *)```(json|yaml)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SECRET = re.compile(r"""\{\{ *secret:([^ }]+) *\}\}|"secret": *"([^"]+)\"""")

BODY = {"rows": 3, "count": 3, "files": [{"name": "a"}], "id": "x"}
"""What the targets of the examples answer."""


def examples() -> Iterator[Any]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            documents = [json.loads(block[3])] if block[2] == "json" else list(yaml.safe_load_all(block[3]))
            line = text[: block.start()].count("\n") + 1
            for number, document in enumerate(documents):
                if isinstance(document, dict) and {"schedule", "jobs", "target"} & document.keys() >= {"schedule"}:
                    name = f"{page.relative_to(ROOT)}:{line}" + (f"#{number}" if number else "")
                    yield pytest.param(document, id=name)
    yield pytest.param(NEW_WORKFLOW, id="openapi.json")


def stage(document: dict[str, Any]) -> Scheduler:
    text = json.dumps(document)
    target = document.get("target", {})
    actions = [f"{target['service']}:{target['action']}"] if "action" in target else []
    secrets = {name: "s3cret" for found in SECRET.findall(text) for name in found if name}
    return Scheduler("2026-11-20T10:00:00Z", secrets=secrets, allowed_actions=actions)


@pytest.mark.parametrize("document", list(examples()))
def test_documentation_examples_are_created_and_run(document: dict[str, Any]) -> None:
    if "task" in document:
        pytest.skip("its task is registered by a deployment")
    with stage(document) as scheduler:

        @scheduler.target
        def succeed(call: TargetCall) -> Answer:
            return Answer(200, BODY)

        named = {name: value for name, value in document.items() if name not in ("id", "workflow")}
        if "jobs" in document:
            for name in (name for name, each in document["jobs"].items() if "job" not in each):
                target = {"type": "http", "url": f"https://example.com/{name}"}
                scheduler.client.create_job({"id": name, "schedule": None, "target": target})
            scheduler.client.put_workflow("example", named)
            run_id = scheduler.client.run_job("example").id
        else:
            document.pop("moved_from", None)  # only `duecourse apply` reads it
            scheduler.client.create_job(document)
            run_id = scheduler.client.run_job(document["id"]).id
        scheduler.advance(seconds=5)
        run = scheduler.client.get_run(run_id)
        if run.state == "WAITING":
            call = scheduler.calls[-1]  # of the run, or of a step of it
            assert call.callback_token is not None
            scheduler.client.complete_run(call.run_id, token=call.callback_token)
            scheduler.advance(seconds=5)
            run = scheduler.client.get_run(run_id)
        assert (run.state, run.error) == ("SUCCEEDED", None)
        if "jobs" in document:
            ran = {call.job_id for call in scheduler.calls}
            steps = scheduler.client.get_workflow("example").jobs.values()
            needed = {step.job_id for step in steps if step.when != "any_failure"}
            assert ran == needed
