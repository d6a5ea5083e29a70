"""The commands for tenants on the deployed stack: what they read, count, write and print."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from duecourse.cli.main import main

from .conftest import System


def tenants(system: System, *words: str) -> Result:
    env = {"AWS_ENDPOINT_URL": system.stack.endpoint, "TZ": "UTC"}
    return CliRunner(env=env).invoke(main, ["tenants", *words])


def test_tenant_is_exported_from_the_stack(system: System, tmp_path: Path) -> None:
    system.client.create_job({"id": "kept", "schedule": None, "target": {"type": "http", "url": system.receiver.url}})
    done = tenants(system, "export", "default", "--to", str(tmp_path / "export"), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["counts"]["jobs"] >= 1
    jobs = [json.loads(line) for line in (tmp_path / "export/jobs.ndjson").read_text().splitlines()]
    assert "kept" in {job.get("job_id") for job in jobs}


def test_tenants_erasure_counts_first_and_requires_the_tenants_name(system: System) -> None:
    system.client.create_job(
        {"id": "counted", "schedule": None, "target": {"type": "http", "url": system.receiver.url}}
    )
    counted = tenants(system, "erase", "default")
    assert counted.exit_code == 0, counted.output
    assert "nothing was changed; erase with: duecourse tenants erase default --confirm default" in counted.stdout
    wrong = tenants(system, "erase", "default", "--confirm", "defautl")
    assert (wrong.exit_code, wrong.stderr) == (
        2,
        "duecourse: --confirm must repeat the tenant, default; nothing was changed\n",
    )
    assert json.loads(tenants(system, "show", "default", "--json").stdout) == {"tenant": "default", "state": "active"}
    assert system.client.get_job("counted").id == "counted"


def test_tenant_without_jobs_is_suspended_resumed_and_erased(system: System) -> None:
    suspended = tenants(system, "suspend", "leaver", "--note", "moved away", "--yes", "--json")
    assert suspended.exit_code == 0, suspended.output
    shown = json.loads(tenants(system, "show", "leaver", "--json").stdout)
    assert (shown["state"], shown["note"]) == ("suspended", "moved away")
    assert json.loads(tenants(system, "resume", "leaver", "--json").stdout)["state"] == "active"
    again = tenants(system, "resume", "leaver")
    assert (again.exit_code, again.stderr) == (1, "duecourse: the tenant leaver is not suspended\n")
    erased = tenants(system, "erase", "leaver", "--confirm", "leaver", "--no-wait", "--json")
    report = json.loads(erased.stdout)
    assert (erased.exit_code, report["state"], report["erased"]) == (3, "waiting", {})
    assert report["begun_by"].startswith("arn:aws:")
