"""A workflow on the real stack, by the command: put, watched, a job of it fails, is redriven, and the rest goes on."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.commands.workflows import run_of
from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.cli.local.emulator import aws
from duecourse.cli.main import main
from duecourse.client.models import WorkflowRun
from tests.support.waiting import awaited

from .conftest import System

LATER = "duecourse-target-load-eu"
"""A queue that is not there at first."""


@pytest.fixture
def nightly(system: System, tmp_path: Path) -> Path:
    """The document of the how-to, with targets of this system."""
    fine = {"target": {"type": "http", "url": system.receiver.url + OK_PATH}}
    fails = {"target": {"type": "sqs", "queue": LATER}, "retry": {"max_attempts": 1}}
    document = {
        "schedule": "0 2 * * *",
        "timezone": "Europe/Berlin",
        "deadline_seconds": 14400,
        "jobs": {
            "extract": {"job_id": "extract", "job": fine},
            "load-eu": {"job_id": "load-eu", "after": ["extract"], "job": fails},
            "load-us": {"job_id": "load-us", "after": ["extract"], "may_fail": True, "job": fine},
            "report": {"job_id": "report", "after": ["load-eu", "load-us"], "job": fine},
            "alert": {"job_id": "alert", "after": ["report"], "when": "any_failure", "job": fine},
        },
    }
    path = tmp_path / "nightly.json"
    path.write_text(json.dumps(document))
    return path


def command(system: System, *words: str) -> Result:
    return CliRunner().invoke(main, ["workflows", *words, "--api", system.stack.api])


def states(run: WorkflowRun) -> dict[str, tuple[str, str | None]]:
    return {job.id: (job.state, job.reason) for job in run.jobs}


def ended(system: System, run_id: str, state: str) -> WorkflowRun:
    def look() -> WorkflowRun | None:
        run = run_of(system.client, run_id)
        return run if run.state == state else None

    return awaited(f"{run_id} is {state}", look)


def test_workflows_failed_job_shows_which_steps_were_cut_and_its_redrive_continues_the_workflow(
    system: System, nightly: Path
) -> None:
    put = command(system, "put", "nightly", str(nightly))
    assert put.exit_code == 0, put.output
    assert "created: " in put.output
    assert "nothing has changed" in command(system, "put", "nightly", str(nightly)).output

    run_id = system.client.run_job("nightly").id
    awaited("the start", lambda: system.client.get_run(run_id).state != "QUEUED")
    watched = command(system, "watch", run_id, "--every", "0.2")
    assert watched.exit_code == 1, watched.output

    dead = ended(system, run_id, "DEAD")
    assert states(dead) == {
        "extract": ("SUCCEEDED", None),
        "load-eu": ("DEAD", "not_retryable"),
        "load-us": ("SUCCEEDED", None),
        "report": ("SKIPPED", "upstream_failed"),
        "alert": ("SUCCEEDED", None),
    }
    assert "SKIPPED (upstream_failed)" in command(system, "show", run_id).output
    local = run_id.partition(".")[2]
    assert {job.run for job in dead.jobs} == {f"{job.id}.{local}" for job in dead.jobs}, "one instant in every id"

    aws.client(system.stack.endpoint, "sqs").create_queue(QueueName=LATER)
    system.client.redrive_run(f"load-eu.{local}")
    assert states(ended(system, run_id, "SUCCEEDED")) == dict.fromkeys(states(dead), ("SUCCEEDED", None))
    assert [len(system.log.of_run(f"{name}.{local}")) for name in ("extract", "load-us", "report", "alert")] == [1] * 4

    deleted = command(system, "delete", "nightly", "--yes")
    assert deleted.exit_code == 0, deleted.output


def test_workflows_cycle_is_refused_with_its_path(system: System, nightly: Path) -> None:
    document = json.loads(nightly.read_text())
    document["jobs"]["extract"]["after"] = ["report"]
    nightly.write_text(json.dumps(document))
    refused = command(system, "put", "circular", str(nightly))
    assert refused.exit_code == 1
    assert (
        "creates a cycle: load-eu -> report -> extract -> load-eu" in refused.output
        or "creates a cycle" in refused.output
    )
