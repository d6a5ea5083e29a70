"""Many jobs at once: found by a part of their name, changed by one command, resumed with a note."""

import json
from datetime import UTC, datetime

import pytest

from tests.integration.api.test_workflows_over_http import Desk
from tests.integration.cli.conftest import Run
from tests.support.api import HTTP_TARGET
from tests.support.tables import Tables
from tests.support.unreadable import write_by_a_newer_release

SOON = datetime(2099, 11, 30, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def jobs(desk: Desk) -> None:
    for number in range(5):
        body = {"id": f"bill-{number}", "name": "Invoices" if number < 2 else "", "schedule": "0 2 * * *"}
        desk.api.post(body | {"tags": ["billing"], "target": HTTP_TARGET})


def test_bulk_jobs_list_searches_any_part_of_id_or_name_and_shows_the_total(run: Run) -> None:
    found = run("jobs", "list", "--search", "VOICE")
    assert found.exit_code == 0, found.output
    assert [line.split()[0] for line in found.stdout.splitlines()[1:]] == ["bill-0", "bill-1", "2"]
    assert found.stdout.endswith("\n2 of 5 jobs\n")
    page = json.loads(run("jobs", "list", "--search", "ill-", "--limit", "2", "--json").stdout)
    assert page["total"] == {"matching": 5, "searched": 5, "complete": True}
    assert run("jobs", "list", "--search", "L-4", "-o", "name").stdout == "bill-4\n"
    assert run("jobs", "list", "--search", "nothing").stdout.endswith("0 of 5 jobs\n")


def test_bulk_jobs_list_names_the_jobs_that_the_stage_cannot_read(run: Run, tables: Tables) -> None:
    write_by_a_newer_release(tables, "bill-1")
    for arguments in ([], ["--limit", "3"]):
        listed = run("jobs", "list", *arguments).stdout
        assert "Not listed, because the stage's release cannot read them: bill-1" in listed
        page = json.loads(run("jobs", "list", "--json", *arguments).stdout)
        assert page["unreadable"] == ["bill-1"]
    assert run("jobs", "list", "-o", "name").stdout.split() == ["bill-0", "bill-2", "bill-3", "bill-4"]


BY_TAG = ("jobs", "patch", "--tag", "billing")


def test_bulk_jobs_dry_run_shows_each_change_and_writes_nothing(run: Run, desk: Desk) -> None:
    planned = run(*BY_TAG, "--set", "schedule=30 2 * * *", "--set", "retry.max_attempts=5", "--dry-run")
    assert planned.exit_code == 2, planned.output
    assert planned.stdout.startswith(
        "~ job bill-0\n    schedule: 0 2 * * * -> 30 2 * * *\n    retry.max_attempts: 4 -> 5\n    runs until "
    )
    assert planned.stdout.count(": 30 moved\n") == planned.stdout.count("~ job bill-") == 5
    assert planned.stdout.endswith("plan: 0 to create, 5 to change, 0 to remove\n")
    assert desk.api.get("/v1/jobs/bill-0").json["schedule"] == "0 2 * * *"


def test_bulk_jobs_patch_changes_the_given_fields_after_confirmation_and_keeps_the_others(run: Run, desk: Desk) -> None:
    before = desk.api.get("/v1/jobs/bill-0").json
    no = run(*BY_TAG, "--search", "invoice", "--set", "schedule=30 2 * * *", text="n\n")
    assert (no.exit_code, desk.api.get("/v1/jobs/bill-0").json) == (1, before)
    yes = run(*BY_TAG, "--search", "invoice", "--set", "schedule=30 2 * * *", text="y\n")
    assert yes.exit_code == 0, yes.output
    assert "job bill-0 changed\njob bill-1 changed\n" in yes.stdout
    after = desk.api.get("/v1/jobs/bill-0").json
    moved = ("schedule", "schedule_canonical", "understood_as", "next_occurrence", "updated_at")
    assert after == before | {name: after[name] for name in moved}
    assert (after["schedule"], desk.api.get("/v1/jobs/bill-2").json["schedule"]) == ("30 2 * * *", "0 2 * * *")
    items = json.loads(run(*BY_TAG, "--set", "name=null", "--yes", "--json").stdout)["items"]
    assert [each["action"] for each in items] == ["change", "change", "keep", "keep", "keep"]
    assert desk.api.get("/v1/jobs/bill-0").json["name"] == ""


def test_bulk_jobs_spread_relative_to_each_other_after_the_offsets_are_shown(run: Run, desk: Desk) -> None:
    spread = (*BY_TAG, "--set", "spread.within_minutes=5")
    shown = run(*spread, "--dry-run")
    assert shown.exit_code == 2, shown.output
    assert "busiest minute of these jobs: 5 runs before, 1 after" in shown.output
    applied = run(*spread, "--yes")
    assert applied.exit_code == 0, applied.output
    found = [desk.api.get(f"/v1/jobs/bill-{number}").json["spread"] for number in range(5)]
    assert sorted(each["offset_minutes"] for each in found) == [0, 1, 2, 3, 4]
    for each in found:
        assert f"spread: null -> {json.dumps(each)}" in shown.stdout
    assert run(*spread, "--dry-run").exit_code == 0
    desk.api.post({"id": "often", "schedule": "* * * * *", "target": HTTP_TARGET})
    refused = run("jobs", "patch", "often", "bill-0", "--set", "spread.within_minutes=5", "--yes")
    assert "often: spread: needs intervals longer than a minute" in refused.stderr
    moved = run(*spread, "--set", "schedule=0 4 * * *", "--yes")
    assert moved.exit_code == 0, moved.output
    assert desk.api.get("/v1/jobs/bill-0").json["spread"]["within_minutes"] == 5


def test_bulk_jobs_new_job_is_shown_with_its_offset_before_it_is_created(run: Run, desk: Desk) -> None:
    body = {"id": "new", "schedule": "0 2 * * *", "spread": {"within_minutes": 2}, "target": HTTP_TARGET}
    shown = run("jobs", "create", "--dry-run", text=json.dumps(body))
    assert shown.exit_code == 0, shown.output
    assert "1 min after each occurrence (of 2 min); 1 run in that minute, 6 without the change" in shown.stdout
    assert desk.api.get("/v1/jobs/new").status == 404
    assert run("jobs", "create", text=json.dumps(body)).exit_code == 0
    assert "1 min after each occurrence (of 2 min)\n" in run("jobs", "get", "new").stdout
    without = run("jobs", "create", "--dry-run", text=json.dumps(body | {"id": None}))
    assert "--dry-run needs a job with an id" in without.stderr


def test_bulk_jobs_patch_writes_nothing_for_a_rejected_job_or_invalid_options(run: Run, desk: Desk) -> None:
    refused = run("jobs", "patch", "bill-0", "none", "--set", "timeout_seconds=60", "--yes")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("duecourse: nothing was changed:\nnone: 404")
    wrong = run(*BY_TAG, "--set", "schedule=30 25 * * *", "--dry-run").stderr.splitlines()
    assert len(wrong) == 2
    assert wrong[1].startswith('bill-0 and 4 more: schedule: hour "25"')
    assert desk.api.get("/v1/jobs/bill-0").json["timeout_seconds"] == 30
    for given in (["--set", "a"], ["--set", "a=1", "--set", "a.b=2"], ["--set", "=1"], []):
        assert run(*BY_TAG, *given).exit_code == 1
    assert run("jobs", "patch", "--set", "name=x").exit_code == 1
    assert run(*BY_TAG, "bill-0", "--set", "name=x").exit_code == 1


def test_bulk_jobs_resume_note_is_recorded_in_the_history(run: Run) -> None:
    run("jobs", "pause", "--tag", "billing", "--note", "the bank is down", "--yes")
    assert run("jobs", "resume", "bill-0", "--note", "it is up").exit_code == 0
    assert run("jobs", "resume", "--tag", "billing", "--note", "it is up", "--yes").exit_code == 0
    for name in ("bill-0", "bill-1"):
        newest = json.loads(run("jobs", "history", name, "--json").stdout)["items"][0]
        assert (newest["action"], newest["facts"]) == ("resumed", {"note": "it is up"})
    assert "note it is up" in run("jobs", "history", "bill-1", "-o", "wide").stdout


def test_bulk_jobs_repeated_pause_of_two_ids_reports_the_jobs_that_keep_their_pause(run: Run, desk: Desk) -> None:
    desk.api.clock.set(SOON)
    pause = ("jobs", "pause", "bill-0", "bill-1", "--until")
    first = run(*pause, "2099-12-01T06:00:00Z", "--note", "the bank is down")
    assert first.stdout.startswith("2 jobs are paused\nThe pause ends automatically at 2099-12-01 ")
    again = run(*pause, "2099-12-02T06:00:00Z")
    assert (again.exit_code, again.stdout) == (
        0,
        "no job was changed; 2 jobs needed no change (already paused, or completed)\n",
    )
    more = run(*pause, "2099-12-03T06:00:00Z", "bill-2", "bill-2")
    assert more.stdout.startswith(
        "1 job is paused; 2 jobs needed no change (already paused, or completed)\nThe pause ends "
    )
    ends = [desk.api.get(f"/v1/jobs/bill-{number}").json["paused_until"] for number in range(3)]
    assert ends == ["2099-12-01T06:00:00Z", "2099-12-01T06:00:00Z", "2099-12-03T06:00:00Z"]
    assert "2099-12-04" in run("jobs", "pause", "bill-0", "--until", "2099-12-04T06:00:00Z").stdout
    assert (
        run("jobs", "resume", "bill-3", "bill-4").stdout
        == "no job was changed; 2 jobs needed no change (not paused, or completed)\n"
    )


def test_bulk_jobs_repeated_pause_by_a_tag_changes_the_end(run: Run, desk: Desk) -> None:
    desk.api.clock.set(SOON)
    pause = ("jobs", "pause", "--tag", "billing", "--yes", "--until")
    assert run(*pause, "2099-12-01T06:00:00Z").stdout.startswith("5 jobs are paused\nThe pause ends ")
    assert run(*pause, "2099-12-02T06:00:00Z").stdout.startswith("5 jobs are paused\nThe pause ends ")
    assert desk.api.get("/v1/jobs/bill-4").json["paused_until"] == "2099-12-02T06:00:00Z"
    assert run(*pause, "2099-12-02T06:00:00Z").stdout == "no job was changed\n"


def test_bulk_jobs_planned_pause_that_is_over_is_not_shown(run: Run, desk: Desk) -> None:
    window = {"from": "2026-11-21T22:00:00Z", "until": "2026-11-22T02:00:00Z"}
    assert desk.api.post(window, "/v1/jobs/bill-4/pause").json["planned_pause"] is not None
    assert "planned pause" not in run("jobs", "get", "bill-4").stdout


def test_bulk_jobs_pause_is_planned_for_all_jobs_and_removed(run: Run, desk: Desk) -> None:
    desk.api.clock.set(SOON)
    plan = ("jobs", "pause", "--all", "--yes", "--from", "2099-12-05T22:00:00Z")
    assert "--from requires --until or --for" in run(*plan).output
    assert "The pause starts at 2099-12-05 " in run(*plan, "--for", "4h", "--catch-up").stdout
    window = "2099-12-05T22:00:00Z/2099-12-06T02:00:00Z/catch_up"
    assert desk.api.get("/v1/jobs/bill-4").json["planned_pause"] == window
    assert f"planned pause  {window}" in run("jobs", "get", "bill-4").stdout
    refused = run("jobs", "resume", "--tag", "billing", text="n\n")
    assert "No job is paused. Remove the planned pauses of all jobs tagged billing?" in refused.stderr
    assert desk.api.get("/v1/jobs/bill-4").json["planned_pause"] == window
    assert run("jobs", "resume", "--all", "--yes").exit_code == 0
    assert desk.api.get("/v1/jobs/bill-4").json["planned_pause"] is None


def test_bulk_jobs_patch_of_a_job_from_files_says_that_the_next_apply_reverts_it(run: Run, desk: Desk) -> None:
    desk.api.post({"id": "load", "schedule": "0 2 * * *", "tags": ["managed-by=team"], "target": HTTP_TARGET})
    planned = run("jobs", "patch", "load", "bill-0", "--set", "timeout_seconds=60", "--dry-run").stdout
    hint = "    the next apply --owner team reverts this\n"
    assert planned.startswith(f"~ job load\n{hint}    timeout_seconds: 30 -> 60\n")
    assert planned.count("reverts") == 1


def test_bulk_jobs_apply_warns_if_a_job_notifies_one_that_does_not_exist(run: Run) -> None:
    notify = [{"on": ["dead"], "to": {"job": name}} for name in ("told", "nosuch")]
    jobs = [{"id": "late", "notify": notify}, {"id": "told"}]
    files = "\n".join(json.dumps({"schedule": "0 2 * * *", "target": HTTP_TARGET, **job}) for job in jobs)
    result = run("apply", "-f", "-", "--yes", text=files.replace("\n", "\n---\n"))
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "late: notify names a job that does not exist: nosuch. "
        "Create it, or correct notify; until then these notices are lost.\n"
    )


def test_bulk_jobs_planned_pause_of_a_job_without_a_schedule_is_not_confirmed(run: Run, desk: Desk) -> None:
    desk.api.clock.set(SOON)
    assert run("jobs", "patch", "bill-0", "--set", "schedule=null", "--yes").exit_code == 0
    plan = ("--from", "2099-12-05T22:00:00Z", "--for", "4h")
    alone = run("jobs", "pause", "bill-0", *plan)
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert "runs only on demand" in alone.stderr
    many = run("jobs", "pause", "--tag", "billing", "--yes", *plan)
    assert (many.exit_code, "the pause of 4 jobs is planned\n" in many.stdout) == (1, True)
    assert "1 job could not be changed because of concurrent changes, unreadable data, their schedules" in many.stderr
    assert many.stderr.endswith(" or planned pauses: bill-0; repeat the command\n")


def test_bulk_jobs_pause_says_what_changed_for_planned_pauses_and_completed_jobs(run: Run, desk: Desk) -> None:
    desk.api.clock.set(SOON)
    assert desk.api.jobs.complete(desk.api.jobs.get("default", "bill-4"), at=SOON)
    done = run("jobs", "pause", "bill-3", "bill-4")
    assert (done.exit_code, done.stdout) == (
        0,
        "1 job is paused; 1 job needed no change (already paused, or completed)\n",
    )
    plan = ("jobs", "pause", "bill-0", "bill-1", "--from", "2099-12-05T22:00:00Z", "--for", "4h")
    assert run(*plan).stdout.startswith("the pause of 2 jobs is planned\nThe pause starts at 2099-12-05 ")
    assert desk.api.get("/v1/jobs/bill-0").json["state"] == "ACTIVE"
    again = run(*plan, "bill-4")
    assert again.stdout == "no job was changed; 3 jobs needed no change (already planned, or completed)\n"


def test_bulk_jobs_are_deleted_by_id_or_by_tag_after_a_plan(run: Run, desk: Desk) -> None:
    no = run("jobs", "delete", "--tag", "billing", text="n\n")
    assert no.exit_code == 1
    assert "- job bill-0\n" in no.stdout
    assert "plan: 0 to create, 0 to change, 5 to remove\n" in no.stdout
    two = run("jobs", "delete", "bill-0", "bill-1", "bill-0", "--yes")
    assert (two.exit_code, "applied: 2 changes" in two.stdout) == (0, True), two.output
    assert run("jobs", "delete", "--tag", "billing", "--yes").exit_code == 0
    assert desk.api.get("/v1/jobs").json["items"] == []
    assert "no job has the tag billing" in run("jobs", "delete", "--tag", "billing", "--yes").stderr
    assert run("jobs", "delete", "bill-0", "--tag", "billing").exit_code == 2
    assert run("jobs", "delete").exit_code == 2


def test_bulk_jobs_of_a_workflow_are_deleted_after_the_workflow(run: Run) -> None:
    step = {"job_id": "extract", "job": {"target": HTTP_TARGET, "tags": ["etl"]}}
    body = json.dumps({"schedule": None, "jobs": {"extract": step}})
    assert run("workflows", "put", "etl", text=body).exit_code == 0
    done = run("jobs", "delete", "extract", "etl", "--yes")
    assert (done.exit_code, done.stdout.splitlines()[-3:-1]) == (0, ["workflow etl removed", "job extract removed"])
