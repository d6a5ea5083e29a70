"""`duecourse jobs export` writes what `duecourse apply` reads: applied again, it changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from duecourse.cli.manifests.yaml_text import parse
from tests.integration.api.test_put_back_over_http import JOBS
from tests.integration.api.test_workflows_over_http import INLINE, NIGHTLY, Desk
from tests.integration.cli.conftest import Run
from tests.support.api import HTTP_TARGET
from tests.support.served_api import ServedApi

ODD_TEXTS = [
    "on",
    "12:30",
    "2026-12-01",
    "1e3",
    "010",
    "~",
    "",
    " a",
    "a\nb\n",
    "a \nb",
    "\u2028",
    "ä",
    "{{due_at}}",
    "- x",
    "é\x85",
    "\u202egpj.exe",
    "a\r\nb",
    "\ufeffa",
    "😀",
]


def filled(desk: Desk) -> None:
    """All sorts of jobs."""
    for name, job in JOBS.items():
        desk.api.post(job | {"id": f"{name}-job" if name in NIGHTLY["jobs"] else name})
    desk.api.post({"id": "odd", "schedule": None, "target": HTTP_TARGET, "payload": {"on": ODD_TEXTS, "5": 1e300}})
    desk.api.post({"id": "zoned", "schedule": None, "timezone": "Asia/Tokyo", "target": HTTP_TARGET})
    desk.put({"schedule": "0 1 * * *", "tags": ["etl"], "jobs": {**NIGHTLY["jobs"], "zoned": {"when": "all_done"}}})
    skipping = {"job": INLINE["job"] | {"overlap": "skip"}, "may_fail": True, "only": "0 0 * * 1"}
    desk.put({"schedule": None, "jobs": {"rate-step": skipping}}, "/v1/workflows/other")
    desk.api.ask("/v1/jobs/rate/pause")
    desk.world.clock.advance(3600)


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_export_applied_again_changes_nothing(run: Run, desk: Desk, form: str, tmp_path: Path) -> None:
    filled(desk)
    file = tmp_path / f"all.{form}"
    written = run("jobs", "export", "-o", form)
    assert written.exit_code == 0, written.output
    file.write_text(written.stdout)
    again = run("apply", "-f", str(file), "--dry-run")
    assert again.exit_code == 0, again.output
    assert f"{len(JOBS) + 4} unchanged" in again.stdout  # odd, zoned and two workflows, whose other jobs are in them


def test_export_writes_one_file_for_each_job_and_the_folder_recreates_the_jobs(
    run: Run, desk: Desk, tmp_path: Path
) -> None:
    filled(desk)
    folder = tmp_path / "jobs"
    assert run("jobs", "export", "--dir", str(folder), "other", "odd", "cron-less", "full").exit_code == 1
    written = run("jobs", "export", "--dir", str(folder), "other", "odd", "full")
    assert written.exit_code == 0, written.output
    assert sorted(each.name for each in folder.iterdir()) == ["full.yaml", "odd.yaml", "other.yaml"]
    before = desk.api.get("/v1/jobs/full").json
    for name in ("other", "rate-step", "odd", "full"):
        assert desk.api.delete(f"/v1/jobs/{name}").status == 204
    assert run("apply", "-f", str(folder), "--yes").exit_code == 0
    after = desk.api.get("/v1/jobs/full").json
    new = ("created_at", "updated_at", "next_occurrence")
    assert {name: value for name, value in after.items() if name not in new} == {
        name: value for name, value in before.items() if name not in new
    }
    assert desk.api.get("/v1/jobs/rate-step").json["workflow"] == "other"


def test_export_omits_default_values(run: Run, desk: Desk, api: ServedApi) -> None:
    desk.api.post({"id": "plain", "schedule": "@daily", "target": HTTP_TARGET, "retry": {"max_attempts": 2}})
    (document,) = documents(run("jobs", "export", "plain").stdout)
    assert list(document) == ["id", "schedule", "timezone", "target", "retry"]
    assert document["retry"] == {"max_attempts": 2}
    assert api.written == []


def test_export_selects_jobs_by_tag(run: Run, desk: Desk) -> None:
    filled(desk)
    chosen = json.loads(run("jobs", "export", "--tag", "a", "-o", "json").stdout)
    (workflow,) = documents(run("jobs", "export", "--tag", "etl").stdout)
    assert chosen["id"] == "full"
    assert workflow["workflow"] == "nightly"
    assert list(workflow["jobs"]["extract"]) == ["job_id", "job", "when"]
    assert "job" not in workflow["jobs"]["zoned"]  # in a zone of its own


def test_export_includes_more_jobs_than_one_page_holds(run: Run, desk: Desk, api: ServedApi) -> None:
    for number in range(101):
        desk.api.post({"id": f"job-{number:03}", "schedule": None, "target": HTTP_TARGET})
    assert len(documents(run("jobs", "export").stdout)) == 101
    assert len([path for _, path, _ in api.asked if path == "/v1/jobs"]) == 2


def documents(text: str) -> list[Any]:
    return [each.value for each in parse(text)]


def test_export_of_nested_workflows_and_shared_jobs_is_applied_in_any_order(
    run: Run, desk: Desk, tmp_path: Path
) -> None:
    step = {"job": {"target": HTTP_TARGET}}
    files: dict[str, Any] = {
        "a-outer": {"workflow": "outer", "schedule": "@daily", "jobs": {"inner": {}, "common": {"shared": True}}},
        "b-inner": {"workflow": "inner", "schedule": None, "jobs": {"copy": step, "common": {"shared": True}}},
        "c-common": {"id": "common", "schedule": "@hourly", "target": HTTP_TARGET},
    }
    folder = tmp_path / "nested"
    folder.mkdir()
    for name, document in files.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    made = run("apply", "-f", str(folder), "--yes", "--owner", "team")
    assert made.exit_code == 0, made.output
    owners = {name: desk.api.get(f"/v1/jobs/{name}").json["workflow"] for name in ("inner", "inner--copy", "common")}
    assert owners == {"inner": "outer", "inner--copy": "inner", "common": None}
    again = run("apply", "-f", str(folder), "--dry-run", "--owner", "team")
    assert (again.exit_code, "3 unchanged" in again.stdout) == (0, True), again.output
    file = tmp_path / "all.json"
    file.write_text(run("jobs", "export", "-o", "json").stdout)
    exported = run("apply", "-f", str(file), "--dry-run")
    assert (exported.exit_code, "3 unchanged" in exported.stdout) == (0, True), exported.output
    for name in files:
        (folder / f"{name}.json").unlink()
    (folder / "other.json").write_text(json.dumps({"id": "other", "schedule": None, "target": HTTP_TARGET}))
    gone = run("apply", "-f", str(folder), "--yes", "--owner", "team", "--prune")
    assert gone.exit_code == 0, gone.output
    assert [each["id"] for each in desk.api.get("/v1/jobs").json["items"]] == ["other"]
