"""Tables show ids whole and texts from elsewhere as they are, whatever stands in them."""

import json
import re

import pytest

from tests.unit.cli.served import RUN, duecourse, served, told

LONG = "quarterly-figures-of-every-branch-by-region-and-by-product-group"
LONG_RUN = {**RUN, "id": f"{LONG}.20261121T030000Z.b0123456789abcdef0123456789abcdef", "job_id": LONG}
JOB = {"id": LONG, "schedule": "0 3 * * *", "state": "COMPLETED", "next_occurrence": None, "error": None}
LISTS = (("runs", "list", "nightly"), ("dead-letters", "list"))


@pytest.mark.parametrize("command", LISTS, ids=" ".join)
@pytest.mark.parametrize(
    "error",
    [
        "GET https://example.com answered 503 [busy]",
        "404 GET https://example.com - parse error at [/items/0]",
        "it says [/x] and [bold]no[/bold]",
        "a fire :fire: in C:\\",
    ],
)
def test_cli_tables_show_an_error_as_the_target_returned_it(command: tuple[str, ...], error: str) -> None:
    result = told({"items": [{**RUN, "error": error}], "next_cursor": None}, *command)
    assert result.exit_code == 0, result.output
    assert error in result.stdout


@pytest.mark.parametrize("command", [*LISTS, ("runs", "show", "x.1")], ids=" ".join)
def test_cli_tables_show_an_error_without_control_characters(command: tuple[str, ...]) -> None:
    run = {**RUN, "error": "a\x1b[2Jb\x9bc\u202ed\ne"}
    assert "a\ufffd[2Jb\ufffdc\ufffdd e" in told({"items": [run], "next_cursor": None, **run}, *command).stdout


@pytest.mark.parametrize("command", [*LISTS, ("runs", "show", "x.1")], ids=" ".join)
def test_cli_tables_json_output_has_the_same_error_without_control_characters(command: tuple[str, ...]) -> None:
    run = {**RUN, "error": "a\x1b[2Jb\x9bc\u202ed\ud800e \U0001f525"}
    result = told({"items": [run], "next_cursor": None, **run}, *command, "--json")
    assert result.exit_code == 0, result.output
    assert not re.search("[\x1b\x9b\u202e]", result.stdout)
    assert r'"a\u001b[2Jb\u009bc\u202ed\ud800e 🔥"' in result.stdout


STEERING = (
    "a\x00\x07\x1b[2J\x7f\x9b\u061c\u200e\u200f\u2028\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ud800z"
)
ANSWER = {
    **RUN,
    **dict.fromkeys(("id", "job_id", "state", "reason", "error", "code", "schedule", "says", "do"), STEERING),
    "result": STEERING,
    "accepted": STEERING,
    "next_occurrence": None,
    "next_cursor": STEERING.replace("\ud800", ""),
}
ANSWER |= {"items": [dict(ANSWER)], "run": dict(ANSWER)}
COMMANDS = (
    ("jobs", "list"),
    ("jobs", "get", "x"),
    ("jobs", "pause", "x"),
    ("jobs", "resume", "x"),
    ("runs", "list", "x"),
    ("runs", "show", "x.1"),
    ("runs", "cancel", "x"),
    ("runs", "redrive", "x.1"),
    ("dead-letters", "list", "--job", "x"),
)


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["people", "programs"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_cli_tables_show_ids_states_cursors_and_all_other_fields_without_control_characters(
    command: tuple[str, ...], more: tuple[str, ...]
) -> None:
    last = {**ANSWER, "next_cursor": None}
    with served(lambda _path, query: last if "cursor" in query else ANSWER) as api:
        result = duecourse(api, *command, *more)
    assert result.exit_code == 0, ascii(result.output)[-300:]
    assert "[2J" in result.stdout
    assert unprintable(result.output) == []


def unprintable(text: str) -> list[str]:
    return sorted({ascii(each) for each in text if not each.isprintable() and each != "\n"})


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_cli_tables_invalid_response_is_shown_without_control_characters(command: tuple[str, ...]) -> None:
    result = told({"id": STEERING, STEERING: STEERING}, *command)
    assert result.exit_code == 1
    assert unprintable(result.output) == []


def test_cli_tables_invalid_cursor_is_reported_on_one_line() -> None:
    result = told({"items": [], "next_cursor": "\ud800"}, "jobs", "list")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "contains an unpaired surrogate" in result.stderr


def test_cli_tables_rejection_is_shown_without_control_characters() -> None:
    result = told(b"<html>\x1b[2J</html>", "jobs", "list")
    assert result.exit_code == 1
    assert "\x1b" not in result.stderr


def rows(answer: object, *command: str, columns: str = "", **environment: str) -> list[str]:
    """The lines that a list prints on a terminal of so many columns, else in a pipe; without their colours."""
    terminal = {"FORCE_COLOR": "1", "COLUMNS": columns} if columns else {}
    result = told({"items": answer, "next_cursor": None}, *command, **terminal, **environment)
    assert result.exit_code == 0, result.output
    return re.sub("\x1b\\[[0-9;]*m", "", result.stdout).splitlines()


def test_cli_tables_show_the_next_attempt_of_a_run() -> None:
    again = {**LONG_RUN, "state": "RETRYING", "next_attempt_at": "2026-11-21T03:05:10.250Z"}
    for columns in ("", "160"):
        assert " next 03:05:10" in rows([again], "runs", "list", LONG, columns=columns)[1]


def test_cli_tables_show_whole_ids_and_states_in_a_pipe() -> None:
    runs = rows([LONG_RUN], "runs", "list", LONG)
    dead = rows([LONG_RUN], "dead-letters", "list")
    jobs = rows([JOB], "jobs", "list")
    assert re.search(rf"^{LONG_RUN['id']} .* DEAD .* http.503  GET", runs[1])
    assert f"{LONG_RUN['id']}  2026-11-21 03:01:00  3/3       http.503" in dead[1]
    assert f"{LONG}  COMPLETED  0 3 * * *" in jobs[1]


@pytest.mark.parametrize("columns", ["", "20", "80", "100", "160"])
@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_cli_tables_run_has_one_line_and_an_error_without_room_there_a_second_one(
    command: tuple[str, ...], columns: str
) -> None:
    run = {**RUN, "error": "!" * 900}
    _, *lines = shown = rows([run, run], *command, columns=columns)
    if columns in ("", "160"):
        assert [line[-2:] for line in lines] == ["!…", "!…"]
    else:
        *rest, last = lines
        assert rest == [lines[0], last, lines[0]]
        assert re.fullmatch(" {4}!+…", last)
    assert lines[0].startswith((f"{RUN['id']}  ", "nightly  "))
    if columns != "20":
        assert max(map(len, shown)) == int(columns or "200")


LATE_AT_NIGHT = {
    **RUN,
    "id": "quarterly-report.20261121T030000Z.m0123456789abcd",
    "job_id": "quarterly-report",
    "error": "POST http://127.0.0.1:28883 answered 500 Internal Server Error: no such account",
    "code": "http.500",
}
FAILED_LISTS = [("runs", "list", "--failed"), ("dead-letters", "list")]


@pytest.mark.parametrize("command", FAILED_LISTS, ids=" ".join)
def test_cli_tables_show_id_code_and_cause_of_failed_runs_in_80_columns(command: tuple[str, ...]) -> None:
    lines = rows([LATE_AT_NIGHT] * 2, *command, columns="80", TZ="Europe/Berlin")
    assert len(lines) == 5
    assert lines[1:3] == lines[3:]
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith(f"{LATE_AT_NIGHT['id']}  ")
    assert "late" not in lines[0]
    assert lines[2] == "    no such account (POST http://127.0.0.1:28883)"


@pytest.mark.parametrize(
    ("code", "error", "shown"),
    [
        ("exit.2", "exit code 2: /usr/bin/python3: can't open file", "/usr/bin/python3: can't open file"),
        ("exit.2", "exit code 2", "exit code 2"),
        ("signal.9", "ended by signal 9: killed", "killed"),
        ("KeyError", "KeyError: 'customer'", "'customer'"),
        ("http.503", "GET https://a.example answered 503 [busy]", "503 [busy] (GET https://a.example)"),
        ("http.500", "a: b", "a: b"),
        (None, "a: b", "a: b"),
    ],
)
def test_cli_tables_omit_the_beginning_of_an_error_that_repeats_the_code(
    code: str | None, error: str, shown: str
) -> None:
    run = {**RUN, "code": code, "error": error}
    assert rows([run], "runs", "list", "--failed", columns="160")[1].endswith(f"  {shown}")
    assert error in rows([run], "runs", "list", "--failed", "-o", "wide", columns="160")[1]
    assert error in rows([run], "runs", "list", "--failed")[1]


def test_cli_tables_of_failed_runs_end_with_the_command_for_details() -> None:
    page = {"items": [RUN], "next_cursor": None}
    terminal = {"FORCE_COLOR": "1", "COLUMNS": "160"}
    hint = "details: duecourse runs show RUN, or JOB for its last run\n"
    assert told(page, "runs", "list", "--failed", **terminal).stderr == hint
    assert told(page, "runs", "list", "--failed").stderr == ""
    assert told({**page, "items": []}, "runs", "list", "--failed", **terminal).stderr == ""


def test_cli_tables_of_runs_show_time_duration_and_job_in_80_columns_and_name_the_omitted_columns() -> None:
    lasted = {**RUN, "duration_seconds": 60.0}
    long = {**lasted, "duration_seconds": 7387.0}
    page = {"items": [lasted, long], "next_cursor": None}
    shown = told(page, "runs", "list", "--since", "today", FORCE_COLOR="1", COLUMNS="80")
    header, first, _, second, *_ = re.sub(r"\x1b\[[\d;]*m", "", shown.stdout).splitlines()
    assert header.split() == ["run", "time", "(UTC)", "state", "duration", "attempts", "code"]
    assert first.startswith(f"{RUN['id']}  11-21 03:00:00  DEAD   0:01:00")
    assert " 2:03:07 " in second
    assert shown.stderr == "not shown in 80 columns: late; -o wide shows all\n"


def test_cli_runs_are_counted_by_job_and_by_error() -> None:
    busy = {**RUN, "id": "hourly.20261121T010000Z", "job_id": "hourly", "occurrence": "2026-11-21T01:00:00Z"}
    full = {**RUN, "error": "POST https://b.example answered 500 full", "code": "http.500"}
    page = {"items": [RUN, busy, full], "next_cursor": None}
    assert [line.split() for line in told(page, "runs", "list", "--by", "job").stdout.splitlines()[1:]] == [
        ["2", "nightly", "2026-11-21", "03:00:00", RUN["id"]],
        ["1", "hourly", "2026-11-21", "01:00:00", busy["id"]],
    ]
    assert told(page, "runs", "list", "--by", "error", "--json").stdout == indented(
        {
            "items": [
                {
                    "code": "http.503",
                    "error": "503 [busy]",
                    "runs": 2,
                    "first": "2026-11-21T01:00:00Z",
                    "last": "2026-11-21T03:00:00Z",
                    "run": RUN["id"],
                },
                {
                    "code": "http.500",
                    "error": "500 full",
                    "runs": 1,
                    "first": "2026-11-21T03:00:00Z",
                    "last": "2026-11-21T03:00:00Z",
                    "run": RUN["id"],
                },
            ],
            "complete": True,
        }
    )


def test_cli_runs_are_counted_up_to_a_limit_and_the_output_says_so() -> None:
    pages = {"items": [RUN] * 100, "next_cursor": "more"}
    last = told(pages, "runs", "list", "--by", "job").stdout.splitlines()[-1]
    assert last == "Only the newest 1,000 runs were counted; use --since and --until for others."


def indented(document: object) -> str:
    return json.dumps(document, indent=2) + "\n"


def test_cli_tables_pipe_and_a_table_with_all_columns_say_nothing_about_columns() -> None:
    page = {"items": [LATE_AT_NIGHT], "next_cursor": None}
    piped = told(page, "dead-letters", "list")
    wide = told(page, "dead-letters", "list", "-o", "wide", FORCE_COLOR="1", COLUMNS="80")
    assert piped.stderr == wide.stderr == ""
    assert LATE_AT_NIGHT["error"] in piped.stdout


@pytest.mark.parametrize(
    ("item", "command"),
    [
        ({**RUN, "id": f"{RUN['id']}.m{'x' * 22}", "error": "!" * 900}, ("runs", "list", "nightly")),
        ({**RUN, "id": f"{RUN['id']}.b{'x' * 32}", "error": "!" * 900}, ("runs", "list", "nightly")),
        ({**RUN, "id": f"{RUN['id']}.b{'x' * 32}", "error": "!" * 900}, ("dead-letters", "list")),
        ({**JOB, "id": "x" * 64, "next_occurrence": "2026-11-22T03:00:00Z", "error": "!" * 900}, ("jobs", "list")),
    ],
    ids=["on demand", "backfill", "dead letter", "job"],
)
def test_cli_tables_fit_a_long_id_into_80_columns_without_the_least_important_columns(
    item: dict[str, object], command: tuple[str, ...]
) -> None:
    lines = rows([item, item], *command, columns="80")
    assert len(lines) == (3 if command == ("jobs", "list") else 5)
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith((f"{item['id']}  ", "nightly  11-21 03:0", "nightly  2026-11-21 03:0"))
    assert "COMPLETED" in lines[1] or "DEAD" in lines[1] or "2026-11-21 03:01:00" in lines[1]


ON_REQUEST = {**RUN, "id": "billing.20261121T145543Z.mZ8lpBLIE", "error": "POST https://example.com answered 503"}


@pytest.mark.parametrize("command", FAILED_LISTS, ids=" ".join)
def test_cli_tables_show_the_code_of_failed_runs_in_80_columns(command: tuple[str, ...]) -> None:
    aws = {**ON_REQUEST, "code": "AWS.SimpleQueueService.NonExistentQueue"}
    header, first, _, second, _ = rows([ON_REQUEST, aws], *command, columns="80")
    assert "code" in header
    assert "http.503" in first
    assert "AWS.Simple" in second


def test_cli_tables_show_the_progress_of_active_runs_and_no_other_in_80_columns() -> None:
    report = {"progress": 0.4, "note": "45 of 112 invoices", "error": None, "code": None}
    active = {
        **RUN,
        "state": "WAITING",
        "attempts": 1,
        "max_attempts": 1,
        "reason": None,
        "finished_at": None,
        **report,
    }
    for command in (("runs", "list", "--active"), ("runs", "list", "nightly")):
        header, line, ended = rows([active, {**active, "state": "SUCCEEDED"}], *command, columns="80")
        assert "progress" in header
        assert "40%, 45 of 112 i" in line
        assert "40%" not in ended
    assert "progress" not in "".join(rows([RUN], "runs", "list", "--failed"))


def test_cli_tables_show_the_reason_of_a_run_without_a_code_and_both_in_a_wide_table() -> None:
    skipped = {**RUN, "state": "SKIPPED", "reason": "missed", "code": None, "error": None}
    assert "SKIPPED (missed)" in rows([skipped, ON_REQUEST], "runs", "list", columns="80")[1]
    assert "DEAD (attempts_exhausted)" in rows([ON_REQUEST], "runs", "list", "-o", "wide")[1]


@pytest.mark.parametrize("columns", ["", "80"])
@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_cli_tables_show_all_columns_and_the_whole_error_in_a_wide_table(
    command: tuple[str, ...], columns: str
) -> None:
    lines = rows([{**RUN, "error": "!" * 900}], *command, "-o", "wide", columns=columns)
    assert len(lines) == 2
    assert lines[1].endswith("!" * 900)
    for value in (RUN["id"], "2026-11-21 03:01:00", "3/3", "http.503"):
        assert value in lines[1]


@pytest.mark.parametrize("columns", ["20", "60", "80", "100"])
def test_cli_tables_never_wrap_an_id_or_a_time_on_a_narrow_terminal(columns: str) -> None:
    run = {**LONG_RUN, "id": f"{'x' * 64}.20261121T030000Z", "error": "busy " * 20}
    lines = rows([run], "dead-letters", "list", columns=columns)
    assert len(lines) == 3
    assert max(map(len, lines[1:])) <= max(int(columns), 31)
    assert re.match("quarterly[^ ]*…?  2026-11-21 03:01:00", lines[1])


def test_cli_tables_truncate_a_long_schedule_unless_wide() -> None:
    schedule = ",".join(["1/7"] * 60) + " * * * *"
    job = {**JOB, "schedule": schedule, "error": "!" * 300}
    shown = rows([job], "jobs", "list")
    assert len(shown) == 2
    assert re.match(rf"{LONG}  COMPLETED  1/7,[1/7,]+…  - +!+…$", shown[1])
    assert schedule in rows([job], "jobs", "list", "-o", "wide")[1]


def test_cli_tables_have_local_times_and_name_the_zone_in_the_header() -> None:
    summer = {**RUN, "finished_at": "2026-07-21T03:01:00.000Z"}
    assert "died (UTC)" in rows([RUN], "dead-letters", "list")[0]
    assert "died (CET) " in rows([RUN], "dead-letters", "list", TZ="Europe/Berlin")[0]
    header, winters, summers = rows([RUN, summer], "dead-letters", "list", TZ="Europe/Berlin")
    assert "died (CET/CEST) " in header
    assert "2026-11-21 04:01:00  " in winters
    assert "2026-07-21 05:01:00  " in summers


@pytest.mark.parametrize("columns", ["", "80"])
def test_cli_tables_have_local_times_for_one_job(columns: str) -> None:
    jobs = rows([{**JOB, "id": "nightly", "next_occurrence": "2026-11-22T03:00:00Z"}], "jobs", "list", TZ="Asia/Tokyo")
    runs = rows([{**RUN, "reason": None}], "runs", "list", "nightly", "-o", "wide", columns=columns, TZ="Asia/Tokyo")
    assert "next occurrence (JST)" in jobs[0]
    assert "2026-11-22 12:00:00" in jobs[1]
    assert "occurrence (JST)" in runs[0]
    assert "2026-11-21 12:00:00" in runs[1]


@pytest.mark.parametrize("columns", ["", "80"])
def test_cli_tables_without_rows_say_what_was_not_found(columns: str) -> None:
    page: dict[str, object] = {"items": [], "next_cursor": None}
    terminal = {"FORCE_COLOR": "1", "COLUMNS": columns} if columns else {}
    for command, none in (("jobs", "jobs"), ("dead-letters", "dead runs"), ("limits", "limits"), ("runs", "runs")):
        assert told(page, command, "list", **terminal).stdout == f"No {none} match.\n"
    assert told({**page, "next_cursor": "2"}, "runs", "list").stdout.startswith("No runs on this page match.\nmore: ")


def test_cli_tables_name_no_zone_without_a_time() -> None:
    assert "next occurrence  " in rows([JOB], "jobs", "list")[0] + "  "


WORKFLOW_RUN = {
    "run": "nightly.20261121T020000Z",
    "state": "DEAD",
    "reason": "steps_failed",
    "error": None,
    "counts": {},
    "jobs": [
        {"id": LONG, "job_id": LONG, "state": "DEAD", "reason": "not_retryable", "attempts": 2, "error": "!" * 900}
    ],
}


@pytest.mark.parametrize("columns", ["", "80"])
def test_cli_tables_show_one_line_per_step_of_a_workflow_run(columns: str) -> None:
    terminal = {"FORCE_COLOR": "1", "COLUMNS": columns} if columns else {}
    for options, end in (((), "!…"), (("-o", "wide"), "!" * 900)):
        shown = told(WORKFLOW_RUN, "workflows", "show", "nightly.20261121T020000Z", *options, **terminal).stdout
        shown = re.sub("\x1b\\[[0-9;]*m", "", shown)
        (line,) = [line for line in shown.splitlines() if LONG in line]
        assert len(line) <= 80 or line.endswith(end)


def test_cli_tables_show_the_cause_of_a_failed_step_and_the_command_for_its_run() -> None:
    step = {"id": "load", "job_id": "load", "state": "DEAD", "run": "load.20261121T020000Z", "attempts": 1}
    run = {**WORKFLOW_RUN, "jobs": [{**step, "code": "exit.2", "error": "exit code 2: no such table"}]}
    shown = told(run, "workflows", "show", "nightly.20261121T020000Z", FORCE_COLOR="1", COLUMNS="80").stdout
    shown = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert "  no such table" in shown
    assert "exit code 2" not in shown
    assert shown.endswith("duecourse runs show load.20261121T020000Z\n")
    wide = told(run, "workflows", "show", "nightly.20261121T020000Z", "-o", "wide").stdout
    assert re.search("load +DEAD +1 +load.20261121T020000Z +exit code 2: no such table", wide)


def test_cli_tables_show_one_line_per_change_in_the_history_of_a_job() -> None:
    change = {
        "at": "2026-11-21T10:00:00.000Z",
        "principal": "anna",
        "action": "edited",
        "revision": 2,
        "changes": [{"field": "payload", "before": "x" * 400, "after": "y" * 400}],
        "facts": {},
    }
    header, cut = rows([change], "jobs", "history", "nightly", columns="80")
    assert header.startswith("at (UTC)             principal")
    assert re.match(r"2026-11-21 10:00:00  anna       edited  payload x+…$", cut)
    assert rows([change], "jobs", "history", "nightly", "-o", "wide")[1].endswith("y" * 400)


SHORT = {**JOB, "id": "nightly"}
PAUSED = {**SHORT, "state": "PAUSED", "name": "Invoices of Acme", "paused_because": "the bank is down"}


def test_cli_tables_show_names_and_pause_reasons_of_jobs_if_there_are_any() -> None:
    for more in ((), ("-o", "wide")):
        assert "the bank is down  Invoices of Acme" in rows([PAUSED, SHORT], "jobs", "list", *more)[1]
    assert "Invoices of Acme" in rows([{**SHORT, "name": "Invoices of Acme"}], "jobs", "list", columns="80")[1]
    assert rows([SHORT], "jobs", "list")[0].split() == ["job", "state", "schedule", "next", "occurrence"]


def test_cli_tables_retain_pause_reasons_longer_than_names_on_a_narrow_terminal() -> None:
    header, paused, _ = rows(
        [PAUSED, {**SHORT, "next_occurrence": "2026-11-22T03:00:00Z"}], "jobs", "list", columns="80"
    )
    assert header.split() == ["job", "state", "schedule", "next", "occurrence", "(UTC)", "paused", "because"]
    assert "the bank is down" in paused


def test_cli_tables_show_a_job_without_a_schedule_as_on_request() -> None:
    shown = told({"items": [{**JOB, "schedule": None, "state": "ACTIVE"}], "next_cursor": None}, "jobs", "list").stdout
    assert re.search(rf"^{LONG}  ACTIVE +on demand +- *$", shown, re.MULTILINE)
