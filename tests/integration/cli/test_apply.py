"""`duecourse apply`: jobs become what files say, and nothing else happens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.integration.api.test_workflows_over_http import Desk
from tests.integration.cli.conftest import Run
from tests.support.api import HTTP_TARGET
from tests.support.emulators import ROOT
from tests.support.served_api import ServedApi

NIGHTLY = """\
id: nightly
schedule: 0 2 * * *
timezone: Europe/Berlin
target: {type: http, url: https://example.com/nightly}
retry:
  max_attempts: 3
  on: [5xx, 429]
"""
ETL = """\
workflow: etl
schedule: 0 3 * * *
jobs:
  extract: {job_id: extract, job: {target: {type: http, url: https://example.com/extract}}}
  load:
    job_id: load
    after: [extract]
    job:
      target: {type: http, url: https://example.com/load}
"""
ASKED = "id: asked\nschedule:\ntarget: {type: sqs, queue: duecourse-target-mail}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    jobs = tmp_path / "jobs"
    (jobs / "more").mkdir(parents=True)
    (jobs / "nightly.yaml").write_text(NIGHTLY)
    (jobs / "more" / "etl.yml").write_text(f"---\n{ETL}---\n{ASKED}")
    (jobs / "list.json").write_text(json.dumps([{"id": "hourly", "schedule": "@hourly", "target": HTTP_TARGET}]))
    (jobs / "notes.txt").write_text("no job")
    return jobs


def test_apply_plans_and_applies_a_folder_and_then_finds_no_changes(run: Run, api: ServedApi, folder: Path) -> None:
    planned = run("apply", "-f", str(folder), "--dry-run")
    assert planned.exit_code == 2, planned.output
    assert "+ job nightly: 0 2 * * * (Europe/Berlin), http" in planned.stdout
    assert "+ workflow etl: 0 3 * * * (UTC), 2 jobs" in planned.stdout
    assert "plan: 4 to create, 0 to change, 0 to remove" in planned.stdout
    assert api.written == []

    applied = run("jobs", "apply", "-f", str(folder), "--yes")
    assert applied.exit_code == 0, applied.output
    assert sorted(api.written) == [
        "PUT /v1/jobs/asked",
        "PUT /v1/jobs/hourly",
        "PUT /v1/jobs/nightly",
        "PUT /v1/workflows/etl",
    ]
    assert run("jobs", "get", "nightly", "--json").stdout.count('"5xx"') == 1

    again = run("apply", "-f", str(folder), "--yes")
    assert again.exit_code == 0, again.output
    assert "plan: 0 to create, 0 to change, 0 to remove, 4 unchanged" in again.stdout
    assert len(api.written) == 4
    assert run("apply", "-f", str(folder), "--dry-run").exit_code == 0


def test_apply_shows_changes_by_field_and_resets_omitted_fields_to_defaults(
    run: Run, api: ServedApi, folder: Path
) -> None:
    run("apply", "-f", str(folder), "--yes")
    (folder / "nightly.yaml").write_text(NIGHTLY.replace("0 2", "30 2").replace("  max_attempts: 3\n", ""))
    (folder / "more" / "etl.yml").write_text(ETL.replace("/load", "/store") + "    may_fail: true\n")

    planned = run("apply", "-f", str(folder), "--dry-run")

    assert planned.exit_code == 2
    assert "~ job nightly\n    schedule: 0 2 * * * -> 30 2 * * *\n    retry.max_attempts: 3 -> 4\n" in planned.stdout
    assert ": 30 moved\n" in planned.stdout
    assert "    a month, without the target: 30 runs ($0.0002) -> 30 runs ($0.0002)\n" in planned.stdout
    assert "~ workflow etl\n    jobs.load.may_fail: false -> true\n" in planned.stdout
    assert "    jobs.load.job.target.url: https://example.com/load -> https://example.com/store\n" in planned.stdout
    assert run("apply", "-f", str(folder), "--yes").exit_code == 0
    assert run("apply", "-f", str(folder), "--dry-run").exit_code == 0


def test_apply_shows_only_real_differences_after_a_patch(run: Run, api: ServedApi, folder: Path) -> None:
    run("apply", "-f", str(folder), "--yes")
    run("jobs", "patch", "nightly", "--set", "schedule=0 8 * * *", "--yes")
    planned = run("apply", "-f", str(folder), "--dry-run")
    assert "~ job nightly\n    schedule: 0 8 * * * -> 0 2 * * *\n    runs until " in planned.stdout
    plan = json.loads(run("apply", "-f", str(folder), "--dry-run", "--json").stdout)
    assert [each["schedule_change"]["moved"] for each in plan["items"] if "schedule_change" in each] == [30]


def test_apply_asks_for_confirmation_before_it_writes(run: Run, api: ServedApi, folder: Path) -> None:
    assert run("apply", "-f", str(folder), text="n\n").exit_code == 1
    unanswered = run("apply", "-f", str(folder), text="")
    assert unanswered.exit_code == 1
    assert "use --yes" in unanswered.stderr
    assert api.written == []
    agreed = run("apply", "-f", str(folder), text="y\n")
    assert "Apply (4 to create, 0 to change, 0 to remove)?" in agreed.stderr
    assert len(api.written) == 4


def test_apply_prunes_jobs_that_its_owner_no_longer_names(run: Run, api: ServedApi, desk: Desk, folder: Path) -> None:
    desk.api.post({"id": "somebodys", "schedule": None, "target": HTTP_TARGET, "tags": ["managed-by=others"]})
    owned = ("apply", "-f", str(folder), "--owner", "billing", "--prune")
    assert run(*owned, "--yes").exit_code == 0
    assert desk.api.get("/v1/jobs/load").json["tags"] == ["managed-by=billing"]
    (folder / "more" / "etl.yml").unlink()

    planned = run(*owned, "--dry-run")
    assert planned.exit_code == 2, planned.output
    assert "- workflow etl\n" in planned.stdout
    assert "plan: 0 to create, 0 to change, 4 to remove, 2 unchanged" in planned.stdout
    assert run(*owned, "--yes").exit_code == 0
    ids = [job["id"] for job in desk.api.get("/v1/jobs").json["items"]]
    assert ids == ["hourly", "nightly", "somebodys"]
    assert run(*owned, "--dry-run").exit_code == 0


def test_apply_renames_a_workflow_in_one_plan(run: Run, api: ServedApi, desk: Desk, folder: Path) -> None:
    file = folder / "more" / "etl.yml"
    file.write_text(ETL)
    owned = ("apply", "-f", str(folder), "--owner", "billing")
    assert run(*owned, "--yes").exit_code == 0
    file.write_text(ETL.replace("workflow: etl", "workflow: elt").replace("/load", "/store"))
    before = len(api.written)

    refused = run(*owned, "--yes")
    assert refused.exit_code == 1
    assert (
        "jobs/load: is a step of workflow etl; remove it from that workflow first, or add shared: true"
        in refused.stderr
    )

    planned = run(*owned, "--prune", "--dry-run")
    assert planned.exit_code == 2, planned.output
    assert "+ workflow elt: 0 3 * * * (UTC), 2 jobs\n    jobs.extract.workflow: etl -> elt\n" in planned.stdout
    assert "    jobs.load.job.target.url: https://example.com/load -> https://example.com/store\n" in planned.stdout
    assert "- workflow etl\n" in planned.stdout
    assert len(api.written) == before

    applied = run(*owned, "--prune", "--yes")
    assert applied.exit_code == 0, applied.output
    assert api.written[before:] == ["DELETE /v1/jobs/etl", "PUT /v1/workflows/elt"]
    load = desk.api.get("/v1/jobs/load").json
    assert (load["workflow"], load["target"]["url"]) == ("elt", "https://example.com/store")
    assert run(*owned, "--prune", "--dry-run").exit_code == 0


def test_apply_gives_two_workflows_their_own_jobs_and_replaces_them_with_a_renamed_workflow(
    run: Run, api: ServedApi, desk: Desk, folder: Path
) -> None:
    file, own = folder / "more" / "etl.yml", ETL.replace("job_id: extract, ", "").replace("    job_id: load\n", "")
    file.write_text(f"{own}---\n{own.replace('workflow: etl', 'workflow: us')}")
    owned = ("apply", "-f", str(file), "--owner", "billing", "--prune")
    assert run(*owned, "--yes").exit_code == 0
    assert run(*owned, "--dry-run").exit_code == 0
    file.write_text(f"{own}---\n{own.replace('workflow: etl', 'workflow: eu')}")
    assert run(*owned, "--yes").exit_code == 0
    ids = [job["id"] for job in desk.api.get("/v1/jobs").json["items"]]
    assert ids == ["etl", "etl--extract", "etl--load", "eu", "eu--extract", "eu--load"]
    file.write_text(own.replace("/load", "/store"))
    assert "    jobs.load.job.target.url: " in run(*owned, "--dry-run").stdout


def test_apply_continues_an_interrupted_rename(run: Run, api: ServedApi, desk: Desk, folder: Path) -> None:
    file = folder / "more" / "etl.yml"
    file.write_text(ETL)
    owned = ("apply", "-f", str(folder), "--owner", "billing", "--prune", "--yes")
    assert run(*owned).exit_code == 0
    file.write_text(ETL.partition("  load:")[0].replace("workflow: etl", "workflow: elt"))

    def taken_meanwhile(method: str, path: str, query: str) -> None:
        if (method, path, query) == ("PUT", "/v1/workflows/elt", ""):
            desk.put({"schedule": None, "jobs": {"extract": {}}}, "/v1/workflows/mine")

    api.before_each(taken_meanwhile)
    failed = run(*owned)
    assert failed.exit_code == 1
    assert "workflow elt was not created: " in failed.stderr
    assert "run the command again to continue" in failed.stderr
    api.before_each(lambda *_: None)
    desk.api.delete("/v1/jobs/mine")

    assert run(*owned).exit_code == 0
    assert desk.api.get("/v1/jobs/extract").json["workflow"] == "elt"
    assert [job["id"] for job in desk.api.get("/v1/jobs").json["items"]] == ["elt", "extract", "hourly", "nightly"]


TWO = """\
workflow: left
schedule: '@daily'
jobs:
  first: {job_id: first, job: {target: {type: http, url: https://example.com/first}}}
  moving: {job_id: moving, after: [first], job: {target: {type: http, url: https://example.com/moving}}}
---
workflow: right
schedule: '@daily'
jobs:
  last: {job_id: last, job: {target: {type: http, url: https://example.com/last}}}
"""
MOVING = re.findall("  moving.*\n", TWO)[0]


def test_apply_moves_a_job_between_workflows_in_one_plan(run: Run, api: ServedApi, desk: Desk) -> None:
    assert run("apply", "-f", "-", "--yes", text=TWO).exit_code == 0
    moved = TWO.replace(MOVING, "").replace("@daily", "@hourly").replace("last: {", "last: {may_fail: true, ")
    moved += MOVING.replace("[first]", "[last]", 1) + MOVING.replace("moving", "extra").replace("after: [first], ", "")
    before = len(api.written)

    planned = run("apply", "-f", "-", "--dry-run", text=moved)
    assert planned.exit_code == 2, planned.output
    assert "~ workflow left\n    schedule: @daily -> @hourly\n    jobs.moving: " in planned.stdout
    assert (
        "~ workflow right\n    jobs.moving.workflow: left -> right\n    schedule: @daily -> @hourly\n" in planned.stdout
    )
    assert '    jobs.moving: null -> {"job_id": "moving", "after": ["last"], "when"' in planned.stdout
    assert "    jobs.last.may_fail: false -> true\n" in planned.stdout
    assert "    jobs.extra.job: null -> new\n" in planned.stdout
    assert "plan: 0 to create, 2 to change, 0 to remove\n" in planned.stdout

    applied = run("apply", "-f", "-", "--yes", text=moved)
    assert applied.exit_code == 0, applied.output
    assert api.written[before:] == ["PUT /v1/workflows/left", "PUT /v1/workflows/right"]
    assert desk.api.get("/v1/jobs/moving").json["workflow"] == "right"
    assert run("apply", "-f", "-", "--dry-run", text=moved).exit_code == 0


def plain_jobs(*names: str) -> str:
    return "".join(f"---\n{{id: {name}, schedule: null, target: {json.dumps(HTTP_TARGET)}}}\n" for name in names)


def workflows_of(desk: Desk, *names: str) -> dict[str, str | None]:
    return {name: desk.api.get(f"/v1/jobs/{name}").json["workflow"] for name in names}


EXCHANGE = "workflow: left\njobs: {a: {}, x: {after: [a]}}\nschedule:\n---\nworkflow: right\njobs: {b: {}}\nschedule:\n"


def test_apply_exchanges_jobs_between_two_workflows_in_one_plan(run: Run, api: ServedApi, desk: Desk) -> None:
    jobs = plain_jobs("a", "b", "x")
    assert run("apply", "-f", "-", "--yes", text=EXCHANGE + jobs).exit_code == 0
    before = len(api.written)
    swapped = EXCHANGE.replace("a:", "c:").replace("b:", "a:").replace("c:", "b:").replace("[a]", "[b]")

    planned = run("apply", "-f", "-", "--dry-run", text=swapped + jobs)
    assert planned.exit_code == 2, planned.output
    assert "~ workflow left (interim)\n    jobs.a: a -> null\n" in planned.stdout
    assert "jobs.b.workflow: right -> left\n" in planned.stdout
    assert "plan: 0 to create, 3 to change, 0 to remove" in planned.stdout
    assert len(api.written) == before

    applied = run("apply", "-f", "-", "--yes", text=swapped + jobs)
    assert applied.exit_code == 0, applied.output
    assert api.written[before:] == ["PUT /v1/workflows/left", "PUT /v1/workflows/right", "PUT /v1/workflows/left"]
    assert workflows_of(desk, "a", "b", "x") == {"a": "right", "b": "left", "x": "left"}
    assert run("apply", "-f", "-", "--dry-run", text=swapped + jobs).exit_code == 0


def test_apply_exchanges_the_only_jobs_of_workflows(run: Run, api: ServedApi, desk: Desk) -> None:
    text = "".join(
        f"workflow: w{number}\njobs: {{{name}: {{}}}}\nschedule:\n---\n" for number, name in enumerate("abc")
    )
    jobs = plain_jobs("a", "b", "c").removeprefix("---\n")
    assert run("apply", "-f", "-", "--yes", text=text + jobs).exit_code == 0
    moved = text.replace("a:", "A:").replace("b:", "B:").replace("{c:", "{a:").replace("A:", "b:").replace("B:", "c:")

    planned = run("apply", "-f", "-", "--dry-run", text=moved + jobs)
    assert planned.exit_code == 2, planned.output
    assert "~ workflow w0 (interim)\n    jobs.a: a -> a--moving\n" in planned.stdout
    assert "- job a--moving (interim)\n" in planned.stdout

    applied = run("apply", "-f", "-", "--yes", text=moved + jobs)
    assert applied.exit_code == 0, applied.output
    assert workflows_of(desk, "a", "b", "c") == {"a": "w2", "b": "w0", "c": "w1"}
    assert desk.api.get("/v1/jobs/a--moving").status == 404
    assert run("apply", "-f", "-", "--dry-run", text=moved + jobs).exit_code == 0


def test_apply_continues_an_interrupted_exchange(run: Run, api: ServedApi, desk: Desk) -> None:
    jobs = plain_jobs("a", "b", "x")
    assert run("apply", "-f", "-", "--yes", text=EXCHANGE + jobs).exit_code == 0
    swapped = EXCHANGE.replace("a:", "c:").replace("b:", "a:").replace("c:", "b:").replace("[a]", "[b]")

    def edited_meanwhile(method: str, path: str, query: str) -> None:
        if (method, path, query) == ("PUT", "/v1/workflows/right", ""):
            desk.put({"schedule": None, "name": "mine", "jobs": {"b": {}}}, "/v1/workflows/right")

    api.before_each(edited_meanwhile)
    failed = run("apply", "-f", "-", "--yes", text=swapped + jobs)
    assert failed.exit_code == 1
    assert "another caller changed right at the same time; run the command again" in failed.stderr
    assert "workflow left was not changed: " in failed.stderr
    api.before_each(lambda *_: None)

    assert workflows_of(desk, "a", "b", "x") == {"a": None, "b": "right", "x": "left"}
    assert run("apply", "-f", "-", "--yes", text=swapped + jobs).exit_code == 0
    assert workflows_of(desk, "a", "b", "x") == {"a": "right", "b": "left", "x": "left"}


SCHEDULED = f"---\n{{id: NAME, schedule: '@daily', target: {json.dumps(HTTP_TARGET)}}}\n"
FLOW = "workflow: flow\nschedule: '@hourly'\njobs: {stays: {}, NAME: {after: [stays]}}\n"


def test_apply_exchanges_a_step_and_a_job_with_its_own_schedule(run: Run, api: ServedApi, desk: Desk) -> None:
    first = FLOW.replace("NAME", "one") + plain_jobs("stays", "one") + SCHEDULED.replace("NAME", "two")
    assert run("apply", "-f", "-", "--yes", text=first).exit_code == 0
    before = len(api.written)
    second = FLOW.replace("NAME", "two") + plain_jobs("stays", "two") + SCHEDULED.replace("NAME", "one")

    planned = run("apply", "-f", "-", "--dry-run", text=second)
    assert planned.exit_code == 2, planned.output
    assert "~ job two\n    schedule: @daily -> null\n" in planned.stdout
    assert "~ job one\n    schedule: null -> @daily\n" in planned.stdout
    assert "~ workflow flow\n" in planned.stdout
    assert len(api.written) == before

    applied = run("apply", "-f", "-", "--yes", text=second)
    assert applied.exit_code == 0, applied.output
    assert api.written[before:] == ["PUT /v1/jobs/two", "PUT /v1/workflows/flow", "PUT /v1/jobs/one"]
    assert workflows_of(desk, "one", "two") == {"one": None, "two": "flow"}
    assert run("apply", "-f", "-", "--dry-run", text=second).exit_code == 0


def test_apply_moves_a_job_between_its_own_schedule_and_a_workflow_that_defines_it(
    run: Run, api: ServedApi, desk: Desk
) -> None:
    alone = ETL.partition("  load:")[0] + SCHEDULED.replace("NAME", "load")
    assert run("apply", "-f", "-", "--yes", text=alone).exit_code == 0

    planned = run("apply", "-f", "-", "--dry-run", text=ETL)
    assert planned.exit_code == 2, planned.output
    assert "~ job load\n    schedule: @daily -> null\n" in planned.stdout
    applied = run("apply", "-f", "-", "--yes", text=ETL)
    assert applied.exit_code == 0, applied.output
    assert workflows_of(desk, "load") == {"load": "etl"}
    assert desk.api.get("/v1/jobs/load").json["target"]["url"] == "https://example.com/load"
    assert run("apply", "-f", "-", "--dry-run", text=ETL).exit_code == 0

    back = run("apply", "-f", "-", "--yes", text=alone)
    assert back.exit_code == 0, back.output
    assert workflows_of(desk, "load") == {"load": None}
    assert desk.api.get("/v1/jobs/load").json["schedule"] == "@daily"
    assert run("apply", "-f", "-", "--dry-run", text=alone).exit_code == 0


def test_apply_gives_the_step_of_a_removed_workflow_its_own_schedule(run: Run, desk: Desk) -> None:
    owned = ("apply", "-f", "-", "--owner", "billing", "--prune", "--yes")
    assert run(*owned, text=ETL).exit_code == 0
    applied = run(*owned, text=SCHEDULED.replace("NAME", "load"))
    assert applied.exit_code == 0, applied.output
    assert [job["id"] for job in desk.api.get("/v1/jobs").json["items"]] == ["load"]


def test_apply_moves_a_job_whose_payload_has_results_of_the_new_workflow(run: Run, desk: Desk) -> None:
    flows = "workflow: left\nschedule:\njobs: {a: {}LEFT}\n---\nworkflow: right\nschedule:\njobs: {b: {}RIGHT}\n"
    moving = (
        f"---\n{{id: z, schedule: null, target: {json.dumps(HTTP_TARGET)}, payload: '{{{{upstream.UP.state}}}}'}}\n"
    )
    jobs = plain_jobs("a", "b")
    first = flows.replace("LEFT", ", z: {after: [a]}").replace("RIGHT", "") + jobs + moving.replace("UP", "a")
    assert run("apply", "-f", "-", "--yes", text=first).exit_code == 0
    second = flows.replace("LEFT", "").replace("RIGHT", ", z: {after: [b]}") + jobs + moving.replace("UP", "b")
    applied = run("apply", "-f", "-", "--yes", text=second)
    assert applied.exit_code == 0, applied.output
    assert workflows_of(desk, "z") == {"z": "right"}
    assert run("apply", "-f", "-", "--dry-run", text=second).exit_code == 0


def test_apply_refuses_a_step_that_has_its_own_schedule_in_the_files(run: Run, api: ServedApi) -> None:
    text = FLOW.replace("NAME", "one") + plain_jobs("stays") + SCHEDULED.replace("NAME", "one")
    for _ in range(2):
        refused = run("apply", "-f", "-", "--yes", text=text)
        assert refused.exit_code == 1
        assert "-:3: one has its own schedule in -:7; set it to null, or remove the step" in refused.stderr
    assert api.written == []


def test_apply_reports_only_the_conflicts_that_the_plan_does_not_resolve(run: Run, api: ServedApi, desk: Desk) -> None:
    desk.api.post({"id": "daily", "schedule": "@daily", "target": HTTP_TARGET})
    assert run("apply", "-f", "-", "--yes", text=TWO).exit_code == 0

    refused = run("apply", "-f", "-", text=TWO.replace(MOVING, "") + MOVING.replace("first", "last") + "  daily: {}\n")

    assert refused.exit_code == 1
    assert "-:11: jobs/daily: has its own schedule (@daily); set the schedule to null first" in refused.stderr
    assert "moving" not in refused.stderr


def test_apply_refuses_to_change_jobs_of_another_owner(run: Run, api: ServedApi, desk: Desk, folder: Path) -> None:
    assert run("apply", "-f", str(folder), "--owner", "billing", "--yes").exit_code == 0
    (folder / "list.json").unlink()
    (folder / "more" / "etl.yml").unlink()
    before = list(api.written)

    for prune in ((), ("--prune",)):
        refused = run("apply", "-f", str(folder), "--owner", "reports", "--yes", *prune)

        assert refused.exit_code == 1
        assert "nightly.yaml:1: nightly belongs to the owner billing (tag managed-by=billing); " in refused.stderr
        assert "apply it once without --owner, which removes the tag" in refused.stderr
    assert api.written == before

    assert run("apply", "-f", str(folder / "nightly.yaml"), "--yes").exit_code == 0
    assert run("apply", "-f", str(folder / "nightly.yaml"), "--owner", "reports", "--yes").exit_code == 0
    assert desk.api.get("/v1/jobs/nightly").json["tags"] == ["managed-by=reports"]


def test_apply_names_many_jobs_of_another_owner_in_one_line(run: Run, folder: Path) -> None:
    body = "schedule: 0 2 * * *\ntarget: {type: sqs, queue: duecourse-target-mail}\n"
    (file := folder / "many.yaml").write_text("---\n".join(f"id: job-{number}\n{body}" for number in range(6)))
    assert run("apply", "-f", str(file), "--owner", "billing", "--yes").exit_code == 0
    said = run("apply", "-f", str(file), "--owner", "reports", "--yes").stderr
    assert said.count("use --owner billing") == 3
    assert "3 more, each belongs to the owner billing (tag managed-by=billing): job-3, job-4, job-5\n" in said


def test_apply_refuses_to_change_workflows_and_steps_of_another_owner(
    run: Run, api: ServedApi, desk: Desk, folder: Path
) -> None:
    file = folder / "more" / "etl.yml"
    file.write_text(ETL)
    assert run("apply", "-f", str(file), "--owner", "billing", "--yes").exit_code == 0

    refused = run("apply", "-f", str(file), "--owner", "reports", "--yes")

    assert refused.exit_code == 1
    assert "etl.yml:1: etl belongs to the owner billing" in refused.stderr
    assert "etl.yml:4: extract belongs to the owner billing" in refused.stderr
    assert "etl.yml:5: load belongs to the owner billing" in refused.stderr
    desk.api.delete("/v1/jobs/etl")
    refused = run("apply", "-f", str(file), "--owner", "reports", "--yes")
    assert "etl.yml:1: " not in refused.stderr
    assert "etl.yml:4: extract belongs to the owner billing" in refused.stderr
    assert len(api.written) == 1
    shared = ETL.replace("extract}}}", "extract}, tags: [managed-by=billing]}}")
    desk.api.delete("/v1/jobs/load")
    file.write_text(shared)
    assert "extract belongs to" in run("apply", "-f", str(file), "--owner", "reports", "--yes").stderr


def test_apply_accepts_a_workflow_that_names_jobs_created_with_it(run: Run, api: ServedApi, desk: Desk) -> None:
    text = """\
workflow: flow
schedule: '@daily'
jobs: {first: {}, second: {after: [first]}}
---
{id: first, schedule: null, target: {type: sqs, queue: duecourse-target-mail}}
---
{id: second, schedule: null, target: {type: sqs, queue: duecourse-target-mail}, payload: "{{upstream.first.state}}"}
"""
    applied = run("apply", "-f", "-", "--yes", text=text)
    assert applied.exit_code == 0, applied.output
    assert api.written[-1] == "PUT /v1/workflows/flow"
    assert desk.api.get("/v1/jobs/second").json["workflow"] == "flow"
    assert run("apply", "-f", "-", "--dry-run", text=text).exit_code == 0

    renamed = text.replace("second", "third")
    changed = run("apply", "-f", "-", "--yes", text=renamed)
    assert changed.exit_code == 0, changed.output
    assert "~ workflow flow\n    jobs.third: null -> " in changed.stdout
    assert "    jobs.second: " in changed.stdout


def test_apply_prunes_nothing_for_empty_input(run: Run, api: ServedApi, folder: Path) -> None:
    assert run("apply", "-f", str(folder), "--owner", "billing", "--yes").exit_code == 0
    before = list(api.written)

    refused = run("apply", "-f", "-", "--owner", "billing", "--prune", "--yes", text="# the generator failed\n")

    assert refused.exit_code == 1
    assert "would remove all jobs of the owner" in refused.stderr
    assert api.written == before

    (folder / "empty").mkdir()
    empty = ("apply", "-f", str(folder / "empty"), "--owner", "billing", "--prune", "--yes")
    assert "contains no file" in run(*empty).stderr
    wanted = run(*empty, "--allow-empty")
    assert (wanted.exit_code, "0 to change, 6 to remove" in wanted.stdout) == (0, True), wanted.output


def test_apply_reads_json_that_is_not_valid_yaml(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_text('{"id": "odd", "schedule": null, "payload": "\x7f\\ud83d\\ude00", "target": {}}')
    refused = run("apply", "-f", str(file), "--dry-run")
    assert refused.exit_code == 1
    assert "odd.json:1: target/type: " in refused.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "bad.yaml",
            "id: a\nschedule: '@daily'\ntarget:\n  type: http\n  urll: x\n",
            "bad.yaml:5: target/urll: is not a known field",
        ),
        ("bad.yaml", "id: a\nid: b\n", "bad.yaml:2: id occurs twice"),
        ("bad.yaml", "\n---\nid: nightly\nschedule: '@daily'\n", "nightly is also in"),
        ("bad.yaml", "schedule: '@daily'\n", "bad.yaml:1: id must be the id of the job"),
        ("bad.yaml", "id: [a\n", "bad.yaml:2: "),
        ("bad.yaml", "- a\n", "bad.yaml:1: is not a job"),
        ("bad.yaml", "id: a\njobs: {}\n", "must be in the field workflow"),
        ("bad.yaml", "id: !!binary aa\n", "bad.yaml:1: binary is not supported"),
        ("bad.json", '{"id": "a",\n"id": "b"}', 'contains the name "id" twice'),
        ("bad.json", '[{"id": "a"},\n\t{"id": "b", "schedule": "@dayly",\n"task": "x"}]', "bad.json:2: schedule: "),
        ("bad.yaml", "id: a\nschedule: 12:30\nstate: PAUSED\ntask: none\n", "bad.yaml:3: state: is read-only"),
    ],
)
def test_apply_reports_an_invalid_document_with_file_and_line_and_writes_nothing(
    run: Run, api: ServedApi, folder: Path, name: str, text: str, said: str
) -> None:
    (folder / name).write_text(text)

    refused = run("apply", "-f", str(folder), "--yes")

    assert refused.exit_code == 1
    assert said in refused.stderr
    assert "nothing was changed" in refused.stderr
    assert api.written == []


def test_apply_does_not_overwrite_changes_made_since_the_plan(
    run: Run, desk: Desk, api: ServedApi, folder: Path
) -> None:
    run("apply", "-f", str(folder), "--yes")
    (folder / "nightly.yaml").write_text(NIGHTLY.replace("0 2", "30 2"))

    def edited_meanwhile(method: str, path: str, query: str) -> None:
        if (method, path, query) == ("PUT", "/v1/jobs/nightly", ""):
            desk.patch("nightly", {"name": "Mine"})

    api.before_each(edited_meanwhile)

    failed = run("apply", "-f", str(folder), "--yes")

    assert failed.exit_code == 1
    assert "another caller changed nightly at the same time; run the command again" in failed.stderr
    assert "1 of 1 failed" in failed.stderr
    assert desk.api.get("/v1/jobs/nightly").json["schedule"] == "0 2 * * *"


def test_apply_prints_the_plan_as_json(run: Run, folder: Path) -> None:
    planned = run("apply", "-f", str(folder / "nightly.yaml"), "--dry-run", "--json")

    assert planned.exit_code == 2
    assert json.loads(planned.stdout)["items"] == [
        {"action": "create", "kind": "job", "id": "nightly", "differences": []}
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-f", "nowhere"), "nowhere: No such file"),
        ((), "-f"),
        (("-f", "x", "--wrong"), "--wrong"),
        (("-f", "x", "--prune"), "--owner"),
    ],
)
def test_apply_exits_with_an_error_for_invalid_arguments(run: Run, arguments: tuple[str, ...], said: str) -> None:
    refused = run("apply", "--dry-run", *arguments)

    assert refused.exit_code == 1
    assert said in refused.stderr


def test_apply_accepts_the_documents_of_the_documentation(run: Run, api: ServedApi) -> None:
    page = (ROOT / "docs" / "jobs-as-files.md").read_text()
    text = "---\n".join(re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    assert run("apply", "-f", "-", "--yes", text=text).exit_code == 0
    assert sorted(api.written) == ["PUT /v1/jobs/daily-report", "PUT /v1/jobs/nightly", "PUT /v1/workflows/etl"]


def test_apply_reads_documents_from_standard_input(run: Run, api: ServedApi) -> None:
    assert run("apply", "-f", "-", "--yes", text=NIGHTLY).exit_code == 0
    assert api.written == ["PUT /v1/jobs/nightly"]


REPORT = "id: daily-report\nmoved_from: {moved}\nschedule: {at}\ntarget: {{type: sqs, queue: duecourse-target-mail}}\n"


def test_apply_moves_a_job_with_its_changes_and_then_finds_no_changes(run: Run, desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    desk.api.post({"id": "nightly-report", "schedule": "0 2 * * *", "target": {"type": "sqs", "queue": "x"}})
    file.write_text("id: nightly-report\nschedule: 0 2 * * *\ntarget: {type: sqs, queue: duecourse-target-mail}\n")
    owned = ("apply", "-f", str(file), "--owner", "reports", "--prune")
    assert run(*owned, "--yes").exit_code == 0
    file.write_text(REPORT.format(moved="[older, nightly-report]", at="30 2 * * *"))

    planned = run(*owned, "--dry-run")
    assert planned.exit_code == 2, planned.output
    assert "~ job daily-report (moved from nightly-report)\n    schedule: 0 2 * * * -> 30 2 * * *\n" in planned.stdout
    assert "its runs and history stay under nightly-report; runs that wait" in planned.stdout
    assert "overlap with its active runs is not prevented" in planned.stdout
    assert "plan: 0 to create, 1 to change, 0 to remove" in planned.stdout
    (item,) = json.loads(run(*owned, "--dry-run", "--json").stdout)["items"]
    assert (item["action"], item["id"], item["moved_from"]) == ("change", "daily-report", "nightly-report")

    applied = run(*owned, "--yes")
    assert applied.exit_code == 0, applied.output
    assert "job daily-report moved\n" in applied.stdout
    found = desk.api.get("/v1/jobs/daily-report").json
    assert (found["schedule"], found["state"], found["tags"]) == ("30 2 * * *", "ACTIVE", ["managed-by=reports"])
    assert desk.api.get("/v1/jobs/nightly-report").status == 404
    actions = [each["action"] for each in desk.api.get("/v1/jobs/nightly-report/history").json["items"]]
    assert "deleted" in actions
    again = run(*owned, "--dry-run")
    assert again.exit_code == 0, again.output
    assert "1 unchanged" in again.stdout


def test_apply_shows_that_a_new_job_has_an_earlier_id_that_does_not_exist(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(REPORT.format(moved="[older, nightly-report]", at="0 2 * * *"))
    planned = run("apply", "-f", str(file), "--dry-run")
    assert planned.exit_code == 2, planned.output
    assert "+ job daily-report (older, nightly-report not found): 0 2 * * * (UTC), sqs\n" in planned.stdout
    (item,) = json.loads(run("apply", "-f", str(file), "--dry-run", "--json").stdout)["items"]
    assert (item["action"], item["not_found"]) == ("create", ["older", "nightly-report"])
    assert run("apply", "-f", str(file), "--yes").exit_code == 0
    assert "not found" not in run("apply", "-f", str(file), "--dry-run").stdout


def test_apply_shows_a_move_that_the_api_rejects_before_the_first_write(
    run: Run, desk: Desk, api: ServedApi, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.yaml"
    desk.api.post({"id": "one", "schedule": "0 2 * * *", "target": HTTP_TARGET})
    file.write_text(
        f"---\n{ASKED}---\nid: two\nmoved_from: one\nschedule: 0 2 30 2 *\ntarget: {json.dumps(HTTP_TARGET)}\n"
    )
    refused = run("apply", "-f", str(file), "--yes")
    assert refused.exit_code == 1
    assert "jobs.yaml:8: schedule: " in refused.stderr
    assert api.written == []


def test_apply_reports_contradictory_moves_with_their_lines(run: Run, api: ServedApi, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    body = f"schedule: 0 2 * * *\ntarget: {json.dumps(HTTP_TARGET)}\n"
    documents = [f"id: a\nmoved_from: b\n{body}", f"id: b\nmoved_from: a\n{body}", f"id: c\nmoved_from: d\n{body}"]
    documents += [f"id: e\nmoved_from: [d]\n{body}"]
    file.write_text("---\n".join(documents))
    refused = run("apply", "-f", str(file), "--yes")
    assert refused.exit_code == 1
    swap = f"{file}:2: b is also in {file}:6; choose another id for one of the jobs"
    assert swap in re.sub(r"\s+", " ", refused.stderr)
    assert "d is also in moved_from in" in re.sub(r"\s+", " ", refused.stderr)
    file.write_text(f"id: a\nmoved_from: {{b: c}}\n{body}")
    refused = run("apply", "-f", str(file), "--yes")
    assert "moved_from must be the earlier id of the job, or a list of them" in refused.stderr
    assert api.written == []


INNER = (
    "workflow: inner\nschedule: SCHEDULE\njobs: {copy: {job: {target: {type: http, url: https://example.com/copy}}}}\n"
)
OUTER = "workflow: outer\nschedule: 0 3 * * *\njobs: {first: {}STEPS}\n"


def nested(schedule: str, steps: str) -> str:
    return "---\n".join([OUTER.replace("STEPS", steps), INNER.replace("SCHEDULE", schedule)]) + plain_jobs("first")


def test_apply_nests_a_workflow_that_had_its_own_schedule(run: Run, api: ServedApi, desk: Desk) -> None:
    alone, within = nested("'@daily'", ""), nested("null", ", inner: {after: [first]}")
    assert run("apply", "-f", "-", "--yes", text=alone).exit_code == 0
    planned = run("apply", "-f", "-", "--dry-run", text=within)
    assert planned.exit_code == 2, planned.output
    assert "schedule: @daily -> null\n" in planned.stdout
    applied = run("apply", "-f", "-", "--yes", text=within)
    assert applied.exit_code == 0, applied.output
    assert workflows_of(desk, "inner") == {"inner": "outer"}
    assert run("apply", "-f", "-", "--dry-run", text=within).exit_code == 0

    refused = run("apply", "-f", "-", "--dry-run", text=nested("'@daily'", ", inner: {after: [first]}"))
    assert refused.exit_code == 1
    assert "inner has its own schedule in" in refused.stderr

    for text in (nested("null", ""), alone):  # a workflow is released before it gets a schedule
        back = run("apply", "-f", "-", "--yes", text=text)
        assert back.exit_code == 0, back.output
    assert workflows_of(desk, "inner") == {"inner": None}


def test_apply_shows_a_new_shared_job_as_the_files_say(run: Run, desk: Desk) -> None:
    plain = OUTER.replace("STEPS", "") + plain_jobs("first")
    assert run("apply", "-f", "-", "--yes", text=plain).exit_code == 0
    shared = OUTER.replace("STEPS", ", common: {shared: true}") + plain_jobs("first", "common")
    planned = run("apply", "-f", "-", "--dry-run", text=shared)
    assert planned.exit_code == 2, planned.output
    assert "shared: false" not in planned.stdout
    assert re.search(r"shared\W+true", planned.stdout), planned.stdout
    applied = run("apply", "-f", "-", "--yes", text=shared)
    assert applied.exit_code == 0, applied.output
    assert workflows_of(desk, "common") == {"common": None}
    assert run("apply", "-f", "-", "--dry-run", text=shared).exit_code == 0
