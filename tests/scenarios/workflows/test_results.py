"""Jobs of a workflow hand their small results down."""

import pytest

from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.graph import Rule
from duecourse.ports import ServiceError
from duecourse.testing.faults import failing
from duecourse.testing.outbox import StoredResults
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of


class Emptied(StoredResults):
    """A store of results whose objects are deleted at once."""

    def put(self, key: str, document: bytes, bucket: str | None = None) -> None:
        del key, document, bucket


def with_payload(world: WorkflowWorld, job_id: str, payload: object) -> None:
    world.add(job("0 0 1 1 *", id=job_id, overlap=Overlap.ALLOW, payload=payload))


def test_workflow_results_of_upstream_steps_and_the_workflow_can_be_used_in_a_payload(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"rows": 3, "files": ["a", "b"]}}
    payload = {
        "rows": "{{upstream.extract.result.rows}}",
        "first": "file {{ upstream.extract.result.files.0 }} of {{date}}",
        "whole": "{{upstream.extract.result}}",
        "region": "{{workflow.payload.region}}",
        "state": "{{upstream.extract.state}}",
    }
    with_payload(world, "transform", payload)
    world.begin(graph_of(CHAIN), NOON + 90, payload={"region": "eu"})
    assert world.answers.payloads["transform"] == {
        "rows": 3,
        "first": "file a of 2026-11-21",
        "whole": {"rows": 3, "files": ["a", "b"]},
        "region": "eu",
        "state": "SUCCEEDED",
    }


def test_workflow_results_are_never_interpreted_as_templates(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"text": "{{job_id}} and {{upstream.extract.run_id}}"}}
    with_payload(
        world, "transform", {"text": "{{upstream.extract.result.text}}", "in": "<{{upstream.extract.result.text}}>"}
    )
    world.begin(graph_of(CHAIN), NOON + 90)
    literal = "{{job_id}} and {{upstream.extract.run_id}}"
    assert world.answers.payloads["transform"] == {"text": literal, "in": f"<{literal}>"}


@pytest.mark.parametrize(
    ("result", "text", "said"),
    [
        ({"a": {"b": 1}}, '{"is": {{upstream.extract.result}}}', '{"is": {"a": {"b": 1}}}'),
        ("{job_id}", "{ {{upstream.extract.result}} }", "{ {job_id} }"),
        ("{", "{{upstream.extract.result}}{{date}}", "{2026-11-21"),
        ("C:\\", "{{ upstream.extract.result }}{{date}}", "C:\\2026-11-21"),
    ],
)
def test_workflow_results_braces_of_a_value_and_its_surrounding_text_form_no_template(
    world: WorkflowWorld, result: object, text: str, said: str
) -> None:
    world.answers.results = {"extract": result}
    with_payload(world, "transform", text)
    world.begin(graph_of(CHAIN), NOON + 90)
    assert world.answers.payloads["transform"] == said


def test_workflow_results_missing_value_fails_the_step_permanently(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"rows": 3}}
    with_payload(world, "transform", "{{upstream.extract.result.lines}}")
    world.begin(graph_of(CHAIN), NOON + 90)
    run = world.run("transform")
    assert (run.state, run.code) == (RunState.DEAD, "upstream_result")
    assert run.error == '{{upstream.extract.result.lines}}: the value has no field or index "lines"'
    assert world.called() == ["extract"]


def test_workflow_results_that_could_not_be_stored_are_not_passed_on_in_part(world: WorkflowWorld) -> None:
    world.results.refuses = True
    world.answers.results = {"extract": {"status": 200, "body": "x" * 5000}}
    with_payload(world, "transform", "{{upstream.extract.result.body}}")
    world.begin(graph_of(CHAIN), NOON + 90)
    run = world.run("transform")
    assert (run.state, run.code) == (RunState.DEAD, "upstream_result")
    assert run.error.startswith("the result of extract could not be stored (")
    assert world.called() == ["extract"]


def test_workflow_results_above_two_kilobytes_are_read_from_the_store_by_the_steps_that_use_them(
    world: WorkflowWorld,
) -> None:
    rows = [{"id": number, "text": "x" * 50} for number in range(200)]
    world.answers.results = {"extract": {"rows": rows}}
    with_payload(
        world,
        "transform",
        {"rows": "{{upstream.extract.result.rows}}", "last": "{{upstream.extract.result.rows.199.id}}"},
    )
    world.begin(graph_of(CHAIN), NOON + 90)
    assert world.answers.payloads["transform"] == {"rows": rows, "last": 199}
    assert [*world.results.documents] == [f"results/default/extract/{INSTANT}/1.json"]


def test_workflow_results_that_cannot_be_read_now_use_up_no_attempt_of_the_step(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"text": "x" * 5000}}
    with_payload(world, "transform", "{{upstream.extract.result.text}}")
    refused = ServiceError("AccessDenied", "the role lost its permission")
    with world.faulty("results", get=failing(refused)):
        world.begin(graph_of(CHAIN), NOON + 65)
        (told,) = {event.action for report in world.reports for event in report.events if event.alarming}
        assert (told, world.run("transform"), world.called()) == ("message_failed", None, ["extract"])
    world.until(NOON + 400)
    assert world.run("transform").attempt == 1
    assert world.answers.payloads["transform"] == "x" * 5000


def test_workflow_results_that_have_expired_fail_the_step_permanently(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"text": "x" * 5000}}
    with_payload(world, "transform", "{{upstream.extract.result.text}}")
    world.results = Emptied()
    world.begin(graph_of(CHAIN), NOON + 90)
    run = world.run("transform")
    assert (run.state, run.code) == (RunState.DEAD, "upstream_result")
    assert run.error.startswith("the stored result results/default/extract/")


def test_workflow_results_are_missing_in_a_run_of_the_step_alone(world: WorkflowWorld) -> None:
    with_payload(world, "transform", "{{upstream.extract.result.rows}}")
    world.begin(graph_of(CHAIN), NOON + 30)
    alone = world.run_now("transform")
    world.until(NOON + 40)
    run = world.run("transform", alone.name.local)
    assert (run.state, run.code) == (RunState.DEAD, "bad_template")
    assert "only in runs of their workflow" in run.error


@pytest.mark.parametrize("added", [True, False])
def test_workflow_results_of_a_step_that_is_not_upstream_in_this_run_fail_the_step(
    world: WorkflowWorld, *, added: bool
) -> None:
    """The job's payload was changed together with the graph, and the run keeps its own graph."""
    world.answers.results = {"clean": {"rows": 3}}
    with_payload(world, "load", "{{upstream.clean.result.rows}}")
    steps: dict[str, tuple[str, ...]] = {"extract": (), "load": ("extract",)}
    world.begin(graph_of(steps if added else steps | {"clean": ()}), NOON + 90)
    run = world.run("load")
    assert (run.state, run.code) == (RunState.DEAD, "upstream_result")
    assert run.error.startswith("in the graph of this run, upstream.clean is not an upstream step of load")


def test_workflow_results_of_a_step_that_has_not_ended_are_null(world: WorkflowWorld) -> None:
    with_payload(world, "load", {"rows": "{{upstream.late.result.rows}}"})
    steps: dict[str, tuple[str, ...]] = {"extract": (), "late": (), "load": ("extract", "late")}
    rules = {"load": {"when": Rule.ANY_SUCCESS}, "late": {"not_before": "5 12 * * *"}}
    world.begin(graph_of(steps, **rules), NOON + 90)
    assert world.answers.payloads["load"] == {"rows": None}


def test_workflow_results_of_an_unsuccessful_step_are_null(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    payload = {"rows": "{{upstream.extract.result.rows}}", "error": "{{upstream.extract.error}}"}
    with_payload(world, "transform", payload)
    world.begin(graph_of(CHAIN, transform={"when": Rule.ALL_DONE}), NOON + 90)
    assert world.answers.payloads["transform"] == {"rows": None, "error": "no"}


def test_workflow_results_of_the_previous_run_are_used_by_a_rerun(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"rows": 3}}
    with_payload(world, "transform", {"rows": "{{upstream.extract.result.rows}}", "of": "{{upstream.extract.run_id}}"})
    world.begin(graph_of(CHAIN), NOON + 90, payload={"region": "eu"})
    world.rerun(["transform"])
    world.until(NOON + 100)
    assert world.answers.payloads["transform"] == {"rows": 3, "of": f"extract.{INSTANT}"}
