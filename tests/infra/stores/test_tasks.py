"""Named targets: what the operator writes is what the functions read."""

import json
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import App, Stack

from duecourse.domain.targets.kinds import target_of
from infra.settings.targets_config import task_json
from infra.stages import STAGES
from infra.stores.tasks import TaskParameters

TASKS = {
    "send-invoice": {
        "target": {"type": "lambda", "function": "duecourse-target-invoice", "mode": "sync"},
        "defaults": {"timeout_seconds": 60, "payload": {"run": "{{run_id}}", "literal": "\\{{ {{{ \\"}},
    },
    "ping": {
        "target": {"type": "http", "url": "https://example.com", "method": "GET", "headers": {}, "expect": ["2xx"]}
    },
}


@pytest.fixture(scope="module")
def parameters() -> dict[str, dict[str, Any]]:
    """The parameters of a stage with tasks, by name."""
    app = App(analytics_reporting=False)
    stack = Stack(app, "Tasks")
    TaskParameters(stack, "Tasks", config=replace(STAGES["dev"], tasks=TASKS))
    made = app.synth().get_stack_by_name("Tasks").template["Resources"].values()
    return {each["Properties"]["Name"]: each["Properties"] for each in made if each["Type"] == "AWS::SSM::Parameter"}


def test_named_tasks_are_each_a_parameter_of_the_stage(parameters: dict[str, dict[str, Any]]) -> None:
    assert set(parameters) == {"/duecourse/dev/tasks/send-invoice", "/duecourse/dev/tasks/ping"}
    assert {each["Type"] for each in parameters.values()} == {"String"}


def test_named_tasks_functions_can_read_registered_tasks(parameters: dict[str, dict[str, Any]]) -> None:
    for name, task in TASKS.items():
        read = json.loads(parameters[f"/duecourse/dev/tasks/{name}"]["Value"])
        assert read == {"defaults": {}, **task}
        assert target_of(read["target"])


def test_named_tasks_value_never_looks_like_a_reference_to_another_parameter() -> None:
    written = task_json(TASKS["send-invoice"])
    assert "{{" not in written
    assert json.loads(written) == TASKS["send-invoice"]


def test_named_tasks_template_with_backslashes_and_extra_braces_is_preserved() -> None:
    for text in ("{{a}}", "{{{a}}}", "\\{{", "\\\\{{", '"{{', "{{{{", "{ {"):
        task = {"target": {"type": "x", text: text}, "defaults": {"payload": [{"a": {"b": text}}]}}
        assert json.loads(task_json(task)) == task
        assert "{{" not in task_json(task)
