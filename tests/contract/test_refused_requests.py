"""A refused request and a dry run change nothing, whatever they contain, and a dry run has the result of the request.

All items of all tables and all messages are compared, except the tokens that a request costs.
"""

from dataclasses import replace

import pytest

from duecourse.api.problems import Problem
from duecourse.domain.jobs.job import Lane
from duecourse.testing.faults import around, before
from tests.support.unchanged import CHAIN, DAILY, MANUAL, NEVER, PAST, PLAIN, Asked, Office, changes, workflow

CHANGED = {**PLAIN, "name": "changed"}
STEPS = {"fetch": {"job": CHANGED}, "new": {"job": PLAIN, "after": ["fetch"]}}

REFUSED: dict[str, Asked] = {
    "workflow with an unknown calendar": Asked("PUT", "/v1/workflows/chain", workflow(STEPS, calendar="nowhere")),
    "workflow with a calendar that excludes everything": Asked(
        "PUT", "/v1/workflows/chain", workflow(STEPS, calendar="always")
    ),
    "new workflow with an unknown calendar": Asked("PUT", "/v1/workflows/new", workflow(STEPS, calendar="nowhere")),
    "new workflow with a calendar that excludes everything": Asked(
        "PUT", "/v1/workflows/new", workflow(STEPS, calendar=["bank", "always"])
    ),
    "ended workflow with a calendar that excludes everything": Asked(
        "PUT", "/v1/workflows/ended", workflow({"one": {"job": CHANGED}}, calendar="always")
    ),
    "workflow whose schedule has passed": Asked("PUT", "/v1/workflows/chain", workflow(STEPS, end=PAST)),
    "workflow whose step is a job with a schedule": Asked(
        "PUT", "/v1/workflows/chain", workflow({**STEPS, "daily": {"job_id": "daily", "job": PLAIN}})
    ),
    "workflow with an unknown step": Asked("PUT", "/v1/workflows/chain", workflow({**STEPS, "nope": {}})),
    "workflow of a tag with a step of another": Asked(
        "PUT", "/v1/workflows/chain", workflow({**STEPS, "theirs": {}}), caller="of a tag"
    ),
    "workflow that takes a step of another": Asked(
        "PUT", "/v1/workflows/new", workflow({**STEPS, "fetch": {"job_id": "chain--fetch", "job": CHANGED}})
    ),
    "workflow with another etag": Asked("PUT", "/v1/workflows/chain", workflow(STEPS), headers={"if-match": '"9-9"'}),
    "workflow that exists": Asked("PUT", "/v1/workflows/chain", workflow(STEPS), headers={"if-none-match": "*"}),
    "workflow under the id of a job": Asked("PUT", "/v1/workflows/manual", workflow(STEPS)),
    "job with an unknown calendar": Asked("PUT", "/v1/jobs/daily", {**DAILY, "calendar": "nowhere"}),
    "ended job with a calendar that excludes everything": Asked("PATCH", "/v1/jobs/once", {"calendar": "always"}),
    "step with a schedule": Asked("PATCH", "/v1/jobs/chain--fetch", {"schedule": "@daily"}),
    "job that never runs": Asked("PUT", "/v1/jobs/daily", {**DAILY, "schedule": NEVER}),
    "deletion of a step": Asked("DELETE", "/v1/jobs/chain--fetch"),
    "deletion of a calendar in use": Asked("DELETE", "/v1/calendars/bank"),
    "pause that ends in the past": Asked("POST", "/v1/jobs/pause", {"all": True, "until": PAST}),
    "planned pause of a job without a later occurrence": Asked(
        "POST", "/v1/jobs/later/pause", {"from": "2026-11-24T00:00:00Z", "until": "2026-11-26T00:00:00Z"}
    ),
    "backfill of a job without a schedule": Asked(
        "POST", "/v1/jobs/manual/backfill", {"from": PAST, "to": "2026-11-21T12:00:00Z", "dry_run": False}
    ),
    "skipped occurrence of a job without one": Asked(
        "POST", "/v1/jobs/manual/skip-next", {"count": 1}, headers={"idempotency-key": "k"}
    ),
    "rerun with a used key": Asked("POST", "/v1/runs/RUN/rerun", {"from": ["load"]}, headers={"idempotency-key": "r"}),
    "redrive of an unknown job": Asked("POST", "/v1/dead-letters/redrive", {"job_id": "nope"}),
    "operation of an unknown job": Asked("POST", "/v1/operations", {"kind": "redrive", "job_id": "nope"}),
    "operation of a state that cannot be redriven": Asked(
        "POST", "/v1/operations", {"kind": "redrive", "state": ["QUEUED"]}
    ),
}


@pytest.fixture
def office() -> Office:
    return Office().filled()


def test_refused_requests_find_the_jobs_in_their_states(office: Office) -> None:
    assert office.job("once").state == "COMPLETED"
    assert office.job("ended").state == "COMPLETED"
    assert office.job("chain--fetch").workflow == "chain"


@pytest.mark.parametrize("name", REFUSED)
def test_refused_requests_change_nothing(office: Office, name: str) -> None:
    asked = REFUSED[name]
    if "RUN" in asked.path:
        run = office.ask(Asked("POST", "/v1/jobs/chain/run")).json["id"]
        office.world.until(office.world.clock.now() + 60)
        asked = replace(asked, path=asked.path.replace("RUN", run))
        assert office.ask(replace(asked, body={"from": ["fetch"]})).status == 202
    stored = office.stored()
    answer = office.ask(asked)
    assert 400 <= answer.status < 500, answer.text
    assert changes(stored, office.stored()) == {}
    dry = asked.rehearsed
    if dry is not None:
        rehearsed = office.ask(dry)
        assert (rehearsed.status, rehearsed.json["type"]) == (answer.status, answer.json["type"])
        assert changes(stored, office.stored()) == {}


def test_refused_requests_name_the_jobs_that_were_written_before_a_change_at_the_same_time() -> None:
    office = Office(quota=4)

    def fill() -> None:
        for name in ("x", "y"):
            assert office.ask(Asked("PUT", f"/v1/jobs/{name}", MANUAL)).status == 201

    office.world.workflows = around(office.world.workflows, put_graph=before(fill, times=1))
    office.connect()
    answer = office.ask(Asked("PUT", "/v1/workflows/chain", CHAIN))
    assert (answer.status, answer.json["type"]) == (403, "/problems/job-quota")
    assert "These jobs were changed before: chain--fetch, chain--load." in answer.json["detail"]
    assert office.job("chain--load") is not None
    assert office.ask(Asked("DELETE", "/v1/jobs/x")).status == 204
    assert office.ask(Asked("PUT", "/v1/workflows/chain", CHAIN)).status == 201


def test_refused_requests_of_a_workflow_do_not_claim_that_nothing_was_changed_after_a_write() -> None:
    office = Office().filled()
    later = {**CHAIN, "jobs": {name: {**step, "job": CHANGED} for name, step in CHAIN["jobs"].items()}}

    def take() -> None:
        assert office.ask(Asked("PUT", "/v1/calendars/bank", {"exclude": ["* * * * *"]})).status == 200

    office.world.workflows = around(office.world.workflows, put_graph=before(take, times=1))
    office.connect()
    steps = later["jobs"] | {"more": {"job": PLAIN}}
    answer = office.ask(Asked("PUT", "/v1/workflows/chain", {**later, "calendar": "bank", "jobs": steps}))
    assert (answer.status, list(answer.errors)) == (422, ["/calendar"])
    assert "nothing was changed" not in answer.text
    assert "chain--fetch, chain--load, chain--more" in answer.json["detail"]
    for name in ("fetch", "load"):
        assert office.job(f"chain--{name}").name == "changed"


def test_refused_requests_with_a_calendar_do_not_change_it_without_tokens_for_its_jobs(office: Office) -> None:
    def refuse(jobs: int) -> None:
        raise Problem("too-many-requests", f"{jobs} jobs")

    stored = office.stored()
    with pytest.raises(Problem, match="1 jobs"):
        office.world.office.api.calendars.put("default", "bank", ["2027-01-01"], "", by="ann", charge=refuse)
    assert changes(stored, office.stored()) == {}


def test_refused_requests_for_a_test_notice_name_the_runs_that_were_started() -> None:
    office = Office().filled()
    notify = [{"on": ["dead"], "to": {"job": name}} for name in ("manual", "slow")]
    assert office.ask(Asked("PUT", "/v1/jobs/slow", {**MANUAL, "priority": "low"})).status == 201
    assert office.ask(Asked("PUT", "/v1/jobs/daily", {**DAILY, "notify": notify})).status == 200
    office.world.wheel.refuse = lambda message: message.lane is Lane.LOW
    answer = office.ask(Asked("POST", "/v1/jobs/daily/test-notice"))
    assert (answer.status, answer.json["type"]) == (503, "/problems/lane-unavailable")
    assert "only manual.20261121T120300Z" in answer.json["detail"]
