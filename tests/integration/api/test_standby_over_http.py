"""The API of a stage with a standby: only the region that the fence names answers requests."""

from dataclasses import replace

import pytest

from duecourse.api.app import Application
from duecourse.api.callback_app import CallbackApplication, CallbackParts
from duecourse.checks.standby import Fence
from duecourse.domain.runs.api_keys import ApiKey, key_text, no_job
from duecourse.telemetry import function_logger
from duecourse.usecases.standby import Standby
from tests.support.api import BODY, ApiClient
from tests.support.jobs import NOON

HERE, OTHER = "eu-west-1", "eu-central-1"


def fenced(api: ApiClient, region: str) -> ApiClient:
    """The API in HERE, with a fence that names this region."""
    standby = Standby(lambda: Fence(region, 3, NOON), api.clock, HERE)
    api.application = Application(replace(api.application._api, standby=standby), function_logger())
    return api


def test_standby_api_of_the_region_that_works_accepts_requests(api: ApiClient) -> None:
    assert fenced(api, HERE).post(BODY).status == 201


@pytest.mark.parametrize("path", ["/v1/health", "/v1/jobs", "/v1/stats"])
def test_standby_api_of_the_other_region_rejects_reads_and_health_checks(api: ApiClient, path: str) -> None:
    answer = fenced(api, OTHER).get(path)
    assert (answer.status, answer.json["type"]) == (503, "/problems/unavailable")
    assert answer.json["detail"] == (
        f"This region does not work: {OTHER} works since epoch 3, and this region is its standby."
    )


def test_standby_api_of_the_other_region_changes_nothing(api: ApiClient) -> None:
    assert fenced(api, OTHER).post(BODY).status == 503
    assert fenced(api, HERE).get("/v1/jobs").json["items"] == []


def test_standby_api_of_the_other_region_writes_nothing_for_an_api_key(api: ApiClient) -> None:
    scopes, text = frozenset({"jobs:read"}), key_text("default", "s" * 32)
    key = ApiKey("default", text.id, text.hash, no_job(scopes), 0, "", NOON, "ann", int(NOON) + 60, scopes=scopes)
    assert api.jobs.api_keys.add(key, 0)
    fenced(api, OTHER)
    answers = {
        path: api.get(f"/key{path}", headers={"authorization": f"Bearer {text.text}"}).status
        for path in ("/v1/jobs", "/v1/nothing")
    }
    assert answers == {"/v1/jobs": 503, "/v1/nothing": 404}
    assert api.jobs.api_keys.get("default", text.id) == key


def test_standby_api_of_the_other_region_rejects_callbacks(api: ApiClient) -> None:
    standby = Standby(lambda: Fence(OTHER, 3, NOON), api.clock, HERE)
    of_api = api.application._api
    parts = CallbackParts(of_api.callbacks, of_api.log_writer, "prod", standby)
    api.application = CallbackApplication(parts, function_logger())  # type: ignore[assignment]
    assert api.post({"result": 1}, "/v1/runs/nightly.20261121T030000Z/complete", token="none").status == 503
