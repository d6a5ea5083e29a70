"""The secrets of a stage: written by a command, read by a worker, deleted."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.cli.main import main
from tests.support.waiting import awaited

from .conftest import System, run_in


def secrets(system: System, *words: str, text: str | None = None) -> Result:
    env = {"AWS_ENDPOINT_URL": system.stack.endpoint, "TZ": "UTC"}
    return CliRunner(env=env).invoke(main, ["secrets", *words], input=text)


@pytest.fixture
def written(system: System) -> str:
    """The name of a secret that the command has written."""
    put = secrets(system, "put", "report-api", text="s3cr3t\n")
    assert put.exit_code == 0, put.output
    assert put.stdout == "report-api of the tenant default is written; runs use it within a minute\n"
    return "report-api"


def test_secrets_written_by_a_command_are_used_by_a_run(system: System, written: str) -> None:
    headers = {"Authorization": f"Bearer {{{{secret:{written}}}}}"}
    target = {"type": "http", "url": system.receiver.url + OK_PATH, "headers": headers}
    system.client.create_job({"id": "secretive", "schedule": None, "target": target, "retry": {"max_attempts": 1}})
    system.client.run_job("secretive")
    run = awaited("the end of the run", run_in(system, "secretive", "SUCCEEDED", "DEAD"))
    assert (run.state, run.error) == ("SUCCEEDED", None), "a run with an unknown secret is DEAD"


def test_secrets_are_listed_by_name_and_deleted(system: System, written: str) -> None:
    listed = secrets(system, "list")
    assert listed.exit_code == 0, listed.output
    assert listed.stdout.splitlines()[0].split() == ["secret", "changed", "(UTC)"]
    assert written in listed.stdout
    (item,) = json.loads(secrets(system, "list", "--json").stdout)["items"]
    assert item["name"] == written
    assert datetime.fromisoformat(item["changed_at"]) > datetime.now(UTC) - timedelta(minutes=10)
    assert "s3cr3t" not in listed.output
    assert secrets(system, "delete", written, text="n\n").exit_code == 1
    deleted = secrets(system, "delete", written, "--yes")
    assert (deleted.exit_code, deleted.stdout) == (
        0,
        "report-api of the tenant default is deleted; runs may use it for another minute\n",
    )
    again = secrets(system, "delete", written, "--yes")
    remedy = "list the secrets with duecourse secrets list --stage local --tenant default"
    assert (again.exit_code, again.stderr) == (1, f"duecourse: there is no secret report-api; {remedy}\n")
    assert json.loads(secrets(system, "list", "--json").stdout)["items"] == []
