"""Patches, and bodies of workflows.

- Merge patches as RFC 7396 has them, and as jobs need them.
- What is wrong with a workflow that somebody posts is named at once, by its place in the document.
"""

from typing import Any

import pytest

from duecourse.api.bodies.definition_body import WorkflowBody
from duecourse.api.bodies.validation import merged, patched, postable, read_workflow
from duecourse.api.problems import Problem
from duecourse.domain.jobs.job import Completion, Overlap, Precision
from duecourse.domain.targets.targets import HttpTarget, SqsTarget, WorkflowTarget
from duecourse.usecases.workflows.manage import WorkflowDraft
from duecourse_schedules import ScheduleError, ScheduleSpec
from tests.support.api import HTTP_TARGET
from tests.support.every_target import EVERY_TARGET
from tests.support.jobs import job
from tests.support.posting import RULES, read


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_request_body_patch_follows_the_examples_of_rfc_7396(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result


@pytest.mark.parametrize("target", EVERY_TARGET)
def test_request_body_empty_patch_leaves_any_job_unchanged(target: Any) -> None:
    of = job(target=target, completion_seconds=86_400)
    assert patched(of, {}) == postable(of)
    assert read(postable(of) | {"target": {"type": "sqs", "queue": "duecourse-target-a"}}).id == of.id


def test_request_body_patch_with_another_target_type_retains_no_fields_of_the_old_target() -> None:
    of = job(target=HttpTarget("https://example.com/a", headers=(("X", "1"),)))
    queue = {"type": "sqs", "queue": "duecourse-target-a"}
    assert patched(of, {"target": queue})["target"] == queue
    assert patched(of, {"target": {"type": "http", "method": "PUT"}})["target"]["headers"] == {"X": "1"}
    assert patched(of, {"task": "x"}).keys() >= {"task"}
    assert "target" not in patched(of, {"task": "x"})
    assert patched(job(target=SqsTarget("q", "g")), {"target": {"group": None}})["target"] == {
        "type": "sqs",
        "queue": "q",
    }


def test_request_body_patch_with_null_removes_the_schedule_and_the_anchor_of_its_rate() -> None:
    rated = job("rate(10 minutes)", target=SqsTarget("duecourse-target-a"))
    patch = patched(rated, {"schedule": None})
    assert (patch["schedule"], patch["anchor"]) == (None, None)
    assert read(patch).schedule == ScheduleSpec("")
    assert patched(rated, {"schedule": None, "anchor": "2027-01-01T00:00:00Z"})["anchor"] == "2027-01-01T00:00:00Z"
    assert patched(rated, {"name": "x"})["schedule"] == "rate(10 minutes)"


def test_request_body_patch_adds_a_schedule_to_a_job_without_one() -> None:
    asked = job("", target=SqsTarget("duecourse-target-a"))
    assert patched(asked, {"name": "x"})["schedule"] is None
    assert read(patched(asked, {"schedule": "0 9 * * 1", "anchor": None})).schedule == ScheduleSpec("0 9 * * 1")


EXTRACT = {"job": {"target": HTTP_TARGET}}
NIGHTLY: dict[str, Any] = {"schedule": "0 2 * * *", "jobs": {"extract": EXTRACT, "load": {"after": ["extract"]}}}


def workflow_read(value: Any) -> WorkflowDraft:
    return read_workflow(value, "nightly", "default", RULES, lambda *_: None)


def faults(value: Any) -> dict[str | None, str]:
    with pytest.raises(Problem) as refused:
        workflow_read(value)
    assert refused.value.kind == "invalid-workflow"
    return {fault.pointer: fault.detail for fault in refused.value.faults}


def faults_of_job(**job: Any) -> dict[str, str]:
    """By their places in the job that is defined in the workflow."""
    found = faults(NIGHTLY | {"jobs": {"extract": {"job": {"target": HTTP_TARGET} | job}}})
    prefix = "/jobs/extract/job"
    assert all(str(place).startswith(prefix) for place in found)
    return {str(place).removeprefix(prefix): detail for place, detail in found.items()}


def test_request_body_workflow_waits_one_day_for_its_jobs_by_default() -> None:
    own = workflow_read(NIGHTLY).definition("3f2a")
    assert (own.target, own.completion, own.completion_seconds) == (WorkflowTarget("3f2a"), Completion.CALLBACK, 86_400)
    assert workflow_read(NIGHTLY | {"deadline_seconds": 3600}).definition("3f2a").completion_seconds == 3600


def test_request_body_workflow_steps_have_the_order_of_the_document() -> None:
    steps = workflow_read(NIGHTLY).steps
    assert [(step.id, step.after, step.when.value) for step in steps] == [
        ("extract", (), "all_success"),
        ("load", ("extract",), "all_success"),
    ]


def test_request_body_inline_job_has_no_schedule_and_inherits_the_time_zone() -> None:
    draft = workflow_read(NIGHTLY | {"timezone": "Europe/Berlin"}).inline["nightly--extract"]
    assert (draft.id, draft.schedule.expression, draft.schedule.timezone) == ("nightly--extract", "", "Europe/Berlin")


def test_request_body_inline_job_belongs_to_its_workflow_unless_another_id_is_given() -> None:
    jobs = {"extract": EXTRACT, "load": EXTRACT | {"job_id": "shared"}, "mail": {"job_id": "our-mail"}, "tell": {}}
    draft = workflow_read(NIGHTLY | {"jobs": jobs})
    assert [(step.id, step.job_id) for step in draft.steps] == [
        ("extract", "nightly--extract"),
        ("load", "shared"),
        ("mail", "our-mail"),
        ("tell", "tell"),
    ]
    assert set(draft.inline) == {"nightly--extract", "shared"}


def test_request_body_step_name_is_too_long_together_with_that_of_its_workflow() -> None:
    name = "x" * 60
    assert "shorten it, or set job_id" in faults(NIGHTLY | {"jobs": {name: EXTRACT}})[f"/jobs/{name}"]
    assert workflow_read(NIGHTLY | {"jobs": {name: EXTRACT | {"job_id": name}}}).steps[0].job_id == name


def test_request_body_workflow_runs_may_overlap_by_default() -> None:
    assert workflow_read(NIGHTLY).inline["nightly--extract"].overlap is Overlap.ALLOW
    jobs = {"extract": {"job": {"target": HTTP_TARGET, "overlap": "queue"}}}
    assert workflow_read(NIGHTLY | {"jobs": jobs}).inline["nightly--extract"].overlap is Overlap.QUEUE


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"deadline_seconds": 59}, "/deadline_seconds", "must be a number from 60 to 2592000"),
        ({"deadline_seconds": 2_592_001}, "/deadline_seconds", "must be a number from 60 to 2592000"),
        ({"jobs": {}}, "/jobs", "must have at least 1 entry"),
        ({"jobs": None}, "/jobs", "must be an object"),
        ({"target": HTTP_TARGET}, "/target", "is not a known field"),
        ({"deadline": 60}, "/deadline", "did you mean on_deadline?"),
        ({"jobs": {"a b": {}}}, "/jobs/a b", "must be a job's id"),
        ({"jobs": {"a b": EXTRACT}}, "/jobs/a b", "must be a job's id"),
        ({"jobs": {"a": None}}, "/jobs/a", "must be an object"),
        ({"jobs": {"a": {"afer": []}}}, "/jobs/a/afer", "did you mean after?"),
        ({"jobs": {"a": {"after": ["x y"]}}}, "/jobs/a/after/0", "must be a job's id"),
        ({"jobs": {"a": {"after": "b"}}}, "/jobs/a/after", "must be a list"),
        ({"jobs": {"a": {"when": "never"}}}, "/jobs/a/when", "must be one of all_success, all_done, any_success"),
        ({"jobs": {"a": {"may_fail": 1}}}, "/jobs/a/may_fail", "must be true or false"),
        ({"jobs": {"a": {"job": []}}}, "/jobs/a/job", "must be an object"),
        ({"jobs": {"a": {"only": ""}}}, "/jobs/a/only", "must not be empty"),
        ({"schedule": None, "jitter_seconds": 5}, "/jitter_seconds", "requires a schedule"),
        ({"payload": "x" * 205_000}, "/payload", "at most 204800 are allowed"),
    ],
)
def test_request_body_workflow_faults_are_named_with_their_remedy(
    changes: dict[str, Any], place: str, said: str
) -> None:
    found = faults(NIGHTLY | changes)
    assert said in found[place], found
    assert list(found) == [place]


def test_request_body_workflow_reports_errors_of_the_schedule_engine() -> None:
    def check(*_: object) -> None:
        raise ScheduleError("schedule", "never comes")

    with pytest.raises(Problem) as refused:
        read_workflow(NIGHTLY, "nightly", "default", RULES, check)
    assert [(fault.pointer, fault.detail) for fault in refused.value.faults] == [("/schedule", "never comes")]


def test_request_body_workflow_requires_jobs_and_the_error_contains_an_example() -> None:
    assert "list the steps by the ids of their jobs" in faults({"schedule": None})["/jobs"]


def test_request_body_workflow_schedule_is_required_and_may_be_null() -> None:
    assert "or null" in faults({"jobs": {"a": {}}})["/schedule"]
    assert workflow_read({"schedule": None, "jobs": {"a": {}}}).definition("").schedule.expression == ""


def test_request_body_workflow_faults_are_reported_together_with_those_of_its_jobs() -> None:
    value = {"schedule": "0 2 * * *", "priority": "soon", "jobs": {"a": {"job": {}}, "b": {"when": 1}}}
    assert set(faults(value)) == {"/priority", "/jobs/a/job/target", "/jobs/b/when"}


@pytest.mark.parametrize("field", ["schedule", "timezone", "dst_gap", "anchor", "exclude", "max_runs", "missed"])
def test_request_body_inline_job_has_no_schedule_fields(field: str) -> None:
    assert faults_of_job(**{field: None}) == {
        f"/{field}": "is a field of the workflow, which starts its steps; remove it here"
    }


def test_request_body_inline_job_is_named_by_its_place() -> None:
    assert faults_of_job(id="extract") == {"/id": "is set by job_id; remove it here"}


def test_request_body_inline_job_is_validated_like_any_other_job() -> None:
    found = faults_of_job(target={"type": "http"}, timeout_seconds=0)
    assert found["/target/url"].startswith("is required")
    assert found["/timeout_seconds"] == "must be a number from 1 to 840"


def test_request_body_workflow_is_not_a_valid_job_target() -> None:
    assert "PUT /v1/workflows/<id>" in faults_of_job(target={"type": "workflow", "graph": "3f2a"})["/target/type"]


def test_request_body_inline_job_may_use_results_of_other_jobs() -> None:
    payload = {"rows": "{{upstream.a.result.rows}}", "day": "{{date}} {{ workflow.payload.day.0 }}"}
    assert workflow_read(NIGHTLY | {"jobs": {"b": {"job": {"target": HTTP_TARGET, "payload": payload}}}}).inline[
        "nightly--b"
    ]


@pytest.mark.parametrize("name", ["upstream.a", "upstream.a.results", "workflow.name", "upstream.a.state.x"])
def test_request_body_workflow_rejects_a_malformed_result_reference_and_lists_the_valid_forms(name: str) -> None:
    assert "upstream.STEP.result.PATH" in faults_of_job(payload=[f"{{{{{name}}}}}"])["/payload/0"]


def test_request_body_headers_may_not_use_results() -> None:
    found = faults_of_job(target=HTTP_TARGET | {"headers": {"X-Rows": "{{upstream.a.state}}"}})
    assert "is not allowed here" in found["/target/headers"]


def test_request_body_workflow_payload_is_not_a_template() -> None:
    assert workflow_read(NIGHTLY | {"payload": "{{anything}}"}).definition("").payload == "{{anything}}"


def test_request_body_workflow_has_no_fields_of_a_job_that_calls_a_target() -> None:
    assert {"target", "retry", "timeout_seconds", "completion", "delivery"} & WorkflowBody.model_fields.keys() == set()


def test_request_body_workflow_has_the_precision_of_the_stage() -> None:
    assert workflow_read(NIGHTLY).definition("").precision is Precision.EXACT
