"""`import --shadow`, `apply`, `shadow report` and `shadow promote`, with an API on tables."""

import json
import os
import shutil
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from duecourse.cli.imports.shadow import WHERE, ping_command
from duecourse.testing import Scheduler
from tests.integration.cli.conftest import Run
from tests.support.api import HTTP_TARGET

CRONTAB = "0 * * * * /usr/local/bin/hourly\n* * * * * /usr/local/bin/poll\n"


def imported(run: Run, folder: Path, *options: str) -> list[dict[str, Any]]:
    """Import the crontab as shadows, and apply it. Return the documents of the jobs."""
    (folder / "my.crontab").write_text(CRONTAB)
    found = run(
        *("import", "crontab", str(folder / "my.crontab"), "--target-url", "https://example.com/{id}"),
        *("--timezone", "UTC", "--shadow", "-o", str(folder / "jobs"), "--json", *options),
    )
    assert found.exit_code == 0, found.output
    applied = run("apply", "-f", str(folder / "jobs"), "--yes")
    assert applied.exit_code == 0, applied.output
    assert applied.output.count("a shadow of another scheduler") == 2
    jobs: list[dict[str, Any]] = json.loads(found.stdout)["items"]
    return jobs


def test_shadow_import_creates_jobs_that_are_pinged_and_promoted(run: Run, tmp_path: Path) -> None:
    hourly, poll = (each["job"]["id"] for each in imported(run, tmp_path))
    listed = json.loads(run("jobs", "list", "--json").stdout)["items"]
    assert {(each["id"], each["state"]) for each in listed} == {(hourly, "PAUSED"), (poll, "PAUSED")}
    report = run("shadow", "report")
    assert report.exit_code == 3
    assert report.output.count("could be compared yet") == 2
    refused = run("shadow", "promote", hourly, "--yes")
    assert refused.exit_code == 3
    assert "was not promoted: no occurrence since " in refused.output
    assert f"the ping of {hourly} is stored" in run("jobs", "ping", hourly).output
    found = json.loads(run("shadow", "report", hourly, "--json").stdout)["items"]
    assert [(each["job_id"], each["pings"]) for each in found] == [(hourly, 1)]
    promoted = run("shadow", "promote", hourly, "--force", "--yes")
    assert promoted.exit_code == 0
    assert f"{hourly} is promoted (ACTIVE): its next occurrence is at " in promoted.output
    again = run("shadow", "promote", hourly, "--yes")
    assert again.exit_code == 0
    assert f"{hourly} is not a shadow (ACTIVE)" in again.output
    assert [each["job_id"] for each in json.loads(run("shadow", "report", "--json").stdout)["items"]] == [poll]
    everything = run("shadow", "promote", "--all", "--force", "--yes", "--json")
    assert [(each["id"], each["promoted"]) for each in json.loads(everything.stdout)["items"]] == [(poll, True)]
    assert "there are no shadow jobs" in run("shadow", "report").output
    applied = run("apply", "-f", str(tmp_path / "jobs"), "--yes")
    assert applied.output.count("is not a shadow, so shadow has no effect; remove it") == 2
    states = {each["id"]: each["state"] for each in json.loads(run("jobs", "list", "--json").stdout)["items"]}
    assert states == {hourly: "ACTIVE", poll: "ACTIVE"}


def test_shadow_job_is_exported_as_one(run: Run, tmp_path: Path) -> None:
    imported(run, tmp_path)
    exported = run("jobs", "export")
    assert exported.output.count("shadow: true") == 2
    (tmp_path / "again.yaml").write_text(exported.stdout)
    plan = run("apply", "-f", str(tmp_path / "again.yaml"), "--dry-run")
    assert (plan.exit_code, "2 unchanged" in plan.output) == (0, True)


def test_shadow_report_of_a_job_that_is_none_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps({"id": "plain", "schedule": "0 3 * * *", "target": HTTP_TARGET}))
    run("jobs", "create", str(tmp_path / "job.json"))
    found = run("shadow", "report", "plain")
    assert (found.exit_code, "plain is not a shadow of another scheduler" in found.output) == (1, True)
    assert run("shadow", "promote").exit_code == 2
    for command in ("report", "promote"):
        both = run("shadow", command, "plain", "--tag", "billing")
        assert (both.exit_code, "--tag cannot be combined with jobs" in both.output) == (2, True)
    assert "there are no shadow jobs with the tag billing" in run("shadow", "report", "--tag", "billing").output
    unknown = run("shadow", "promote", "unknown", "--yes")
    assert (unknown.exit_code, 'There is no job "unknown"' in unknown.output) == (3, True)


@pytest.mark.parametrize(
    "text",
    [
        "id: a\nschedule: 0 3 * * *\nshadow: maybe\n",
        "id: a\nmoved_from: b\nschedule: 0 3 * * *\nshadow: true\n",
        "workflow: a\nschedule: 0 3 * * *\nshadow: true\njobs: {}\n",
    ],
)
def test_shadow_in_a_file_is_checked(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    found = run("apply", "-f", str(tmp_path / "a.yaml"), "--yes")
    assert found.exit_code == 1
    assert "shadow must be true or false; only a job without moved_from can be one" in found.output


def test_shadow_report_fits_a_terminal(run: Run, tmp_path: Path) -> None:
    imported(run, tmp_path)
    lines = run("shadow", "report", COLUMNS="80").output.splitlines()
    assert lines[0].split()[:5] == ["job", "result", "agreed", "missing", "extra"]


@pytest.mark.parametrize("kind", [*WHERE, ""])
def test_shadow_ping_command_is_accepted_by_a_shell(kind: str) -> None:
    command = ping_command("hourly", kind)
    if kind == "systemd":
        assert "%%FT%%TZ" in command
        assert "$$(date" in command
        return
    script = command.replace(r"\%", "%").replace("curl ", "printf '%s\\n' ")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env={"DUECOURSE_API": "X"})
    assert done.stdout.splitlines()[-1].startswith("X/key/v1/jobs/hourly/ping?occurrence=20")


def test_shadow_ping_command_names_an_occurrence_that_the_api_accepts() -> None:
    with Scheduler("2026-11-26T12:30:00Z") as scheduler:
        body: Any = {"schedule": "0 * * * *", "target": HTTP_TARGET}
        scheduler.client.put_job("hourly", body, shadow=True)
        assert scheduler.client.ping_job("hourly", occurrence="2026-11-26T12:30Z").shadow_since is not None


class Listener(BaseHTTPRequestHandler):
    """Notes the requests, and answers the first one with 429."""

    seen: ClassVar[list[tuple[str, str | None]]] = []

    def do_POST(self) -> None:
        self.seen.append((self.path, self.headers["Authorization"]))
        self.send_response(429 if len(self.seen) == 1 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


def test_shadow_ping_command_sends_the_key_and_repeats_a_rejected_ping(tmp_path: Path) -> None:
    """The work of the line runs, too, and no argument of a process has the key."""
    Listener.seen.clear()
    curl = tmp_path / "curl"
    curl.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/arguments\nexec {shutil.which("curl")} "$@"\n')
    curl.chmod(0o755)
    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            "DUECOURSE_API": f"http://127.0.0.1:{server.server_port}",
            "DUECOURSE_API_KEY": "dck_secret",
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
        }
        line = f"{ping_command('hourly', 'crontab')} echo work".replace(r"\%", "%")
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True, env=environment)
        server.shutdown()
    assert done.stdout == "work\n"
    assert [key for _, key in Listener.seen] == ["Bearer dck_secret"] * 2
    assert len({path for path, _ in Listener.seen}) == 1
    assert "secret" not in (tmp_path / "arguments").read_text()


def test_shadow_ping_command_distinguishes_two_starts_in_a_minute() -> None:
    """Celery beat can start a task each 30 s. With the minute, the second ping would repeat the first one."""
    assert "+%FT%TZ" in ping_command("often", "celery")
    with Scheduler("2026-11-26T12:30:00Z") as scheduler:
        body: Any = {"schedule": "*/30 * * * * *", "target": HTTP_TARGET}
        scheduler.client.put_job("often", body, shadow=True)
        for _ in range(20):
            scheduler.advance(seconds=30)
            scheduler.client.ping_job("often", occurrence=scheduler.now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        scheduler.advance(minutes=3)
        report = scheduler.client.get_shadow_report("often")
        assert (report.agreed, report.extra) == (20, 0)
