"""A user's CDK app with a job and a workflow, deployed beside the stage that they are on, changed, and deleted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.cli.main import main
from duecourse.client import NotFoundError
from duecourse_cdk.__main__ import main as write_documents
from tests.support.cdk_app import IDS, TAG, TOKEN, CdkApp
from tests.support.enforced import logged
from tests.support.waiting import awaited

from .conftest import System, run_in


@pytest.fixture
def app(system: System) -> Iterator[CdkApp]:
    made = CdkApp(system.stack.endpoint, system.stack.api, system.receiver.url + OK_PATH)
    yield made
    made.destroy()


def ids(system: System) -> set[str]:
    return {job.id for job in system.client.list_jobs(tag=TAG)}


def test_cdk_app_jobs_are_created_updated_and_deleted_with_the_stack(system: System, app: CdkApp) -> None:
    app.deploy("create")
    assert ids(system) == IDS
    assert system.client.get_job("invoices").timezone == "Europe/Berlin"
    system.client.run_job("invoices")
    awaited("a run of the job", run_in(system, "invoices", "SUCCEEDED"))
    app.deploy("update", schedule="0 4 * * *")
    assert system.client.get_job("invoices").schedule == "0 4 * * *"
    with pytest.raises(AssertionError, match=r"invoices: PUT .* 422 .* /schedule: "):
        app.deploy("update", schedule="every night")
    assert system.client.get_job("invoices").schedule == "0 4 * * *"
    app.destroy()
    for job_id in IDS:
        with pytest.raises(NotFoundError):
            system.client.get_job(job_id)


def test_cdk_app_changed_id_replaces_the_job(system: System, app: CdkApp) -> None:
    app.deploy("create")
    app.deploy("update", job_id="bills")
    assert ids(system) == IDS - {"invoices"} | {"bills"}


def test_cdk_app_template_and_log_do_not_contain_the_token(app: CdkApp) -> None:
    app.deploy("create")
    lines = [line for line in logged(app.endpoint) if "PhysicalResourceId" in line]
    assert lines, "the function says what it did"
    assert TOKEN not in json.dumps([app.template(), lines])


def test_cdk_app_apply_shows_manual_changes(system: System, app: CdkApp, tmp_path: Path) -> None:
    (tmp_path / "Billing.template.json").write_text(json.dumps(app.template()))
    assert write_documents(str(tmp_path)) == 0
    documents = str(tmp_path / "Billing.duecourse.json")

    def look() -> Result:
        words = ["apply", "-f", documents, "--owner", "stack:Billing", "--prune", "--dry-run", "--api", app.api]
        return CliRunner().invoke(main, words)

    app.deploy("create")
    assert look().exit_code == 0, look().output
    system.client.patch_job("invoices", {"schedule": "0 5 * * *"})
    differs = look()
    assert differs.exit_code == 2, differs.output
    assert "0 5 * * * -> 0 2 * * *" in differs.output
