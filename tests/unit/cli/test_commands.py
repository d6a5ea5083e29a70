"""duecourse jobs, and what stands before every command.

- The commands: what they print for people and programs, and how they fail.
- A file that is no job, and an address that is no API: one line each, and nothing is done or said to be done.
- Whatever ends a long-running command, it is one line and an exit code.
"""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
import yaml
from botocore.exceptions import ClientError, EndpointConnectionError
from click.testing import CliRunner, Result

from duecourse.cli.commands.guard import guarded
from duecourse.cli.commands.options import timeout_of
from duecourse.cli.main import COMMANDS, SECTIONS, main
from duecourse.cli.terminal import MEANT, UsageError
from duecourse.client import ApiError, ApiUnreachableError
from tests.support.http_target import Seen, documents, http_target
from tests.unit.cli.served import RUN, served, told

JOB = {
    "id": "nightly",
    "schedule": "0 3 * * *",
    "state": "ACTIVE",
    "next_occurrence": "2026-11-22T03:00:00Z",
    "error": None,
}
CHANGES = [
    {
        "at": "2026-11-21T10:00:00.000Z",
        "principal": "anna",
        "action": "edited",
        "revision": 2,
        "changes": [{"field": "timeout_seconds", "before": 30, "after": 60}, {"field": "payload"}],
        "facts": {},
    },
    {
        "at": "2026-11-21T09:00:00.000Z",
        "principal": "bob",
        "action": "cancelled",
        "revision": None,
        "changes": [],
        "facts": {"runs": 1, "run_ids": ["nightly.20261121T030000Z"]},
    },
]


WARNING = {
    "kind": "skipped",
    "says": "5 of the last 20 runs were skipped or merged.",
    "do": "See their reasons.",
    "facts": {"skipped": 5, "runs": 20},
}


LASTED = [{**RUN, "state": "SUCCEEDED", "duration_seconds": 90.0 if number < 10 else 12.34} for number in range(15)]
NO_RUNS = {"/v1/jobs/nightly/runs": {"items": [], "next_cursor": None}}

UNKNOWN = {"type": "/problems/unknown-job", "title": "There is no such job"}


def answer(asked: Seen) -> tuple[int, object]:
    """Like the API, with one job and one run."""
    answers: dict[str, object] = {
        "/v1/jobs": {"items": [JOB], "next_cursor": None},
        "/v1/jobs/nightly": JOB,
        "/v1/jobs/nightly/warnings": {"items": [WARNING]},
        "/v1/jobs/nightly/runs": {"items": [RUN], "next_cursor": "more"},
        "/v1/jobs/nightly/history": {"items": CHANGES, "next_cursor": "more"},
    }
    match asked.method:
        case "POST":
            return 201, JOB
        case "DELETE":
            return 204, None
        case _:
            return (200, answers[asked.route]) if asked.route in answers else (404, UNKNOWN)


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    with http_target(documents(answer)) as server:
        yield server.url("")


def duecourse(*arguments: str, text: str | None = None, **environment: str) -> Result:
    return CliRunner(env={"DUECOURSE_API": None, "TZ": "UTC", **environment}).invoke(main, arguments, input=text)


def test_cli_creates_a_job_from_standard_input(api: str) -> None:
    result = duecourse("jobs", "create", "--json", "--api", api, text='{"schedule": "0 3 * * *"}')
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == JOB


def test_cli_reads_the_api_address_from_the_environment(api: str) -> None:
    result = duecourse("jobs", "get", "nightly", DUECOURSE_API=api)
    assert result.exit_code == 0, result.output
    assert "2026-11-22 03:00:00" in result.stdout
    assert result.stdout.endswith("5 of the last 20 runs were skipped or merged. See their reasons.\n")


@pytest.mark.parametrize(
    "command",
    ["jobs get nightly", "jobs list", "runs list nightly", "jobs history nightly", "jobs pause nightly", "limits list"],
)
def test_cli_output_has_the_same_formats_in_all_commands(command: str) -> None:
    page = {"items": [JOB | RUN | {"key": "crm"}], "next_cursor": None}
    answer = page if command.split()[1] in ("list", "history") else JOB
    as_json = told(answer, *command.split(), "-o", "json").stdout
    assert as_json == told(answer, *command.split(), "--json").stdout
    assert yaml.safe_load(told(answer, *command.split(), "-o", "yaml").stdout) == yaml.safe_load(as_json)
    assert told(answer, *command.split(), "-o", "csv").exit_code == 2


NIGHTLY = {
    **JOB,
    "schedule": "30 2 * * *",
    "understood_as": "every day at 02:30",
    "timezone": "Europe/Berlin",
    "dst_gap": "next",
    "dst_fold": "first",
    "state": "PAUSED",
    "paused_by": "anna",
    "target": {"type": "http", "method": "POST", "url": "https://example.com/report?key=1"},
    "completion": "callback",
    "completion_seconds": 10800,
    "heartbeat_seconds": 60,
    "tags": ["billing", "eu"],
    "next_occurrence": "2026-10-25T00:30:00Z",
}


def test_cli_job_is_shown_field_by_field_with_its_next_occurrences() -> None:
    asked: list[str] = []

    def answer(path: str, _query: Mapping[str, str]) -> object:
        asked.append(path)
        if path == "/v1/jobs/nightly":
            return NIGHTLY
        if path == "/v1/jobs/nightly/warnings":
            return {"items": []}
        if path == "/v1/jobs/nightly/runs":
            return {"items": LASTED, "next_cursor": None}
        at = [{"at": f"2026-10-{day}T01:30:00Z", "wall": "", "mark": None, "count": 1} for day in (25, 26)]
        return {"understood_as": "", "canonical": "", "occurrences": at, "tzdata": ""}

    with served(answer) as server:
        shown = duecourse("jobs", "get", "nightly", "--api", server).stdout.splitlines()
        as_json = duecourse("jobs", "get", "nightly", "--api", server, "--json").stdout
    assert json.loads(as_json) == NIGHTLY
    details = ["/v1/schedules/preview", "/v1/jobs/nightly/warnings", "/v1/jobs/nightly/runs"]
    assert asked == ["/v1/jobs/nightly", *details, "/v1/jobs/nightly"]
    assert "duration       0:01:30 (median of the last 10 successful runs); before: 12.3 s (of 5)" in shown
    for line in (
        "job            nightly",
        "state          PAUSED (by anna)",
        "schedule       30 2 * * * (every day at 02:30)",
        "zone           Europe/Berlin",
        "clock changes  times that the clock skips: next; times that it shows twice: first",
        "target         http POST https://example.com/report",
        "completion     callback within 10800 s, a heartbeat every 60 s",
        "tags           billing, eu",
        "next           2026-10-25 02:30:00+01:00",
    ):
        assert line in shown
    assert shown[-1] == f"{'':15}2026-10-26 02:30:00+01:00"


def test_cli_job_marks_excluded_occurrences_among_the_next_ones_and_counts_them() -> None:
    job = {**NIGHTLY, "schedule": "0 18 * * *", "timezone": "UTC", "next_occurrence": "2026-11-27T18:00:00Z"}

    def answer(path: str, _query: Mapping[str, str]) -> object:
        marks = {27: None, 28: "excluded", 30: None}
        at = [
            {"at": f"2026-11-{day}T18:00:00Z", "wall": f"2026-11-{day}T18:00:00+00:00", "mark": mark, "count": 1}
            for day, mark in marks.items()
        ]
        preview = {"understood_as": "", "canonical": "", "occurrences": at, "tzdata": ""}
        return {"/v1/jobs/nightly": job, "/v1/jobs/nightly/warnings": {"items": []}, **NO_RUNS}.get(path, preview)

    with served(answer) as server:
        shown = duecourse("jobs", "get", "nightly", "--api", server).stdout.splitlines()
    at = next(index for index, line in enumerate(shown) if line.startswith("next "))
    assert [line.removeprefix("next").strip() for line in shown[at:]] == [
        "2026-11-27 18:00:00Z",
        "2026-11-28 18:00:00Z  excluded and 1 more",
        "2026-11-30 18:00:00Z",
    ]


def test_cli_prints_jobs_as_json_in_the_common_list_format(api: str) -> None:
    assert json.loads(duecourse("jobs", "list", "--json", "--api", api).stdout) == {"items": [JOB], "next_cursor": None}


def test_cli_shows_runs_as_a_table_with_the_command_for_the_next_page(api: str) -> None:
    result = duecourse("runs", "list", "nightly", "--api", api)
    assert "2026-11-21 03:00:00  DEAD" in " ".join(result.stdout.split("\n"))
    assert "+0.042 s" in result.stdout
    assert f"more: duecourse runs list nightly --api {api} --cursor more" in result.stdout


def test_cli_prints_runs_as_json_with_the_cursor(api: str) -> None:
    assert json.loads(duecourse("runs", "list", "nightly", "--json", "--api", api).stdout)["next_cursor"] == "more"


def test_cli_history_shows_author_and_content_of_changes_and_the_command_for_the_next_page(api: str) -> None:
    result = duecourse("jobs", "history", "nightly", "--api", api)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "2026-11-21 10:00:00 anna edited timeout_seconds 30 -> 60; payload" in said
    assert 'bob cancelled runs 1; run_ids ["nightly.20261121T030000Z"]' in said
    assert f"more: duecourse jobs history nightly --api {api} --cursor more" in result.stdout


def test_cli_prints_the_history_as_json_unchanged(api: str) -> None:
    shown = json.loads(duecourse("jobs", "history", "nightly", "--json", "--api", api).stdout)
    assert shown == {"items": CHANGES, "next_cursor": "more"}


def test_cli_deletes_a_job_after_confirmation(api: str) -> None:
    assert duecourse("jobs", "delete", "nightly", "--yes", "--api", api).stdout == "nightly deleted\n"
    asked = duecourse("jobs", "delete", "nightly", "--api", api, text="y\n")
    assert "Delete nightly, and its runs that have not started?" in asked.stderr
    assert asked.stdout == "nightly deleted\n"


@pytest.mark.parametrize(("text", "status", "said"), [("n\n", 1, "nothing was changed\n"), (None, 2, "use --yes")])
def test_cli_does_not_delete_a_job_without_confirmation(api: str, text: str | None, status: int, said: str) -> None:
    result = duecourse("jobs", "delete", "nightly", "--api", api, text=text)
    assert (result.exit_code, result.stdout) == (status, "")
    assert said in result.stderr


@pytest.mark.parametrize(
    ("options", "schedule"),
    [
        (("--every", "5m"), {"schedule": "rate(5 minutes)"}),
        (("--every", "1h"), {"schedule": "rate(1 hour)"}),
        (
            ("--schedule", "0 9 * * 1", "--timezone", "Europe/Berlin"),
            {"schedule": "0 9 * * 1", "timezone": "Europe/Berlin"},
        ),
        ((), {"schedule": None}),
    ],
)
def test_cli_creates_a_simple_job_without_a_file(options: tuple[str, ...], schedule: dict[str, object]) -> None:
    sent: list[object] = []
    with http_target(documents(lambda asked: (201, sent.append(asked.json) or JOB))) as server:
        made = duecourse("jobs", "create", "a", *options, "--http", "https://x.example", "--api", server.url(""))
    assert made.exit_code == 0, made.output
    assert sent == [{"id": "a", **schedule, "target": {"type": "http", "url": "https://x.example"}}]


@pytest.mark.parametrize(
    "words",
    ["a --every 5m", "--http http://x", "a --http http://x --every 5x", "a --http u --every 5m --schedule @daily"],
)
def test_cli_rejects_incomplete_options_of_a_simple_job(words: str) -> None:
    refused = duecourse("jobs", "create", *words.split(), "--api", "http://127.0.0.1:1")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_cli_prompts_when_it_waits_for_a_job_at_a_terminal(api: str) -> None:
    master, slave = os.openpty()
    try:
        os.write(master, b"{}\n\x04")
        done = subprocess.run(
            [sys.executable, "-c", "from duecourse.cli.main import main; main()", "jobs", "create", "--api", api],
            stdin=slave, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        os.close(slave)
        os.close(master)
    assert done.returncode == 0
    assert "type the text, then Ctrl-D; or name a file" in done.stderr


def test_cli_does_not_prompt_when_a_job_comes_through_a_pipe(api: str) -> None:
    assert duecourse("jobs", "create", "--api", api, text="{}").stderr == ""


def test_cli_reports_a_rejection_on_one_line_without_a_traceback(api: str) -> None:
    result = duecourse("jobs", "get", "other", "--api", api)
    assert (result.exit_code, result.stderr) == (1, "duecourse: 404 There is no such job\n")


def test_cli_lists_the_ways_to_set_a_token_when_one_is_rejected() -> None:
    with http_target(documents(lambda _: (401, {"message": "Unauthorized"}))) as server:
        result = duecourse("jobs", "list", "--api", server.url(""))
    assert result.exit_code == 1
    assert result.stderr == (
        "duecourse: 401 Unauthorized; the token is missing, expired or of another stage: set DUECOURSE_TOKEN, or use "
        "duecourse login\n"
    )


def test_cli_shows_a_fault_that_the_detail_repeats_only_once() -> None:
    problem = {
        "type": "/problems/scope-missing",
        "title": "Forbidden",
        "detail": "The job must have one of the tags of the caller's scopes: billing.",
        "errors": [{"pointer": "/tags", "detail": "must have one of the tags of the caller's scopes: billing"}],
    }
    with http_target(documents(lambda _: (403, problem))) as server:
        result = duecourse("jobs", "create", "--api", server.url(""), text="{}")
    assert result.stderr == (
        "duecourse: 403 Forbidden - The job must have one of the tags of the caller's scopes: billing.\n"
    )


def test_cli_names_the_command_for_several_jobs_if_a_file_has_a_list(api: str) -> None:
    result = duecourse("jobs", "create", "--api", api, text='[{"id": "a"}]')
    assert (result.exit_code, result.stderr) == (
        2,
        "duecourse: standard input: must have one object; create several jobs with duecourse apply -f\n",
    )


def test_cli_job_shows_the_audience_of_its_tokens() -> None:
    auth = {"type": "oidc", "audience": "https://shop.example"}
    job = {**JOB, "target": {"type": "http", "url": "https://shop.example", "auth": auth}}
    preview = {"understood_as": "", "canonical": "", "occurrences": [], "tzdata": ""}
    answers = {"/v1/jobs/nightly": job, "/v1/jobs/nightly/warnings": {"items": []}, **NO_RUNS}
    with served(lambda path, _query: answers.get(path, preview)) as server:
        shown = duecourse("jobs", "get", "nightly", "--api", server).stdout.splitlines()
    assert "auth          oidc, audience https://shop.example" in shown


def test_cli_job_shows_the_connector_of_its_target() -> None:
    job = {**JOB, "target": {"type": "http", "url": "https://erp.corp.example/?key=1", "via": "office"}}
    preview = {"understood_as": "", "canonical": "", "occurrences": [], "tzdata": ""}
    answers = {"/v1/jobs/nightly": job, "/v1/jobs/nightly/warnings": {"items": []}, **NO_RUNS}
    with served(lambda path, _query: answers.get(path, preview)) as server:
        shown = duecourse("jobs", "get", "nightly", "--api", server).stdout.splitlines()
    assert "target        http POST https://erp.corp.example/ via office" in shown


def test_cli_job_shows_payload_authentication_and_notices() -> None:
    job = {
        **JOB,
        "payload": {"text": "x" * 400},
        "target": {"type": "http", "url": "https://example.com", "auth": {"type": "oauth", "secret": "crm-client"}},
        "notify": [
            {"on": ["dead", "late"], "to": {"job": "tell-slack", "format": "slack"}},
            {"on": ["missed"], "to": {"job": "audit", "format": "json"}},
        ],
    }
    preview = {"understood_as": "", "canonical": "", "occurrences": [], "tzdata": ""}
    answers = {"/v1/jobs/nightly": job, "/v1/jobs/nightly/warnings": {"items": []}, **NO_RUNS}
    with served(lambda path, _query: answers.get(path, preview)) as server:
        shown = duecourse("jobs", "get", "nightly", "--api", server).stdout.splitlines()
    assert "auth          oauth, secret crm-client" in shown
    assert "notify        dead, late -> tell-slack (slack); missed -> audit" in shown
    (payload,) = [line for line in shown if line.startswith("payload ")]
    assert payload.startswith('payload       {"text": "xxx')
    assert payload.endswith("… (--json shows all)")


def test_cli_job_fits_a_terminal_of_80_columns_and_keeps_addresses_whole() -> None:
    url = f"https://example.com/{'x' * 90}"
    job = {**JOB, "description": "All invoices of the day " * 8, "target": {"type": "http", "url": url}}
    preview = {"understood_as": "", "canonical": "", "occurrences": [], "tzdata": ""}
    answers = {"/v1/jobs/nightly": job, "/v1/jobs/nightly/warnings": {"items": []}, **NO_RUNS}
    with served(lambda path, _query: answers.get(path, preview)) as server:
        shown = duecourse("jobs", "get", "nightly", "--api", server, FORCE_COLOR="1", COLUMNS="80").stdout
    lines = re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines()
    assert [line for line in lines if len(line) > 80] == [f"{'':14}{url}"]


def test_cli_warns_if_a_new_job_notifies_a_job_that_does_not_exist() -> None:
    job = {**JOB, "notify": [{"on": ["dead"], "to": {"job": "nosuch", "format": "json"}}]}
    said = {"says": "notify names a job that does not exist: nosuch.", "do": "Create it."}
    warning = {"kind": "notify", **said, "facts": {}}
    with served(lambda path, _query: {"items": [warning]} if path.endswith("/warnings") else job) as server:
        result = duecourse("jobs", "create", "--api", server, text="{}")
    assert result.stderr == "notify names a job that does not exist: nosuch. Create it.\n"


def test_cli_fields_of_a_document_are_aligned_whatever_their_length() -> None:
    health = {"status": "ok", "dispatch": {"watermarks_behind_seconds": {"0": 0}}}
    assert told(health, "stats").stdout.splitlines() == [
        f"{'status':<36}  ok",
        "dispatch.watermarks_behind_seconds.0  0",
    ]


BY_HOUR = {
    "since": "2026-11-20T11:00:00Z",
    "until": "2026-11-21T11:00:00Z",
    "as_of": "2026-11-21T10:00:12Z",
    "counted_from": "2026-11-21T09:00:00Z",
    "items": [
        {"hour": "2026-11-21T09:00:00Z", "succeeded": 26, "dead": 2, "retried": 4, "skipped": 0, "cancelled": 0},
        {"hour": "2026-11-21T10:00:00Z", "succeeded": 1, "dead": 0, "retried": 0, "skipped": 12, "cancelled": 3},
    ],
}


def test_cli_stats_by_hour_are_a_table_with_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    asked = list[tuple[str, object]]()

    def answer(path: str, query: object) -> dict[str, object]:
        asked.append((path, query))
        return {"by_hour": BY_HOUR}

    with served(answer) as server:
        shown = duecourse("stats", "--by", "hour", "--api", server, "--since", "2026-11-20T11:00:00Z").stdout
        whole = json.loads(duecourse("stats", "--by", "hour", "-o", "json", "--api", server).stdout)
    header, first, second, note = shown.splitlines()
    assert header.split() == ["hour", "(UTC)", "succeeded", "dead", "retried", "skipped", "cancelled"]
    assert first.split()[-6:] == ["26", "2", "4", "0", "0", "###########x"]
    assert second.split()[-6:] == ["1", "0", "0", "12", "3", "#"]
    assert max(map(len, shown.splitlines())) <= 80
    assert note == "bars: # succeeded, x dead, 28 at most; approximate, a minute or more behind"
    assert whole == {"by_hour": BY_HOUR}
    assert asked[0] == ("/v1/stats", {"by": "hour", "since": "2026-11-20T11:00:00+00:00"})


def test_cli_stats_by_hour_without_counts_show_no_hour() -> None:
    empty = {"by_hour": BY_HOUR | {"counted_from": None, "items": []}}
    assert told(empty, "stats", "--by", "hour").stdout == "no runs were counted in these hours\n"


def test_cli_stats_since_requires_by_hour() -> None:
    result = duecourse("stats", "--since", "today")
    assert result.exit_code == 2
    assert "--since and --until require --by hour" in result.stderr


def test_cli_lists_the_ways_to_set_a_missing_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("app.py", "cdk.json"):  # a checkout without a stack, since one may run in this one
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    result = duecourse("jobs", "list")
    assert result.exit_code == 2
    assert result.stderr.startswith("duecourse: no API address is configured; set DUECOURSE_API, write a profile to ")
    assert result.stderr.endswith(", or start a local stack in a checkout: make local\n")


def test_cli_reports_an_unreachable_address_on_one_line() -> None:
    result = duecourse("jobs", "list", "--api", "http://127.0.0.1:1")
    assert result.exit_code == 1
    assert result.stderr.startswith("duecourse: there is no response from http://127.0.0.1:1 (")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("host", ["127.0.0.1:4566", "localhost:4566", "[::1]:4566"])
def test_cli_waits_longer_for_the_first_call_of_a_local_stack(host: str) -> None:
    assert timeout_of(f"http://{host}/_aws/execute-api/x") == 4 * timeout_of("https://api.example.com")


def test_cli_rejects_invalid_json_before_any_call() -> None:
    result = duecourse("jobs", "create", "--api", "http://127.0.0.1:1", text="{schedule: daily")
    assert result.exit_code == 2
    assert "the text is not valid JSON" in result.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("jbos",), "jobs"), (("run",), "runs"), (("dead-leters", "list"), "dead-letters"), (("jobs", "lst"), "list")],
    ids=["letters", "number", "part", "below"],
)
def test_cli_suggests_the_command_meant_by_a_mistyped_one(words: tuple[str, ...], meant: str) -> None:
    result = duecourse(*words)
    assert result.exit_code == 2
    mistyped = next(word for word in words if word not in COMMANDS)
    assert result.stderr == f"duecourse: no such command '{mistyped}'; did you mean '{meant}'?\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("jobs", "update"), "'edit' or 'patch'"),
        (("jobs", "show"), "'get'"),
        (("runs", "get"), "'show'"),
        (("runs", "retry"), "'redrive'"),
        (("jobs", "trigger"), "'run'"),
    ],
    ids=" ".join,
)
def test_cli_suggests_a_command_for_its_name_in_other_programs(words: tuple[str, str], meant: str) -> None:
    assert duecourse(*words).stderr == f"duecourse: no such command '{words[1]}'; did you mean {meant}?\n"


def test_cli_names_in_other_programs_all_lead_to_existing_commands() -> None:
    context = click.Context(main)
    groups = [found for name in COMMANDS if isinstance(found := main.get_command(context, name), click.Group)]
    ours = {name for group in groups for name in group.list_commands(context)}
    assert {each for meant in MEANT.values() for each in meant} <= ours


def test_cli_suggests_nothing_for_an_unrelated_command() -> None:
    assert duecourse("xyzzy").stderr == "duecourse: no such command 'xyzzy'; see duecourse --help\n"


def test_cli_reports_wrong_options_on_one_line() -> None:
    for words, problem in (
        (("jobs", "list", "--foo"), "no such option '--foo'; see duecourse jobs list --help"),
        (("jobs", "get"), "missing argument 'JOB'; see duecourse jobs get --help"),
        (("apply",), "missing option '-f' / '--file'; see duecourse apply --help"),
    ):
        result = duecourse(*words)
        assert (result.exit_code, result.stderr) == (1 if words == ("apply",) else 2, f"duecourse: {problem}\n")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_cli_help_of_every_command_has_an_example(name: str) -> None:
    result = duecourse(name, "--help")
    assert result.exit_code == 0
    assert f"Example:\n  duecourse {name}" in result.stdout


def test_cli_help_lists_each_command_in_one_section() -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


def test_cli_fields_describe_values_limits_and_defaults() -> None:
    assert "max_attempts     1 to 100 [default: 4]\n" in duecourse("fields", "retry").stdout
    assert "missed " in duecourse("fields").stdout
    http = duecourse("fields", "target.http").stdout
    assert "method " in http
    assert "queue " not in http
    assert duecourse("fields", "target.http.auth").stdout.startswith("basic\n")
    assert "after " in duecourse("fields", "workflow.jobs").stdout
    wrong = duecourse("fields", "retri")
    assert (wrong.exit_code, wrong.stderr) == (2, "duecourse: there is no field retri; write retry\n")


def test_cli_help_imports_no_command() -> None:
    program = (
        "import sys\n"
        "from duecourse.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(sorted(name for name in ('httpx', 'rich', 'botocore') if name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_cli_list_of_commands_has_whole_sentences_in_80_columns() -> None:
    lines = CliRunner().invoke(main, ["jobs", "--help"], terminal_width=80).stdout.splitlines()[1:]
    assert not [line for line in lines if line.endswith("...") or len(line) > 80]
    assert [line for line in lines if "Write jobs and workflows in the format of `duecourse apply`" in line]


@pytest.mark.parametrize(
    ("words", "text", "problem"),
    [
        (("put", "a/b"), "x", "NAME must have 1 to 64 letters (A-Z, a-z), digits, _, . or -: a/b"),
        (
            ("put", "key", "--tenant", "../x"),
            "x",
            "--tenant must have 1 to 64 letters (A-Z, a-z), digits, - or _: ../x",
        ),
        (("put", "key"), "\n", "the value is empty, so nothing was written; pass a value on standard input"),
        (("delete", "key\n"), None, "NAME must have 1 to 64 letters (A-Z, a-z), digits, _, . or -: key"),
    ],
    ids=["name", "tenant", "empty", "line-end"],
)
def test_cli_rejects_an_invalid_secret_before_any_request(
    words: tuple[str, ...], text: str | None, problem: str
) -> None:
    result = duecourse("secrets", *words, text=text, AWS_ENDPOINT_URL="http://127.0.0.1:1")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"duecourse: {problem}")


HTML = b"<html><body>Welcome</body></html>"


def created(document: Path) -> Result:
    """What becomes of the file, at an address where nobody answers."""
    return CliRunner(env={"DUECOURSE_API": "http://127.0.0.1:1"}).invoke(main, ["jobs", "create", str(document)])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"payload": NaN}', "NaN"),
        (b'{"payload": [-Infinity]}', "-Infinity"),
        (b'{"payload": 1e400}', "1e400"),
        (b'{"payload": "\\ud800"}', "surrogate"),
        (b'{"\\udfff": 1}', "surrogate"),
        (b'{"payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"schedule": "@daily", "schedule": "@hourly"}', '"schedule" twice'),
        (b'{"target": {"url": "a", "url": "b"}}', '"url" twice'),
        (b'{"payload": ' + b"9" * 5_000 + b"}", "digits"),
        (b'{"payload": "\xff"}', "is not UTF-8"),
        (b'["a job"]', "must have one object"),
        (b"a job", "must have one object"),
        (b"a: [1", "job.json:1: "),
        (b"", "is empty; write to it"),
    ],
    ids=[
        *("nan", "infinity", "1e400", "half-character", "half-name", "deep"),
        *("twice", "twice-below", "digits", "latin-1", "list", "text", "yaml", "empty"),
    ],
)
def test_cli_rejects_a_file_that_is_not_a_job_before_any_call(text: bytes, says: str, tmp_path: Path) -> None:
    document = tmp_path / "job.json"
    document.write_bytes(text)
    result = created(document)
    assert result.exit_code == 2
    assert result.stderr.startswith((f"duecourse: {document}:", f"duecourse: {document} is empty; "))
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


FILES_COMMANDS = (
    ("jobs", "list"),
    ("jobs", "get", "nightly"),
    ("jobs", "pause", "nightly"),
    ("runs", "list", "nightly"),
    ("runs", "show", "nightly.20261121T030000Z"),
    ("runs", "cancel", "nightly.20261121T030000Z"),
    ("dead-letters", "list"),
    ("dead-letters", "redrive", "--yes"),
)
DELETE = ("jobs", "delete", "nightly", "--yes")
"""It reads nothing of what the API answers, as long as that is an answer of an API."""


@pytest.mark.parametrize("command", [*FILES_COMMANDS, DELETE], ids=" ".join)
@pytest.mark.parametrize("answer", [HTML, b"[]", b"[" * 100_000], ids=["html", "list", "deep"])
def test_cli_reports_an_address_without_the_api_on_one_line(command: tuple[str, ...], answer: bytes) -> None:
    refused(told(answer, *command))


@pytest.mark.parametrize("command", FILES_COMMANDS, ids=" ".join)
@pytest.mark.parametrize("answer", [{"items": [{"id": "x"}], "run": {}}, {"items": 5, "run": None}], ids=str)
def test_cli_reports_an_incomplete_response_on_one_line(command: tuple[str, ...], answer: object) -> None:
    refused(told(answer, *command))


def refused(result: Result) -> None:
    """In one line."""
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(("duecourse: 200 OK - ", "duecourse: no Duecourse API at http://"))
    assert result.stderr.count("\n") == 1


def ended_by(error: BaseException | None, *, stopping_is_normal: bool = False) -> Result:
    @click.command()
    def command() -> None:
        with guarded(stopping_is_normal=stopping_is_normal):
            if error is None:
                signal.raise_signal(signal.SIGTERM)
            else:
                raise error

    return CliRunner().invoke(command)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UsageError("port 4599 is taken"), "port 4599 is taken"),
        (ApiError(409, {"title": "Conflict", "detail": "taken"}), "the API rejected the request: 409 Conflict - taken"),
        (ApiUnreachableError("there is no response from http://x"), "there is no response from http://x"),
        (FileNotFoundError(2, "No such file or directory", "/x"), "No such file or directory /x"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x"),
            "No space left on device /x: free some disk space for the checkout and TMPDIR, and start again",
        ),
        (
            OSError(errno.EROFS, "Read-only file system", "/x"),
            "Read-only file system /x: use a checkout, a HOME and a TMPDIR that you can write to",
        ),
        (
            OSError(errno.EADDRINUSE, "Address already in use"),
            "Address already in use: another program uses the port; start again",
        ),
        (
            EndpointConnectionError(endpoint_url="http://x"),
            'the local stack returned an unexpected response: Could not connect to the endpoint URL: "http://x"',
        ),
        (
            ClientError({"Error": {"Code": "Throttling", "Message": "slow"}}, "ReceiveMessage"),
            (
                "the local stack returned an unexpected response: "
                "An error occurred (Throttling) when calling the ReceiveMessage operation: slow"
            ),
        ),
    ],
)
def test_cli_reports_a_failure_on_one_line(error: Exception, line: str) -> None:
    result = ended_by(error)
    assert result.exit_code in {1, 2}
    assert result.stderr == f"duecourse: {line}\n"


def test_cli_exits_with_the_conventional_status_after_a_signal() -> None:
    assert ended_by(None).exit_code == 128 + signal.SIGTERM


def test_cli_stopping_a_running_stack_is_a_normal_end() -> None:
    assert ended_by(None, stopping_is_normal=True).exit_code == 0
