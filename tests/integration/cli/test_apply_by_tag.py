"""`duecourse apply` by a caller whose permissions are limited to a tag."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.main import main
from tests.support.api import HTTP_TARGET
from tests.support.api_events import jwt_caller
from tests.support.served_api import ServedApi, served_api
from tests.support.unchanged import Office

OURS = ("jobs:read:tag=a", "jobs:write:tag=a")


@pytest.fixture
def office() -> Office:
    return Office(quota=100)


@pytest.fixture
def api(office: Office) -> Iterator[ServedApi]:
    office.api.caller = jwt_caller("default", *OURS)
    with served_api(office.api) as served:
        yield served


def apply(api: ServedApi, *documents: Mapping[str, Any]) -> Result:
    text = "---\n".join(f"{json.dumps(each)}\n" for each in documents)
    environment = {"DUECOURSE_API": api.address, "DUECOURSE_TOKEN": None}
    return CliRunner(env=environment).invoke(main, ["apply", "-f", "-", "--yes"], input=text)


def job(job_id: str, *deliverers: str) -> dict[str, Any]:
    return {"id": job_id, "schedule": None, **defined(*deliverers)}


def defined(*deliverers: str) -> dict[str, Any]:
    notify = [{"on": ["dead"], "to": {"job": name}} for name in deliverers]
    return {"target": HTTP_TARGET, "tags": ["a"], "notify": notify}


def workflow(name: str, steps: Mapping[str, Any], *deliverers: str) -> dict[str, Any]:
    return {"workflow": name, "schedule": None, "tags": ["a"], "notify": defined(*deliverers)["notify"], "jobs": steps}


@pytest.mark.parametrize(
    "documents",
    [
        (job("nightly", "tell"), job("tell")),
        (job("nightly", "tell"), job("tell", "tell-more"), job("tell-more")),
        (workflow("etl", {"load": {"job": defined("tell")}}, "tell"), job("tell")),
        (workflow("etl", {"load": {"job": defined()}}, "later--tell"), workflow("later", {"tell": {"job": defined()}})),
        (job("nightly", "etl--tell"), workflow("etl", {"tell": {"job": defined()}})),
        (workflow("etl", {"nightly": {}}), job("nightly", "tell"), job("tell")),
    ],
)
def test_apply_by_tag_creates_a_job_after_the_jobs_that_deliver_its_notices(
    api: ServedApi, documents: tuple[Mapping[str, Any], ...]
) -> None:
    _assert_applied_once(api, documents)


def test_apply_by_tag_shows_a_new_rule_whose_job_the_plan_creates(api: ServedApi) -> None:
    assert apply(api, job("nightly")).exit_code == 0
    applied = apply(api, job("nightly", "tell"), job("tell"))
    assert applied.exit_code == 0, applied.output
    assert '"tell"' in applied.stdout or "'tell'" in applied.stdout, applied.stdout


def test_apply_by_tag_refuses_a_rule_whose_job_is_not_in_the_files(api: ServedApi) -> None:
    applied = apply(api, job("nightly", "tell", "nobody"), job("tell"))
    assert applied.exit_code == 1
    assert "nobody must be an existing job with" in applied.output
    assert api.written == []


def test_apply_by_tag_writes_jobs_that_notify_each_other_for_a_caller_with_all_permissions(
    office: Office, api: ServedApi
) -> None:
    office.api.caller = jwt_caller("default", "jobs:read", "jobs:write")
    documents = job("one", "other"), job("other", "one")
    assert apply(api, *documents).exit_code == 0
    assert apply(api, *documents).exit_code == 0


def starting(job_id: str, *followers: str) -> dict[str, Any]:
    return job(job_id) | {"then": [{"job": name} for name in followers]}


@pytest.mark.parametrize(
    "documents",
    [
        (starting("etl", "report"), job("report")),
        (starting("etl", "report"), starting("report", "mail"), job("mail", "tell"), job("tell")),
        (workflow("night", {"load": {"job": defined()}}) | {"then": [{"job": "report"}]}, job("report")),
    ],
)
def test_apply_by_tag_creates_a_job_with_the_jobs_that_run_after_it(
    api: ServedApi, documents: tuple[Mapping[str, Any], ...]
) -> None:
    _assert_applied_once(api, documents)


def test_apply_by_tag_shows_a_new_follower_that_the_plan_creates(api: ServedApi) -> None:
    assert apply(api, job("etl")).exit_code == 0
    applied = apply(api, starting("etl", "report"), job("report"))
    assert applied.exit_code == 0, applied.output
    assert "report" in applied.stdout.partition("then")[2], applied.stdout


def test_apply_by_tag_refuses_a_follower_that_is_not_in_the_files(api: ServedApi) -> None:
    applied = apply(api, starting("etl", "report", "nobody"), job("report"))
    assert applied.exit_code == 1
    assert "nobody must be an existing job with" in applied.output
    assert api.written == []


def _assert_applied_once(api: ServedApi, documents: tuple[Mapping[str, Any], ...]) -> None:
    """Everything is created, and nothing is changed when it is applied again."""
    applied = apply(api, *documents)
    assert applied.exit_code == 0, applied.output
    again = apply(api, *documents)
    assert (again.exit_code, f"{len(documents)} unchanged" in again.output) == (0, True), again.output
