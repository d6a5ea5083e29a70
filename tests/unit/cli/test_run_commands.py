"""duecourse runs: what it asks and prints, and how it waits.

- `duecourse run`, `dead-letters` and `jobs pause|resume`: what they ask and print.
- The watcher tells of each run that is new or has changed, once.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from duecourse.cli.main import COMMANDS, main
from duecourse.cli.run_watcher import RunWatcher
from duecourse.client import ApiError, ApiUnreachableError, Page
from duecourse.client.models import Run
from tests.support.http_target import HttpTargetServer, Seen, documents, http_target
from tests.support.shown import shown_run
from tests.unit.cli.served import OPERATION, served, told
from tests.unit.cli.served import RUN as DEAD_RUN
from tests.unit.cli.served import duecourse as told_at

JOB = {"id": "nightly", "schedule": "0 3 * * *", "state": "PAUSED", "next_occurrence": None, "error": None}
RUN = {**DEAD_RUN, "started_at": "2026-11-21T03:00:00.042Z", "result": None}
DONE = {**RUN, "state": "SUCCEEDED", "reason": None, "error": None, "code": None, "result": {"rows": 3}}
LARGE = {**DONE, "result": None, "result_url": "https://s3/x", "result_url_seconds": 300, "result_bytes": 4096}
PLACE = "s3://acme-reports/daily/located/1.json"
LOCATED = {**DONE, "result": None, "result_bytes": 4096, "result_location": PLACE}
DISCARDED = {**RUN, "discarded": {"at": "2026-11-21T09:00:00.000Z", "by": "ann", "note": "sent again"}}
DELAYED = {**RUN, "state": "QUEUED", "reason": None, "finished_at": None}
REFUSED = {**DONE, "result_error": "AccessDenied"}
WAITING = {**RUN, "state": "WAITING", "reason": None, "finished_at": None, "cancel_requested": True}
WAITING["waiting_until"] = "2026-11-22T03:00:00Z"


DEAD = {"items": [RUN, RUN], "next_cursor": "more"}
DIED_BEFORE = {"items": [{**RUN, "finished_at": "2026-11-20T03:01:00.000Z"}], "next_cursor": None}


ENDED = {**OPERATION, "state": "SUCCEEDED", "done": 3, "refused": 1, "skipped": {"job_deleted": 1}}
REFUSED_RUNS = "2 could not be {} (1 job deleted, 1 refused)"

ASKED: list[tuple[str, str, Any]] = []
"""Method, path and body of each request."""


def answer(asked: Seen) -> tuple[int, object]:
    """Like the API; dead runs come in two pages, those that died last first."""
    ASKED.append((asked.method, asked.path, asked.json))
    last = isinstance(asked.json, dict) and asked.json.get("cursor") == "page-2"
    none = isinstance(asked.json, dict) and "none" in (asked.json.get("tag"), asked.json.get("error"))
    last = last or none
    many = {"changed": 0 if none else 100 - 99 * last, "failed": [], "next_cursor": None if last else "page-2"}
    answers: dict[tuple[str, str], object] = {
        ("GET", "/v1/runs/dead.1"): RUN,
        ("GET", "/v1/runs/done.1"): DONE,
        ("GET", "/v1/runs/large.1"): LARGE,
        ("GET", "/v1/runs/located.1"): LOCATED,
        ("GET", "/v1/runs/refused.1"): REFUSED,
        ("GET", "/v1/runs/waiting.1"): WAITING,
        ("GET", "/v1/runs/ended.1"): {**DONE, "cancel_requested": True},
        ("GET", "/v1/dead-letters"): DIED_BEFORE if asked.query.get("cursor") == "more" else DEAD,
        **{
            ("GET", f"/v1/jobs/{job}"): JOB
            for job in ("dead", "discarded", "done", "large", "located", "refused", "waiting", "ended", "nightly")
        },
        ("POST", "/v1/runs/waiting/cancel"): {"run": WAITING, "accepted": "cancel"},
        ("POST", "/v1/operations/estimate"): {
            "runs": 0 if none or (asked.json or {}).get("state") == ["RUNNING"] else 4,
            "skipped": {},
            "more": False,
        },
        ("POST", "/v1/operations"): {**ENDED, **({"done": 0, "refused": 0, "skipped": {}} if none else {})},
        ("POST", "/v1/runs/dead.1/redrive"): {"run": RUN, "accepted": "redrive"},
        ("POST", "/v1/runs/dead.1/discard"): DISCARDED,
        ("PATCH", "/v1/runs/delayed.1"): DELAYED,
        ("POST", "/v1/runs/waiting.1/mark-succeeded"): {"run": WAITING, "accepted": "complete"},
        ("GET", "/v1/runs/discarded.1"): DISCARDED,
        ("GET", "/v1/jobs"): {"items": [] if asked.query.get("tag") == "none" else [JOB, JOB], "next_cursor": None},
        ("GET", "/v1/runs"): {"items": [], "next_cursor": None},
        ("POST", "/v1/jobs/nightly/pause"): JOB,
        ("POST", "/v1/jobs/nightly/resume"): JOB,
        ("POST", "/v1/jobs/pause"): many,
        ("POST", "/v1/jobs/resume"): many,
    }
    found = (asked.method, asked.route)
    return (200, answers[found]) if found in answers else (409, {"title": "The run is SUCCEEDED"})


@pytest.fixture(scope="module")
def server() -> Iterator[HttpTargetServer]:
    with http_target(documents(answer)) as server:
        yield server


@pytest.fixture
def asked() -> list[tuple[str, str, Any]]:
    ASKED.clear()
    return ASKED


def duecourse(server: HttpTargetServer, *arguments: str, text: str | None = None) -> Result:
    return CliRunner(env={"DUECOURSE_API": server.url(""), "TZ": "UTC"}).invoke(main, arguments, input=text)


def test_run_commands_show_a_run_with_one_field_per_line(server):
    lines = duecourse(server, "runs", "show", "dead.1").stdout.splitlines()
    assert "state         DEAD (attempts_exhausted)" in lines
    assert "attempts      3/3" in lines
    assert "code          http.503" in lines
    assert "error         GET https://example.com answered 503 [busy]" in lines
    assert not [line for line in lines if line.startswith(("result", "complete by"))]


def test_run_commands_show_the_last_due_run_of_a_job():
    future = {**RUN, "id": "nightly.21000101T030000Z", "state": "QUEUED", "due": "2100-01-01T03:00:00Z"}

    def answer(path, _query):
        lists = {"/v1/jobs/nightly/runs": [future, RUN], "/v1/jobs/new/runs": [future]}
        if path in lists:
            return {"items": lists[path], "next_cursor": None}
        return RUN if path == f"/v1/runs/{RUN['id']}" else JOB

    with served(answer) as api:
        env = {"DUECOURSE_API": api}
        shown = CliRunner(env=env).invoke(main, ["runs", "show", "nightly"]).stdout
        none = CliRunner(env=env).invoke(main, ["runs", "show", "new"])
    assert f"run           {RUN['id']}" in shown
    assert none.exit_code == 1
    assert "no run of new is due yet; see its next occurrences with duecourse jobs get new" in none.stderr


def test_run_commands_name_the_workflow_of_a_step_and_the_steps_of_a_workflow():
    step = told(RUN | {"workflow": "reports"}, "runs", "show", RUN["id"]).stdout
    whole = told(RUN | {"workflow": "nightly"}, "runs", "show", RUN["id"]).stdout
    assert "workflow      reports\n" in step
    assert whole.endswith(f"its steps: duecourse workflows show {RUN['id']}\n")
    assert "its steps" not in step


def test_run_commands_show_a_small_result_unchanged(server):
    assert 'result        {"rows": 3}' in duecourse(server, "runs", "show", "done.1").stdout.splitlines()


def test_run_commands_show_a_large_result_by_its_address(server):
    assert "result        4096 bytes, for 300 s at https://s3/x" in duecourse(server, "runs", "show", "large.1").stdout


def test_run_commands_show_where_a_result_is_stored_or_why_it_is_not(server):
    located = duecourse(server, "runs", "show", "located.1").stdout.splitlines()
    assert f"stored at     {PLACE} (4096 bytes)" in located
    assert not [line for line in located if line.startswith("result")]
    refused = duecourse(server, "runs", "show", "refused.1").stdout.splitlines()
    assert "not stored    AccessDenied" in refused
    assert 'result        {"rows": 3}' in refused


def test_run_commands_show_the_requested_cancellation_and_deadline_of_a_waiting_run(server):
    lines = duecourse(server, "runs", "show", "waiting.1").stdout.splitlines()
    assert "state         WAITING (end requested)" in lines
    assert [line for line in lines if line.startswith("complete by   2026-11-22 03:00:00Z (")]


def test_run_commands_show_the_progress_of_a_run_until_it_has_succeeded():
    report = {"progress": 0.96, "note": "23 of 24 batches"}
    assert "progress      96%, 23 of 24 batches\n" in told(WAITING | report, "runs", "show", "x.1").stdout
    assert "progress      96%, 23 of 24 batches\n" in told(RUN | report, "runs", "show", "x.1").stdout
    assert "progress" not in told(DONE | report, "runs", "show", "x.1").stdout


def test_run_commands_show_the_progress_of_a_run_while_waiting():
    waiting = WAITING | {"progress": 0.4, "note": None}
    result = told(waiting, "jobs", "run", "nightly", "--wait", "--timeout", "0")
    assert "Z  WAITING 3/3  40%\n" in result.stdout


def test_run_commands_separate_names_and_values_of_statistics():
    shown = told({"limits": {"smallest_interval_seconds": 1}, "jobs": {"count": 3}}, "stats").stdout
    assert shown == "limits.smallest_interval_seconds  1\njobs.count                        3\n"


def test_run_commands_do_not_show_an_ended_run_as_ending_after_a_requested_cancellation(server):
    assert "state         SUCCEEDED" in duecourse(server, "runs", "show", "ended.1").stdout.splitlines()


def test_run_commands_show_the_payload_of_a_run_shortened_and_with_json_in_full():
    sent = {"payload": {"rows": "x" * 400}, "idempotency_key": None, "own": True, "changed": False, "problem": None}
    answers = {"/v1/jobs/nightly": JOB, "/v1/runs/nightly.now": DONE, "/v1/runs/nightly.now/payload": sent}
    with served(lambda path, _query: answers[path]) as api:
        shown = told_at(api, "runs", "show", "nightly.now").stdout.splitlines()
        whole = json.loads(told_at(api, "runs", "show", "nightly.now", "--json").stdout)
    (line,) = [line for line in shown if line.startswith("payload ")]
    assert line.startswith('payload       {"rows": "xxx')
    assert line.endswith("… (--json shows all)")
    assert whole == {**DONE, "payload": sent["payload"]}


def test_run_commands_print_a_run_as_json_unchanged(server):
    assert json.loads(duecourse(server, "runs", "show", "large.1", "--json").stdout) == LARGE


def test_run_commands_show_a_cancelled_run(server):
    assert (
        duecourse(server, "runs", "cancel", "waiting").stdout
        == f"{RUN['id']} was WAITING; its cancellation was requested\n"
    )


def test_run_commands_cancel_several_runs(server, asked):
    result = duecourse(server, "runs", "cancel", "waiting", "waiting", "other")
    assert result.stdout == f"{RUN['id']} was WAITING; its cancellation was requested\n"
    assert (result.exit_code, "SUCCEEDED" in result.stderr) == (1, True)
    assert [path for _, path, _ in asked] == ["/v1/runs/waiting/cancel", "/v1/runs/other/cancel"]


def test_run_commands_redrive_the_run_of_a_job_that_died_last_behind_an_empty_page():
    pages = {None: {"items": [], "next_cursor": "2"}, "2": {"items": [RUN], "next_cursor": None}}

    def answer(path, query):
        redriven = {"run": RUN, "accepted": "redrive"}
        return pages[query.get("cursor")] if path == "/v1/dead-letters" else redriven

    with served(answer) as api:
        done = told_at(api, "runs", "redrive", "nightly")
    assert (done.stdout, done.stderr) == (f"{RUN['id']} was DEAD; its redrive was requested\n", "")


def test_run_commands_redrive_the_run_of_a_job_that_died_last():
    redriven = {"run": RUN, "accepted": "redrive"}

    def answer(path, query):
        if path == "/v1/dead-letters":
            return {"items": [] if query["job_id"] == "new" else [RUN, RUN], "next_cursor": None}
        return redriven if path == f"/v1/runs/{RUN['id']}/redrive" else None

    with served(answer) as api:
        done = told_at(api, "runs", "redrive", "nightly")
        none = told_at(api, "runs", "redrive", "new")
    assert done.stdout == f"{RUN['id']} was DEAD; its redrive was requested\n"
    assert done.stderr == "more runs of nightly are dead: duecourse dead-letters redrive --job nightly\n"
    assert (none.exit_code, none.stderr) == (1, "duecourse: no run of new is dead; see duecourse runs list new\n")


@pytest.mark.parametrize(
    ("options", "question"),
    [
        (("--state", "RETRYING"), "Cancel 4 RETRYING runs of ALL jobs?"),
        (("--job", "nightly"), "Cancel 4 QUEUED, 4 RETRYING, 4 WAITING runs of nightly?"),
        (("--tag", "billing", "--state", "WAITING"), "Cancel 4 WAITING runs of ALL jobs tagged billing?"),
        (("--error", "timed out", "--state", "QUEUED"), "Cancel 4 QUEUED runs of ALL jobs with the error timed out?"),
    ],
)
def test_run_commands_show_the_number_of_runs_and_confirm_before_cancelling(server, asked, options, question):
    result = duecourse(server, "runs", "cancel", *options, text="n\n")
    assert (result.exit_code, question in result.stderr) == (1, True), result.stderr
    assert {path for _, path, _ in asked} == {"/v1/operations/estimate"}


def test_run_commands_cancel_many_runs_in_an_operation(server, asked):
    result = duecourse(server, "runs", "cancel", "--job", "nightly", "--state", "WAITING", "--state", "QUEUED", "--yes")
    assert (
        result.stdout
        == "the cancellation of 3 runs was requested, " + REFUSED_RUNS.format("cancelled") + "; repeat the command\n"
    )
    body = {"kind": "cancel", "state": ["QUEUED", "WAITING"], "job_id": "nightly"}
    assert asked == [("POST", "/v1/operations", body)]
    result = duecourse(server, "runs", "cancel", "--job", "nightly", "--json", "--yes")
    assert json.loads(result.stdout) == {
        "operation": "op-1",
        "cancelled": 3,
        "refused": 2,
        "skipped": {"job_deleted": 1},
    }


def test_run_commands_count_the_runs_to_cancel_in_a_dry_run(server, asked):
    counted = duecourse(server, "runs", "cancel", "--job", "nightly", "--dry-run").stdout
    assert counted == "4 QUEUED, 4 RETRYING, 4 WAITING runs would be cancelled\n"
    as_json = duecourse(server, "runs", "cancel", "--job", "nightly", "--state", "QUEUED", "--dry-run", "--json").stdout
    assert json.loads(as_json) == {"would_cancel": {"QUEUED": 4}, "more": False, "skipped": {}}
    assert {path for _, path, _ in asked} == {"/v1/operations/estimate"}


def test_run_commands_cancel_nothing_if_no_runs_match(server, asked):
    result = duecourse(server, "runs", "cancel", "--tag", "none")
    assert result.exit_code == 1
    assert "no job has the tag none, so nothing was changed" in result.stderr
    assert "/v1/operations" not in {path for _, path, _ in asked}

    none = duecourse(server, "runs", "cancel", "--error", "none").stdout
    assert none == f"No listed runs match. {OMITTED}\n"


OMITTED = (
    "Not listed across jobs: enqueued occurrences, calls of less than ten seconds. "
    "To list them for a job, name the JOB."
)


@pytest.mark.parametrize(
    ("options", "said", "noted"),
    [
        (("--active",), "No listed runs match.\n", f"{OMITTED}\n"),
        (
            ("--state", "QUEUED"),
            "No listed runs match.\n",
            OMITTED.replace(", calls of less than ten seconds", "") + "\n",
        ),
        (("--state", "WAITING"), "No runs match.\n", ""),
        (("nightly", "--state", "QUEUED", "--state", "RUNNING"), "No runs match.\n", ""),
    ],
)
def test_run_commands_list_names_the_runs_that_a_list_across_jobs_omits(server, asked, options, said, noted):
    result = duecourse(server, "runs", "list", *options, "--tag", "none")
    assert (result.exit_code, result.stdout, result.stderr) == (0, said, noted)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there is no run to cancel; name a RUN, or select runs with --job, --tag or --state"),
        (("waiting", "--job", "nightly"), "RUN cannot be combined with --job; remove one of them"),
        (("waiting", "--dry-run"), "RUN cannot be combined with --dry-run; remove one of them"),
    ],
)
def test_run_commands_reject_a_cancellation_without_or_with_two_selections(server, asked, arguments, said):
    result = duecourse(server, "runs", "cancel", *arguments)
    assert (result.exit_code, result.stderr) == (2, f"duecourse: {said}\n")
    assert asked == []


def test_run_commands_redrive_a_dead_run(server):
    assert duecourse(server, "runs", "redrive", "dead.1").stdout == f"{RUN['id']} was DEAD; its redrive was requested\n"
    assert json.loads(duecourse(server, "runs", "redrive", "dead.1", "--json").stdout) == RUN


def test_run_commands_discard_a_dead_run_with_a_note(server, asked):
    result = duecourse(server, "runs", "discard", "dead.1", "--note", "sent again")
    assert result.stdout == f"{RUN['id']} is discarded by ann: sent again\n"
    assert asked == [("POST", "/v1/runs/dead.1/discard", {"note": "sent again"})]
    assert json.loads(duecourse(server, "runs", "discard", "dead.1", "--json").stdout) == DISCARDED


def test_run_commands_mark_a_waiting_run_as_succeeded(server, asked):
    result = duecourse(server, "runs", "mark-succeeded", "waiting.1", "--reason", "the report arrived")
    assert result.stdout == f"{WAITING['id']} was WAITING; its success was requested\n"
    assert asked == [("POST", "/v1/runs/waiting.1/mark-succeeded", {"reason": "the report arrived"})]
    assert duecourse(server, "runs", "mark-succeeded", "waiting.1").exit_code == 2


def test_run_commands_reschedule_a_delayed_run(server, asked):
    result = duecourse(server, "runs", "reschedule", "delayed.1", "--in", "2h", "--payload", '{"n": 1}')
    assert re.fullmatch(rf"{re.escape(DELAYED['id'])} is QUEUED, due 2026-11-21 .*\n", result.stdout)
    assert asked == [("PATCH", "/v1/runs/delayed.1", {"delay_seconds": 7200, "payload": {"n": 1}})]
    assert json.loads(duecourse(server, "runs", "reschedule", "delayed.1", "--at", "09:00", "--json").stdout) == DELAYED


@pytest.mark.parametrize(
    "options", [[], ["--in", "2h", "--at", "2026-11-22T10:00:00"], ["--in", "soon"], ["--payload", "null"]]
)
def test_run_commands_reschedule_needs_one_time_or_a_payload(server, asked, options):
    assert duecourse(server, "runs", "reschedule", "delayed.1", *options).exit_code == 2
    assert asked == []


def test_run_commands_show_by_whom_and_why_a_run_was_discarded(server):
    shown = duecourse(server, "runs", "show", "discarded.1").stdout
    assert re.search(r"discarded +2026-11-21 .* by ann: sent again", shown)


def test_run_commands_list_discarded_runs(server, asked):
    duecourse(server, "runs", "list", "--discarded")
    duecourse(server, "runs", "list", "nightly", "--discarded")
    assert [path for _, path, *_ in asked] == [
        "/v1/runs?discarded=true&limit=20",
        "/v1/runs?job=nightly&discarded=true&limit=20",
    ]


def test_run_commands_report_a_rejection_on_one_line(server):
    result = duecourse(server, "runs", "cancel", "done")
    assert (result.exit_code, result.stderr) == (1, "duecourse: 409 The run is SUCCEEDED\n")


def test_run_commands_show_dead_letters_as_a_table_with_the_command_for_the_next_page(server, asked):
    result = duecourse(server, "dead-letters", "list", "--job", "nightly", "--limit", "5")
    assert "nightly.20261121T030000Z  2026-11-21 03:01:00  3/3       http.503" in result.stdout
    assert "more: duecourse dead-letters list --job nightly --limit 5 --cursor more" in result.stdout
    assert asked[0][:2] == ("GET", "/v1/dead-letters?job_id=nightly&limit=5")


def test_run_commands_print_dead_letters_as_json_with_the_cursor(server):
    assert json.loads(duecourse(server, "dead-letters", "list", "--json").stdout)["next_cursor"] == "more"


@pytest.mark.parametrize(
    ("options", "question"),
    [
        ((), "Redrive 4 dead runs of ALL jobs?"),
        (("--job", "nightly"), "Redrive 4 dead runs of nightly?"),
        (("--limit", "2"), "Redrive 2 of 4 dead runs of ALL jobs?"),
        (("--tag", "billing"), "Redrive 4 dead runs of ALL jobs tagged billing?"),
        (("--error", "timed out"), "Redrive 4 dead runs of ALL jobs with the error timed out?"),
        (
            ("--since", "2026-11-21T03:01:00Z", "--until", "2026-11-22T00:00:00Z"),
            "Redrive 4 dead runs of ALL jobs since 2026-11-21T03:01:00Z until 2026-11-22T00:00:00Z?",
        ),
        (("--until", "2026-11-21T04:01:00+01:00"), "Redrive 4 dead runs of ALL jobs until 2026-11-21T04:01:00+01:00?"),
    ],
)
def test_run_commands_show_the_number_of_dead_letters_and_confirm_before_redriving(server, asked, options, question):
    result = duecourse(server, "dead-letters", "redrive", *options, text="n\n")
    assert result.exit_code == 1
    assert question in result.stderr
    assert {path for _, path, _ in asked} == {"/v1/operations/estimate"}


def test_run_commands_show_the_number_of_dead_letters_and_the_required_option_without_a_terminal(server, asked):
    result = duecourse(server, "dead-letters", "redrive", "--job", "nightly")
    assert result.exit_code == 2
    assert "Redrive 4 dead runs of nightly?" in result.stderr
    assert "duecourse: there was no confirmation, so nothing was changed; without a terminal use --yes" in result.stderr
    assert {path for _, path, _ in asked} == {"/v1/operations/estimate"}


def test_run_commands_do_not_count_very_many_dead_letters_completely():
    many = {"runs": 2000, "skipped": {}, "more": True}
    assert "Redrive at least 2000 dead runs of ALL jobs?" in told(many, "dead-letters", "redrive", text="n\n").stderr


def test_run_commands_reject_an_invalid_instant_before_counting_dead_letters(server, asked):
    result = duecourse(server, "dead-letters", "redrive", "--since", "the other day")
    assert result.exit_code == 2
    assert "--since: 'the other day' is not a time; write today" in result.stderr
    assert asked == []


@pytest.mark.parametrize("command", [("dead-letters", "redrive"), ("runs", "redrive", "--state", "dead")])
def test_run_commands_redrive_dead_letters_in_an_operation(server, asked, command):
    result = duecourse(server, *command, "--job", "nightly", "--yes")
    assert result.stdout == "3 redriven, " + REFUSED_RUNS.format("redriven") + "\n"
    assert asked == [("POST", "/v1/operations", {"kind": "redrive", "job_id": "nightly"})]


def test_run_commands_discard_dead_letters_in_an_operation_with_a_note(server, asked):
    result = duecourse(server, "dead-letters", "discard", "--job", "nightly", "--note", "an outage", "--yes")
    assert result.stdout == "3 discarded, " + REFUSED_RUNS.format("discarded") + "\n"
    assert asked == [("POST", "/v1/operations", {"kind": "discard", "job_id": "nightly", "note": "an outage"})]


def test_run_commands_discard_dead_letters_counts_and_confirms_first(server, asked):
    counted = duecourse(server, "dead-letters", "discard", "--dry-run")
    assert counted.stdout == "4 dead runs would be discarded\n"
    assert json.loads(duecourse(server, "dead-letters", "discard", "--dry-run", "--json").stdout) == {
        "would_discard": 4,
        "more": False,
        "skipped": {},
    }
    refused = duecourse(server, "dead-letters", "discard", text="n\n")
    assert "Discard 4 dead runs of ALL jobs?" in refused.stderr
    assert {path for _, path, *_ in asked} == {"/v1/operations/estimate"}
    done = duecourse(server, "dead-letters", "discard", "--json", text="y\n")
    counts = {"discarded": 3, "refused": 2, "skipped": {"job_deleted": 1}, "more": False}
    assert json.loads(done.stdout) == {"operation": "op-1", **counts}


def test_run_commands_redrive_dead_letters_only_up_to_the_limit_and_name_the_rest(server, asked):
    result = duecourse(server, "dead-letters", "redrive", "--limit", "2", "--pace", "5/s", "--yes")
    assert result.stdout == f"3 redriven, {REFUSED_RUNS.format('redriven')}; no more dead runs are left\n"
    assert asked[-1] == ("POST", "/v1/operations", {"kind": "redrive", "limit": 2, "expected": 2, "per_minute": 300})


def test_run_commands_print_only_json_on_standard_output_when_redriving_with_json(server):
    result = duecourse(server, "dead-letters", "redrive", "--json", text="y\n")
    counts = {"redriven": 3, "refused": 2, "skipped": {"job_deleted": 1}, "more": False}
    assert json.loads(result.stdout) == {"operation": "op-1", **counts}


SOME: Mapping[str, Any] = {"runs": 0, "skipped": {}, "more": True}
SKIPPED: Mapping[str, Any] = {"runs": 0, "skipped": {"job_deleted": 3}, "more": False}


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        (("dead-letters", "redrive"), "Redrive at least 0 dead runs of ALL jobs with the error disk?"),
        (("dead-letters", "discard"), "Discard at least 0 dead runs of ALL jobs with the error disk?"),
        (("runs", "cancel", "--state", "WAITING"), "Cancel at least 0 WAITING runs of ALL jobs with the error disk?"),
    ],
)
def test_run_commands_continue_if_not_all_runs_were_counted(command, asks):
    ended = {**ENDED, "done": 50}
    with served(lambda path, _query: SOME if path == "/v1/operations/estimate" else ended) as api:
        refused = told_at(api, *command, "--error", "disk", text="n\n")
        done = told_at(api, *command, "--error", "disk", text="y\n")
    assert (asks in refused.stderr, refused.exit_code) == (True, 1)
    assert ("50 " in done.stdout, done.exit_code) == (True, 0)


@pytest.mark.parametrize(
    ("command", "estimate", "said", "shown"),
    [
        (
            ("runs", "cancel", "--state", "WAITING"),
            SOME,
            "at least 0 WAITING runs would be cancelled\n",
            {"would_cancel": {"WAITING": 0}, "more": True, "skipped": {}},
        ),
        (
            ("runs", "cancel", "--state", "WAITING", "--state", "RETRYING"),
            SKIPPED,
            "no runs would be cancelled, 6 could not be cancelled (6 job deleted)\n",
            {"would_cancel": {"WAITING": 0, "RETRYING": 0}, "more": False, "skipped": {"job_deleted": 6}},
        ),
        (
            ("dead-letters", "redrive"),
            {**SKIPPED, "runs": 2, "more": True},
            "at least 2 dead runs would be redriven, 3 could not be redriven (3 job deleted)\n",
            {"would_redrive": 2, "more": True, "skipped": {"job_deleted": 3}},
        ),
        (
            ("dead-letters", "discard"),
            SKIPPED,
            "no dead runs would be discarded, 3 could not be discarded (3 job deleted)\n",
            {"would_discard": 0, "more": False, "skipped": {"job_deleted": 3}},
        ),
    ],
)
def test_run_commands_show_what_an_estimate_did_not_count(command, estimate, said, shown):
    counted = told(estimate, *command, "--job", "nightly", "--dry-run")
    assert (counted.exit_code, counted.stdout) == (0, said)
    assert json.loads(told(estimate, *command, "--job", "nightly", "--dry-run", "--json").stdout) == shown


def test_run_commands_name_the_reasons_if_no_run_can_be_handled():
    asked = ("--job", "nightly")
    assert told(SKIPPED, "dead-letters", "redrive", *asked).stdout == (
        "0 redriven, 3 could not be redriven (3 job deleted)\n"
    )
    assert json.loads(told(SKIPPED, "dead-letters", "redrive", *asked, "--json").stdout) == {
        "operation": None,
        "redriven": 0,
        "refused": 3,
        "skipped": {"job_deleted": 3},
        "more": False,
    }
    cancel = ("runs", "cancel", *asked, "--state", "WAITING")
    assert told(SKIPPED, *cancel).stdout == "no runs would be cancelled, 3 could not be cancelled (3 job deleted)\n"
    none = told({**SKIPPED, "skipped": {}}, *cancel, "--json")
    assert json.loads(none.stdout) == {"would_cancel": {"WAITING": 0}, "more": False, "skipped": {}}


@pytest.mark.parametrize(
    ("estimate", "ended", "said", "more"),
    [
        ({"runs": 9, "more": False}, {"done": 2}, "6 more dead runs are left", True),
        ({"runs": 9, "more": True}, {"done": 2}, "at least 6 more dead runs are left", True),
        ({"runs": 0, "more": True}, {"done": 2}, "there may be more dead runs", True),
        ({"runs": 0, "more": True}, {"done": 1}, "no more dead runs are left", False),
        ({"runs": 9, "more": True}, {"done": 1, "state": "CANCELLED"}, "at least 7 more dead runs are left", True),
    ],
)
def test_run_commands_redrive_with_a_limit_says_whether_more_may_be_left(estimate, ended, said, more):
    found, operation = {"skipped": {}, **estimate}, {**ENDED, "skipped": {}, **ended}
    with served(lambda path, _query: found if path == "/v1/operations/estimate" else operation) as api:
        result = told_at(api, "dead-letters", "redrive", "--limit", "3", "--yes")
        shown = told_at(api, "dead-letters", "redrive", "--limit", "3", "--yes", "--json")
    assert result.stdout.endswith(f"; {said}\n")
    assert json.loads(shown.stdout)["more"] is more


def test_run_commands_of_a_tag_search_all_pages_for_a_job_with_it():
    pages = {None: {"items": [], "next_cursor": "2"}, "2": {"items": [JOB], "next_cursor": None}}
    answers = {"/v1/operations/estimate": {**SKIPPED, "skipped": {}}}
    with served(lambda path, query: answers.get(path, pages.get(query.get("cursor")))) as api:
        result = told_at(api, "dead-letters", "redrive", "--tag", "billing")
    assert (result.exit_code, result.stdout) == (0, "0 redriven\n")


def test_run_commands_say_that_others_may_stay_paused_if_jobs_cannot_be_listed():
    def answer(asked: Seen) -> tuple[int, object]:
        if asked.method == "GET":
            return 403, {"type": "insufficient-scope", "title": "Forbidden", "detail": "no"}
        return 200, {"changed": 2, "failed": [], "next_cursor": None}

    with http_target(documents(answer)) as server:
        result = duecourse(server, "jobs", "resume", "--all", "--yes")
    assert result.stdout == ("2 jobs are resumed; others may stay paused: duecourse jobs list --state PAUSED\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there is no run to redrive; name a RUN, or select dead runs with --job, --tag or --state"),
        (("dead.1", "--job", "nightly"), "RUN cannot be combined with --job; remove one of them"),
        (("--state", "dead", "--pace", "fast"), "--pace: 'fast' is not a rate; write one such as 5/s or 30/m, with a "),
    ],
)
def test_run_commands_reject_a_redrive_without_or_with_two_selections(server, asked, arguments, said):
    result = duecourse(server, "runs", "redrive", *arguments)
    assert (result.exit_code, asked) == (2, [])
    assert result.stderr.startswith(f"duecourse: {said}")


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ({**ENDED, "state": "FAILED", "reason": "the tenant is suspended"}, "FAILED after 3 runs: the tenant is"),
        ({**ENDED, "state": "CANCELLED"}, "CANCELLED after 3 runs"),
    ],
)
def test_run_commands_fail_if_their_operation_does_not_succeed(operation, said):
    result = told(operation, "dead-letters", "redrive", "--yes")
    assert (result.exit_code, result.stdout) == (1, "3 redriven, " + REFUSED_RUNS.format("redriven") + "\n")
    assert f"duecourse: the operation op-1 is {said}" in result.stderr


def test_operations_commands_follow_an_operation_until_it_ends():
    answers = [OPERATION, OPERATION, {**OPERATION, "done": 2}, ENDED]

    def answer(_path, _query):
        return answers.pop(0) if len(answers) > 1 else answers[0]

    with served(answer) as api:
        result = told_at(api, "operations", "watch", "op-1")
    assert result.stdout == "op-1 is SUCCEEDED: 3 done, 1 job deleted, 1 refused\n"


def test_operations_commands_list_show_and_cancel():
    listed = told({"items": [ENDED, OPERATION]}, "operations", "list").stdout
    assert "op-1       redrive  SUCCEEDED  3     2026-11-21 09:15:00  DEAD of all jobs tagged billing" in listed
    assert told({"items": []}, "operations", "list").stdout == "No operations were created in the last two days.\n"
    shown = told(OPERATION, "operations", "show", "op-1").stdout
    assert "filter.tag    billing" in shown
    assert json.loads(told(OPERATION, "operations", "show", "op-1", "-o", "json").stdout) == OPERATION
    cancelled = told({**OPERATION, "state": "CANCELLED", "done": 5}, "operations", "cancel", "op-1")
    assert cancelled.stdout == "op-1 is CANCELLED: 5 done\n"


def test_run_commands_pause_and_resume_a_job(server, asked):
    assert "PAUSED" in duecourse(server, "jobs", "pause", "nightly").stdout
    assert json.loads(duecourse(server, "jobs", "resume", "nightly", "--catch-up", "--json").stdout) == JOB
    assert asked[1] == ("POST", "/v1/jobs/nightly/resume", {"catch_up": True})


def test_run_commands_pause_a_job_with_a_reason(server, asked):
    duecourse(server, "jobs", "pause", "nightly", "--note", "the data centre moves")
    assert asked == [("POST", "/v1/jobs/nightly/pause", {"note": "the data centre moves"})]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--until", "yesterday"), "--until: 'yesterday' is not a time; write 06:00, 2026-11-21"),
        (("--until", "2020-01-01"), "--until: '2020-01-01' is in the past"),
        (("--until", "2026-13-01"), "--until: '2026-13-01' is not a time"),
        (("--for", "2 hours"), "--for: '2 hours' is not a duration; write 90s, 15m, 2h or 3d"),
        (("--for", "2h", "--until", "06:00"), "--until and --for cannot be combined; use one of them"),
        (("--catch-up",), "--catch-up requires --until or --for"),
    ],
)
def test_run_commands_reject_an_invalid_or_conflicting_end_of_a_pause(server, asked, options, said):
    result = duecourse(server, "jobs", "pause", "nightly", *options)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert not any(method == "POST" for method, *_ in asked)


def test_run_commands_send_and_show_the_end_of_a_pause(server, asked):
    result = duecourse(server, "jobs", "pause", "nightly", "--until", "2099-12-01T06:00:00Z", "--catch-up")
    assert asked[-1] == ("POST", "/v1/jobs/nightly/pause", {"until": "2099-12-01T06:00:00+00:00", "catch_up": True})
    assert "The pause ends automatically at 2099-12-01 " in result.stdout


def test_run_commands_pause_several_jobs_with_one_request_for_a_hundred(server, asked):
    ids = [f"job-{number:03}" for number in range(150)]
    result = duecourse(server, "jobs", "pause", *ids, "--note", "moving")
    assert (result.exit_code, result.stdout) == (0, "202 jobs are paused\n")
    assert [(path, body["ids"]) for _, path, body in asked if "cursor" not in body] == [
        ("/v1/jobs/pause", ids[:100]),
        ("/v1/jobs/pause", ids[100:]),
    ]
    result = duecourse(server, "jobs", "resume", "a", "b")
    assert (result.exit_code, result.stdout) == (0, "101 jobs are resumed\n")
    assert asked[-2] == ("POST", "/v1/jobs/resume", {"ids": ["a", "b"], "catch_up": False})


def test_run_commands_pause_jobs_of_a_tag_page_by_page(server, asked):
    result = duecourse(server, "jobs", "pause", "--tag", "billing", "--note", "the bank is down", "--yes")
    assert (result.exit_code, result.stdout) == (0, "101 jobs are paused\n")
    assert asked == [
        ("POST", "/v1/jobs/pause", {"tag": "billing", "note": "the bank is down"}),
        ("POST", "/v1/jobs/pause", {"tag": "billing", "note": "the bank is down", "cursor": "page-2"}),
    ]


def test_run_commands_resume_all_jobs(server, asked):
    result = duecourse(server, "jobs", "resume", "--all", "--catch-up", "--yes", "--json")
    assert json.loads(result.stdout) == {"changed": 101, "failed": []}
    assert asked[0] == ("POST", "/v1/jobs/resume", {"all": True, "catch_up": True})


@pytest.mark.parametrize(
    ("options", "question"),
    [
        (("pause", "--tag", "billing"), "Pause all 2 jobs tagged billing?"),
        (("resume", "--tag", "billing"), "Resume the jobs that a pause of the tag billing paused (at most 2)?"),
        (("resume", "--tag", "billing", "--others"), "Resume all 2 jobs tagged billing?"),
        (("resume", "--all"), "Resume the jobs that a pause of ALL jobs paused (at most 2)?"),
        (("pause", "--all"), "Pause ALL 2 jobs?"),
    ],
    ids=["pause-tag", "resume-tag", "resume-tag-others", "resume-all", "pause-all"],
)
def test_run_commands_change_many_jobs_only_after_confirmation(server, asked, options, question):
    refused = duecourse(server, "jobs", *options, text="n\n")
    assert (refused.exit_code, {method for method, *_ in asked}) == (1, {"GET"})
    assert question in refused.stderr
    assert refused.stderr.endswith("duecourse: there was no confirmation, so nothing was changed\n")
    assert duecourse(server, "jobs", *options).exit_code == 2
    assert {method for method, *_ in asked} == {"GET"}
    assert duecourse(server, "jobs", *options, text="y\n").exit_code == 0


@pytest.mark.parametrize(("complete", "reads"), [(True, 1), (False, 3)])
def test_run_commands_count_jobs_with_one_request_unless_there_are_very_many(complete, reads):
    asked = []

    def answer(_path, query):
        asked.append(query)
        if "total" in query:
            total = {"matching": 150, "searched": 150, "complete": complete}
            return {"items": [JOB], "next_cursor": "more", "total": total}
        return {"items": [JOB] * 75, "next_cursor": None if "cursor" in query else "more"}

    with served(answer) as api:
        env = {"DUECOURSE_API": api}
        result = CliRunner(env=env).invoke(main, ["jobs", "pause", "--all"], input="n\n")
    assert "Pause ALL 150 jobs?" in result.stderr
    assert len(asked) == reads


@pytest.mark.parametrize("action", ["pause", "resume"])
@pytest.mark.parametrize(
    "options",
    [(), ("nightly", "--tag", "x"), ("nightly", "--all"), ("--tag", "x", "--all"), ("--tag", "")],
    ids=["none", "job-tag", "job-all", "tag-all", "empty"],
)
def test_run_commands_reject_a_selection_of_no_jobs_or_by_two_criteria(server, asked, action, options):
    result = duecourse(server, "jobs", action, *options, "--yes")
    assert (result.exit_code, asked) == (2, [])
    assert result.stderr == "duecourse: select jobs by exactly one of JOB, --tag and --all\n"


def test_run_commands_show_the_command_that_lists_jobs_still_paused_after_resuming_a_tag(server):
    resumed = duecourse(server, "jobs", "resume", "--tag", "a b", "--yes").stdout
    assert resumed.endswith("resumed; others stay paused: duecourse jobs list --tag 'a b' --state PAUSED\n")
    assert duecourse(server, "jobs", "resume", "--all", "--others", "--yes").stdout.endswith("resumed\n")


@pytest.mark.parametrize("more", [("--yes",), ("--for", "2h", "--yes"), ()], ids=["yes", "until", "prompt"])
@pytest.mark.parametrize("action", ["pause", "resume"])
def test_run_commands_fail_if_no_job_has_the_tag(server, action, more):
    more = [each for each in more if action == "pause" or each == "--yes"]
    result = duecourse(server, "jobs", action, "--tag", "none", *more)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "duecourse: no job has the tag none, so nothing was changed; check the jobs with duecourse jobs list\n"
    )


def test_run_commands_say_nothing_about_others_if_none_stays_paused():
    answers = {"/v1/jobs": {"items": [], "next_cursor": None}}
    with served(lambda path, _query: answers.get(path, {"changed": 2, "failed": [], "next_cursor": None})) as api:
        result = told_at(api, "jobs", "resume", "--tag", "billing", "--yes")
    assert result.stdout == "2 jobs are resumed\n"


def test_run_commands_say_that_an_id_may_be_unknown_if_a_job_could_not_be_paused():
    answer = {"changed": 1, "failed": ["gone"], "next_cursor": None}
    result = told(answer, "jobs", "pause", "nightly", "gone", "there")
    assert (result.exit_code, result.stdout) == (
        1,
        "1 job is paused; 1 job needed no change (already paused, or completed)\n",
    )
    assert result.stderr.endswith("there is no such job: gone; check the ids, or repeat the command\n")


def test_run_commands_name_jobs_that_could_not_be_paused():
    answer = {"changed": 1, "failed": ["nightly", "hourly"], "next_cursor": None}
    result = told(answer, "jobs", "pause", "--all", "--yes")
    assert (result.exit_code, result.stdout) == (1, "1 job is paused\n")
    assert result.stderr == (
        "duecourse: 2 jobs could not be changed because of concurrent changes, unreadable data, or the end of the "
        "pause (a shadow job cannot have one): nightly, hourly; repeat the command\n"
    )


def test_run_commands_show_the_error_and_the_next_attempt_while_they_wait():
    retrying = {**RUN, "state": "RETRYING", "reason": None, "finished_at": None, "attempts": 1}
    states = [{**retrying, "next_attempt_at": "2026-11-21T03:00:09Z"}, DONE]

    def answer(path, _query):
        if path == f"/v1/runs/{RUN['id']}":
            return states.pop(0)
        return RUN if path.endswith("/run") else JOB

    with served(answer) as api:
        result = told_at(api, "jobs", "run", "nightly", "--wait")
    begun, first = result.stdout.splitlines()[:2]
    assert begun == f"{RUN['id']} is DEAD"
    assert first.endswith("  RETRYING 1/3  next 03:00:09  GET https://example.com answered 503 [busy]")


def test_run_commands_print_each_of_several_invalid_fields_on_its_own_line():
    fault = {"pointer": "/schedule", "detail": "is required"}
    problem = {"title": "Unprocessable Content", "detail": "2 fields are invalid; nothing was changed."}
    several = {**problem, "errors": [{"pointer": "/retry/max", "detail": "is not a known field"}, fault]}
    with http_target(documents(lambda _: (422, several))) as api:
        refused = duecourse(api, "jobs", "create", text="{}")
    assert refused.stderr.splitlines() == [
        "duecourse: 422 Unprocessable Content - 2 fields are invalid; nothing was changed.",
        "  retry/max: is not a known field",
        "  schedule: is required",
    ]


@pytest.mark.parametrize(("dollars", "says"), [(0.000_02, "less than $0.01"), (1.5, "about $1.50")])
def test_run_commands_show_the_cost_of_a_backfill_in_cents(dollars, says):
    plan = {"count": 4, "suffix": None, "ends_at": "2026-11-21T03:00:00Z", "at_once": 1, "results": {"missing": 4}}
    answers = {"/v1/jobs/nightly": {**JOB, "timezone": "UTC"}}
    backfill = {**plan, "estimated_cost_usd": dollars}
    with served(lambda path, _query: answers.get(path, backfill)) as api:
        shown = told_at(api, "jobs", "backfill", "nightly", "--from", "2026-11-01", "--to", "2026-11-05", "--dry-run")
    assert shown.stdout.splitlines()[1].endswith(f"at most 1 at a time, {says}; nothing was started"), shown.output


def test_run_commands_say_that_a_backfill_has_no_occurrences():
    plan = {"count": 0, "suffix": None, "ends_at": None, "at_once": 1, "results": {"succeeded": 4}}
    answers = {"/v1/jobs/nightly": {**JOB, "timezone": "UTC"}}
    with served(lambda path, _query: answers.get(path, {**plan, "estimated_cost_usd": 0})) as api:
        shown = told_at(api, "jobs", "backfill", "nightly", "--from", "2026-11-01", "--to", "2026-11-05").stdout
    assert shown.endswith("\nnightly has no missing occurrence in this range; nothing was started\n")


def test_run_commands_show_no_end_of_a_retrying_run():
    retrying = {**RUN, "state": "RETRYING", "next_attempt_at": "2026-11-21T03:05:00Z"}
    assert "finished" not in told(retrying, "runs", "show", RUN["id"]).stdout


@pytest.mark.parametrize("payload", ['{"version": 7}', "@FILE", "@-"], ids=["text", "file", "input"])
def test_run_commands_read_a_payload_from_text_a_file_or_standard_input(payload, tmp_path):
    (tmp_path / "p.json").write_text('{"version": 7}')
    sent = []
    with http_target(documents(lambda asked: (200, sent.append(json.loads(asked.body)) or RUN))) as api:
        given = payload.replace("FILE", str(tmp_path / "p.json"))
        done = duecourse(api, "jobs", "run", "nightly", "--payload", given, text='{"version": 7}')
    assert (done.exit_code, sent) == (0, [{"payload": {"version": 7}}]), done.output


@pytest.mark.parametrize(
    ("payload", "says"), [("p.json", "or write @FILE for"), ("@none.json", "none.json: No such file")]
)
def test_run_commands_explain_how_to_read_a_file_if_a_payload_is_not_json(server, asked, payload, says):
    refused = duecourse(server, "jobs", "run", "nightly", "--payload", payload)
    assert (refused.exit_code, asked) == (2, [])
    assert says in refused.stderr


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["people", "programs"])
def test_run_commands_have_a_separate_exit_code_and_message_for_a_wait_timeout(more):
    result = told({**WAITING, "cancel_requested": False}, "jobs", "run", "nightly", "--wait", "--timeout", "0", *more)
    assert result.exit_code == 124
    assert result.stderr == (
        f"duecourse: {RUN['id']} is WAITING after 0 s; it continues: follow it with duecourse runs watch {RUN['id']}\n"
    )
    assert "WAITING" in result.stdout


@pytest.mark.parametrize(("document", "status"), [(DONE, 0), (RUN, 1)], ids=["succeeded", "dead"])
def test_run_commands_do_not_time_out_waiting_for_an_ended_run(document, status):
    assert told(document, "jobs", "run", "nightly", "--wait", "--timeout", "0").exit_code == status


def _commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from _commands(command, *path, name)


@pytest.mark.parametrize("path", sorted(_commands(main)), ids=" ".join)
def test_run_commands_have_an_example_in_the_help_of_every_subcommand(path):
    result = CliRunner().invoke(main, [*path, "--help"])
    assert result.exit_code == 0
    assert "Example:\n" in result.stdout
    assert path[0] in COMMANDS


NOW = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)


def run(job_id: str, seconds: int, state: str = "QUEUED", attempts: int = 0) -> Run:
    return shown_run(f"{job_id}.{seconds}", NOW + timedelta(seconds=seconds), state, attempts=attempts)


class Runs:
    """The runs of some jobs, newest first, in pages of two."""

    def __init__(self, *runs: Run) -> None:
        self.runs_now = list(runs)
        self.asked: list[tuple[str, str | None]] = []
        self.errors: dict[tuple[str, str | None], Exception] = {}
        self.told: list[tuple[str, str]] = []

    def watched(self, *job_ids: str) -> RunWatcher:
        return RunWatcher(self, lambda job_id, error: self.told.append((job_id, str(error))), job_ids)

    def list_runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        del limit
        self.asked.append((job_id, cursor))
        if (job_id, cursor) in self.errors:
            raise self.errors[job_id, cursor]
        mine = sorted(
            (each for each in self.runs_now if each.job_id == job_id), key=lambda each: each.due, reverse=True
        )
        start = int(cursor or 0)
        return Page(tuple(mine[start : start + 2]), str(start + 2) if start + 2 < len(mine) else None)


def test_run_commands_watch_reports_each_state_once() -> None:
    source = Runs(run("a", 0))
    watcher = source.watched("a")
    assert [(change.run.state, change.is_new) for change in watcher.poll()] == [("QUEUED", True)]
    assert watcher.poll() == ()
    source.runs_now = [run("a", 0, "SUCCEEDED", 1)]
    assert [(change.run.state, change.is_new) for change in watcher.poll()] == [("SUCCEEDED", False)]


def test_run_commands_watch_treats_another_attempt_in_the_same_state_as_a_change() -> None:
    source = Runs(run("a", 0, "RETRYING", 1))
    watcher = source.watched("a")
    watcher.poll()
    source.runs_now = [run("a", 0, "RETRYING", 2)]
    assert [change.run.attempts for change in watcher.poll()] == [2]


def test_run_commands_watch_orders_changes_of_several_jobs_by_time() -> None:
    watcher = Runs(run("a", 20), run("a", 0), run("b", 10)).watched("a", "b")
    assert [change.run.id for change in watcher.poll()] == ["a.0", "b.10", "a.20"]


def test_run_commands_watch_finds_due_runs_behind_enqueued_ones() -> None:
    watcher = Runs(*(run("a", seconds) for seconds in range(50, 0, -10)), run("a", 0, "RUNNING", 1)).watched("a")
    assert "a.0" in [change.run.id for change in watcher.poll()]


def test_run_commands_watch_does_not_request_pages_after_a_final_run() -> None:
    source = Runs(*(run("a", seconds, "SUCCEEDED", 1) for seconds in range(50, 0, -10)))
    source.watched("a").poll()
    assert source.asked == [("a", None)]


def test_run_commands_watch_reads_all_pages_of_runs_that_have_ended_since_the_last_poll() -> None:
    source = Runs(run("a", 0, "DEAD", 1))
    watcher = source.watched("a")
    watcher.poll()
    source.runs_now += [run("a", seconds, "DEAD", 1) for seconds in range(10, 60, 10)]
    assert [change.run.id for change in watcher.poll()] == ["a.10", "a.20", "a.30", "a.40", "a.50"]
    source.asked.clear()
    assert watcher.poll() == ()
    assert source.asked == [("a", None)]


def test_run_commands_watch_treats_only_jobs_with_a_due_unfinished_run_as_pending() -> None:
    watcher = Runs(run("a", 10), run("b", -1), run("c", -1, "DEAD", 3)).watched("a", "b", "c")
    watcher.poll()
    assert watcher.pending(NOW) == {"b"}
    assert watcher.pending(NOW + timedelta(seconds=10)) == {"a", "b"}


def test_run_commands_watch_polls_only_the_selected_jobs() -> None:
    source = Runs(run("a", 0), run("b", 0))
    watcher = source.watched("a")
    watcher.follow(["a", "b"])
    watcher.poll({"b"})
    assert source.asked == [("b", None)]


@pytest.mark.parametrize(
    "error", [ApiError(404, {}), ApiError(503, {}), ApiUnreachableError("nobody answers")], ids=str
)
def test_run_commands_watch_continues_with_other_jobs_after_an_error(error: Exception) -> None:
    source = Runs(run("b", 0))
    source.errors["a", None] = error
    watcher = source.watched("a", "b")
    assert [change.run.id for change in watcher.poll()] == ["b.0"]
    source.runs_now.append(run("b", 10))
    assert [change.run.id for change in watcher.poll()] == ["b.10"]


def test_run_commands_watch_silently_drops_a_deleted_job_until_it_exists_again() -> None:
    source = Runs(run("a", -1))
    watcher = source.watched("a")
    watcher.poll()
    source.errors["a", None] = ApiError(404, {})
    watcher.poll()
    assert watcher.pending(NOW) == frozenset()
    source.asked.clear()
    watcher.poll()
    assert (source.asked, source.told) == ([], [])
    source.errors.clear()
    source.runs_now = [run("a", 10)]
    watcher.follow(["a"])
    assert [change.run.id for change in watcher.poll()] == ["a.10"]


def test_run_commands_watch_reports_an_error_once_and_again_after_recovery() -> None:
    source = Runs()
    watcher = source.watched("a")
    for status in (503, 503, 500, None, 500):
        source.errors = {} if status is None else {("a", None): ApiError(status, {})}
        watcher.poll()
    assert [text for _, text in source.told] == [
        "503 Service Unavailable",
        "500 Internal Server Error",
        "500 Internal Server Error",
    ]


def test_run_commands_watch_reports_changes_read_before_an_error() -> None:
    source = Runs(*(run("a", seconds) for seconds in (30, 20, 10, 0)))
    source.errors["a", "2"] = ApiUnreachableError("slow")
    assert [change.run.id for change in source.watched("a").poll()] == ["a.20", "a.30"]
    assert source.told == [("a", "slow")]
