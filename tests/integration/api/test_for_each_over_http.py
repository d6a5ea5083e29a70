"""Steps with `for_each` over the API: validated, stored, shown, run."""

from typing import Any

import pytest

from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.ports import Call
from tests.integration.api.test_workflows_over_http import RUN, Desk, kind
from tests.support.api import HTTP_TARGET
from tests.support.jobs import NOON
from tests.support.tables import Tables

LOCAL = RUN.partition(".")[2]
FIRST = {"job": {"target": HTTP_TARGET}}
SECOND: dict[str, Any] = {
    "job": {"target": HTTP_TARGET, "payload": {"id": "{{item.id}}", "n": "{{index}}"}},
    "after": ["list"],
    "for_each": "{{upstream.list.result.body.items}}",
}


@pytest.fixture
def desk(tables: Tables) -> Desk:
    return Desk(tables)


def body(**changes: Any) -> dict[str, Any]:
    return {"schedule": "1 12 * * *", "jobs": {"list": FIRST, "load": SECOND | changes}}


def test_for_each_step_is_shown_with_the_defaults_of_its_limits_and_is_a_valid_body(desk: Desk) -> None:
    assert desk.put(body()).status == 201
    shown = desk.api.get("/v1/workflows/nightly").json
    assert {name: shown["jobs"]["load"][name] for name in ("for_each", "at_once", "max_failed")} == {
        "for_each": "{{upstream.list.result.body.items}}",
        "at_once": 10,
        "max_failed": 0,
    }
    assert shown["jobs"]["list"]["for_each"] is None
    again = {name: shown[name] for name in ("schedule", "jobs")}
    answer = desk.put(again)
    assert (answer.status, answer.json["changed"]) == (200, [])


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"for_each": "text"}, "/jobs/load/for_each", "must be one placeholder for a list"),
        ({"for_each": "{{upstream.list.state}}"}, "/jobs/load/for_each", "must be one placeholder for a list"),
        ({"for_each": "{{item}}"}, "/jobs/load/for_each", "must be one placeholder for a list"),
        ({"for_each": "{{upstream.load.result}}"}, "/jobs/load/for_each", "upstream.load is not an upstream step"),
        ({"at_once": 0}, "/jobs/load/at_once", "must be a number from 1 to 1000"),
        ({"at_once": 1001}, "/jobs/load/at_once", "must be a number from 1 to 1000"),
        ({"max_failed": -1}, "/jobs/load/max_failed", "must be a number from 0 to 1000"),
        ({"for_each": None, "at_once": 2}, "/jobs/load/at_once", "needs for_each; add it, or remove this field"),
        ({"for_each": None}, "/jobs/load/job/payload/id", "is only known in a step with for_each"),
    ],
)
def test_for_each_faults_name_the_field_and_the_remedy(
    desk: Desk, changes: dict[str, Any], place: str, said: str
) -> None:
    answer = desk.put(body(**changes))
    assert (answer.status, kind(answer)) == (422, "invalid-workflow")
    found = {each["pointer"]: each["detail"] for each in answer.json["errors"]}
    assert said in found[place], found


def test_for_each_is_limited_to_a_hundred_steps_of_a_workflow(desk: Desk) -> None:
    steps = {f"load-{index}": SECOND for index in range(101)}
    answer = desk.put({"schedule": None, "jobs": {"list": FIRST} | steps})
    assert (answer.status, answer.errors) == (
        422,
        {
            "/jobs/load-100/for_each": (
                "is one of 101 steps with for_each; at most 100 are allowed, so move some to another workflow"
            )
        },
    )
    del steps["load-100"]
    assert desk.put({"schedule": None, "jobs": {"list": FIRST} | steps}).status == 201


def test_for_each_items_are_shown_as_steps_of_the_run_of_their_step(desk: Desk) -> None:
    items = [{"id": "a"}, {"id": "b"}]
    seen: list[Any] = []

    def answer(call: Call) -> Outcome:
        seen.append(call.job.payload)
        return Returned({"status": 200, "body": {"items": items}})

    desk.world.caller.answer = answer
    desk.put(body())
    desk.world.until(NOON + 120)
    whole = desk.view()
    assert [(each["id"], each["state"], each["has_items"]) for each in whole["jobs"]] == [
        ("list", "SUCCEEDED", False),
        ("load", "SUCCEEDED", True),
    ]
    (load,) = [each for each in whole["jobs"] if each["id"] == "load"]
    inner = desk.api.get(f"/v1/workflows/{load['job_id']}/runs/{LOCAL}")
    assert inner.status == 200, inner.text
    assert [(each["id"], each["run"], each["state"]) for each in inner.json["jobs"]] == [
        (str(index), f"{load['job_id']}.{LOCAL}.i{index}", "SUCCEEDED") for index in range(2)
    ]
    run = desk.api.get(f"/v1/runs/{load['job_id']}.{LOCAL}.i1")
    assert (run.status, run.json["state"]) == (200, "SUCCEEDED")
    assert seen[1:] == [{"id": "a", "n": 0}, {"id": "b", "n": 1}]
    result = desk.api.get(f"/v1/runs/{load['job_id']}.{LOCAL}").json["result"]
    assert (result["count"], result["failed"]) == (2, 0)


def test_for_each_payload_of_the_step_can_be_changed_and_is_checked(desk: Desk) -> None:
    desk.put(body())
    good = desk.patch("load", {"payload": "{{item.name}}"})
    assert good.status == 200, good.text
    wrong = desk.patch("list", {"payload": "{{item.name}}"})
    assert wrong.status == 422
    assert "only known in a step with for_each" in wrong.text


def test_for_each_step_that_waits_is_explained_by_its_items(desk: Desk) -> None:
    def answer(call: Call) -> Outcome:
        if call.run.name.item == 1:
            return Failed("not now", retry_after=3600, code="http.503")
        return Returned({"status": 200, "body": {"items": [{"id": "a"}, {"id": "b"}]}})

    desk.world.caller.answer = answer
    desk.put(body())
    desk.world.until(NOON + 120)
    found = desk.api.get("/v1/jobs/load/explain", at="2026-11-21T12:01:00Z")
    assert found.status == 200, found.text
    assert found.json["sentence"].startswith("1 of its 2 steps have ended; it waits for 1 (RETRYING, next at ")


def test_for_each_item_that_is_not_in_a_queue_cannot_be_cancelled(desk: Desk) -> None:
    """Its end would open a further item, although it was not active (tests/support/workflow_model/events.py)."""
    named = [{"id": name} for name in "abc"]
    calls: list[str] = []

    def answer(call: Call) -> Outcome:
        calls.append(call.run.run_id)
        return Returned({"status": 200, "body": {"items": named}})

    desk.world.caller.answer = answer
    changes: dict[str, Any] = {"job": SECOND["job"] | {"completion": "callback"}, "at_once": 1}
    assert desk.put(body(**changes)).status == 201
    desk.world.until(NOON + 120)
    (first,) = (run_id for run_id in calls if ".i" in run_id)
    unopened = first.removesuffix(".i0") + ".i2"
    answered = desk.api.ask(f"/v1/runs/{unopened}/cancel")
    assert (answered.status, kind(answered)) == (404, "unknown-run")
    assert desk.api.ask(f"/v1/runs/{first}/cancel").status == 202
