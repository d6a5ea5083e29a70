"""What CloudFormation's events do to a stage, by the function of duecourse_cdk over HTTP."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.support.api import HTTP_TARGET, ApiClient, Context, api_settings
from tests.support.api_events import json_event
from tests.support.custom_resource import Passing, Resource, properties
from tests.support.gateway import gateway
from tests.support.named_steps import named
from tests.support.tables import Tables
from tests.support.world import World

JOB = {"schedule": "0 2 * * *", "timezone": "Europe/Berlin", "target": HTTP_TARGET}
ETL = {
    "schedule": "0 3 * * *",
    "jobs": {
        "extract": {"job": {"target": HTTP_TARGET}},
        "load": {"after": ["extract"], "job": {"target": HTTP_TARGET}},
    },
}
CLAIMS = {"sub": "deploys", "tenant": "default", "scope": "jobs:read jobs:write"}


class Stage:
    """The API over HTTP, and what is on it."""

    def __init__(self, tables: Tables) -> None:
        self.world = World(tables)
        caller = {"jwt": {"claims": CLAIMS, "scopes": None}}
        self.api = ApiClient.of(self.world, settings=api_settings(auth="jwt"), caller=caller)
        self.url = ""
        self.meanwhile: list[Callable[[], object]] = []
        self.answers_lost = 0

    def handle(self, event: dict[str, Any]) -> Mapping[str, Any]:
        """Before what writes comes what others do meanwhile; the answers to the first ones are lost."""
        writes = event["requestContext"]["http"]["method"] != "GET"
        if writes and self.meanwhile:
            self.meanwhile.pop(0)()
        answer: Mapping[str, Any] = self.api.application(event, cast(LambdaContext, Context()))
        if writes and self.answers_lost:
            self.answers_lost -= 1
            raise ConnectionError("lost")
        return answer

    def put(self, job_id: str, **fields: Any) -> None:
        answer = self.api.send(json_event("PUT", f"/v1/jobs/{job_id}", JOB | fields))
        assert answer.status in {200, 201}, answer.text

    def job(self, job_id: str) -> dict[str, Any] | None:
        answer = self.api.get(f"/v1/jobs/{job_id}")
        return answer.json if answer.status == 200 else None

    @property
    def ids(self) -> set[str]:
        return {item["id"] for item in self.api.get("/v1/jobs").json["items"]}

    def wanted(self, job_id: str = "nightly", document: Mapping[str, Any] = JOB, **more: Any) -> dict[str, Any]:
        return properties(self.url, job_id, document, **more)

    def etl(self, job_id: str = "etl", **changes: Any) -> dict[str, Any]:
        return self.wanted(job_id, ETL | changes, kind="workflows")


@pytest.fixture
def stage(tables: Tables) -> Iterator[Stage]:
    made = Stage(tables)
    with gateway(made.handle, {"deploys": CLAIMS}) as made.url:
        yield made


def test_cloudformation_resource_creates_changes_and_deletes_its_job(stage: Stage) -> None:
    resource = Resource()
    created = resource.deploy(stage.wanted())
    assert (created["Status"], created["PhysicalResourceId"]) == ("SUCCESS", "nightly")
    job = stage.job("nightly")
    assert job is not None
    assert (job["schedule"], job["tags"]) == ("0 2 * * *", ["managed-by=stack:Billing", "construct:one"])
    assert resource.deploy(stage.wanted(document=JOB | {"schedule": "0 4 * * *"}))["Status"] == "SUCCESS"
    job = stage.job("nightly")
    assert job is not None
    assert job["schedule"] == "0 4 * * *"
    assert resource.delete()["Status"] == "SUCCESS"
    assert stage.ids == set()
    assert resource.delete()["Status"] == "SUCCESS", "the answer was lost, and it is asked again"


def test_cloudformation_repeated_event_changes_nothing(stage: Stage) -> None:
    Resource().deploy(stage.wanted())
    before = stage.job("nightly")
    assert Resource().deploy(stage.wanted())["Status"] == "SUCCESS"
    assert stage.job("nightly") == before


def test_cloudformation_lost_response_changes_nothing(stage: Stage) -> None:
    resource = Resource()
    stage.answers_lost = 1
    assert resource.deploy(stage.wanted())["Status"] == "SUCCESS"
    stage.answers_lost = 1
    assert resource.deploy(stage.wanted(document=JOB | {"schedule": "0 4 * * *"}))["Status"] == "SUCCESS"
    stage.answers_lost = 1
    assert resource.delete()["Status"] == "SUCCESS"
    assert (stage.ids, stage.answers_lost) == (set(), 0)


def test_cloudformation_workflow_is_complete_after_lost_responses(stage: Stage) -> None:
    resource = Resource()
    stage.answers_lost = 2
    assert resource.deploy(stage.etl())["Status"] == "SUCCESS"
    assert stage.ids == {"etl", "etl--extract", "etl--load"}
    stage.answers_lost = 2
    assert resource.delete()["Status"] == "SUCCESS"
    assert stage.ids == set()


def test_cloudformation_job_created_between_read_and_write_is_not_overwritten(stage: Stage) -> None:
    stage.meanwhile = [lambda: stage.put("nightly", name="mine")]
    assert "already exists" in Resource().deploy(stage.wanted())["Reason"]
    job = stage.job("nightly")
    assert job is not None
    assert job["name"] == "mine"


def test_cloudformation_job_untagged_between_read_and_delete_is_kept(stage: Stage) -> None:
    resource = Resource()
    resource.deploy(stage.wanted())
    stage.meanwhile = [lambda: stage.put("nightly", tags=["mine"])]
    assert resource.delete()["Reason"] == "deleted; not changed: nightly"
    assert stage.ids == {"nightly"}


def test_cloudformation_another_id_replaces_the_job(stage: Stage) -> None:
    resource = Resource()
    resource.deploy(stage.wanted())
    assert resource.deploy(stage.wanted("every-night"))["PhysicalResourceId"] == "every-night"
    assert stage.ids == {"every-night"}


def test_cloudformation_job_kept_under_another_construct_is_not_deleted_with_the_old_one(stage: Stage) -> None:
    old, new = Resource(), Resource(logical_id="MovedJob")
    old.deploy(stage.wanted())
    assert new.deploy(stage.wanted(construct="construct:two"))["Status"] == "SUCCESS"
    answer = old.delete()
    assert (answer["Status"], answer["Reason"]) == ("SUCCESS", "deleted; not changed: nightly")
    assert stage.ids == {"nightly"}


def test_cloudformation_rollback_neither_changes_nor_deletes_a_job_of_another_owner(stage: Stage) -> None:
    stage.put("nightly")
    before = stage.job("nightly")
    resource = Resource()
    refused = resource.deploy(stage.wanted(document=JOB | {"schedule": "0 5 * * *"}))
    assert refused["Status"] == "FAILED"
    assert "nightly already exists and does not have the tag managed-by=stack:Billing" in refused["Reason"]
    assert resource.delete()["Status"] == "SUCCESS"
    assert stage.job("nightly") == before


def test_cloudformation_job_with_the_tag_of_the_stack_is_taken_over(stage: Stage) -> None:
    stage.put("nightly", tags=["managed-by=stack:Billing"])
    assert Resource().deploy(stage.wanted())["Status"] == "SUCCESS"


def test_cloudformation_rejection_names_the_invalid_fields(stage: Stage) -> None:
    resource = Resource()
    wrong = JOB | {"schedule": "every night", "retry": {"max_attempts": 0}}
    refused = resource.deploy(stage.wanted(document=wrong))
    assert refused["Status"] == "FAILED"
    for part in ("nightly: PUT", "422", "/schedule: ", "/retry/max_attempts: must be"):
        assert part in refused["Reason"]
    assert resource.delete()["Status"] == "SUCCESS", "the rollback of what was not created"


def test_cloudformation_rejected_change_leaves_the_job_unchanged(stage: Stage) -> None:
    resource = Resource()
    resource.deploy(stage.wanted())
    before = stage.job("nightly")
    refused = resource.deploy(stage.wanted(document=JOB | {"schedule": "every night"}))
    assert (refused["Status"], refused["PhysicalResourceId"]) == ("FAILED", "nightly")
    assert stage.job("nightly") == before


def test_cloudformation_paused_job_stays_paused(stage: Stage) -> None:
    resource = Resource()
    resource.deploy(stage.wanted())
    stage.api.ask("/v1/jobs/nightly/pause")
    resource.deploy(stage.wanted(document=JOB | {"schedule": "0 4 * * *"}))
    job = stage.job("nightly")
    assert job is not None
    assert (job["state"], job["schedule"]) == ("PAUSED", "0 4 * * *")


def test_cloudformation_rejected_token_fails_the_deployment_with_the_error_of_the_gateway(stage: Stage) -> None:
    refused = Resource(token="old").deploy(stage.wanted())
    assert refused["Status"] == "FAILED"
    assert "401" in refused["Reason"]
    assert "old" not in refused["Reason"]


def test_cloudformation_workflow_is_created_and_deleted_with_the_jobs_it_defines(stage: Stage) -> None:
    resource = Resource()
    assert resource.deploy(stage.etl())["Status"] == "SUCCESS"
    assert stage.ids == {"etl", "etl--extract", "etl--load"}
    assert resource.delete()["Status"] == "SUCCESS"
    assert stage.ids == set()


def test_cloudformation_job_removed_from_its_workflow_is_deleted(stage: Stage) -> None:
    resource = Resource()
    resource.deploy(stage.etl())
    assert resource.deploy(stage.etl(jobs={"extract": ETL["jobs"]["extract"]}))["Status"] == "SUCCESS"  # type: ignore[index]
    assert stage.ids == {"etl", "etl--extract"}


def test_cloudformation_workflow_keeps_its_jobs_under_another_id(stage: Stage) -> None:
    resource = Resource()
    jobs = named(ETL["jobs"])  # type: ignore[arg-type]
    resource.deploy(stage.etl(jobs=jobs))
    assert resource.deploy(stage.etl("nightly-etl", jobs=jobs))["Status"] == "SUCCESS"
    assert stage.ids == {"nightly-etl", "extract", "load"}


def test_cloudformation_workflow_is_kept_if_its_replacement_under_another_id_is_rejected(stage: Stage) -> None:
    resource = Resource()
    resource.deploy(stage.etl())
    before = stage.job("etl")
    assert "/schedule" in resource.deploy(stage.etl("nightly-etl", schedule="every night"))["Reason"]
    assert stage.job("etl") == before


def test_cloudformation_workflow_does_not_define_a_job_of_another_owner(stage: Stage) -> None:
    stage.put("etl--load", schedule=None)
    before = stage.job("etl--load")
    assert "job etl--load already exists" in Resource().deploy(stage.etl())["Reason"]
    assert stage.job("etl--load") == before
    assert stage.ids == {"etl--load"}


def test_cloudformation_missing_stage_fails_the_deletion_in_time_and_explains_how_to_continue() -> None:
    clock = Passing()
    resource = Resource(physical="nightly", properties=properties("http://127.0.0.1:9", "nightly", JOB), clock=clock)
    answer = resource.delete()
    assert answer["Status"] == "FAILED"
    assert "no response" in answer["Reason"]
    assert "--retain-resources NightlyJob0123" in answer["Reason"]
    assert sum(clock.slept) < 270


def test_cloudformation_resource_that_was_never_created_is_deleted_without_a_stage() -> None:
    resource = Resource()
    assert resource.deploy(properties("http://127.0.0.1:9", "nightly", JOB))["Status"] == "FAILED"
    assert (resource.delete()["Status"], resource.physical) == ("SUCCESS", "failed:nightly")
    assert sum(resource.clock.slept) < 300 + 30
