"""Tables show ids whole and texts from elsewhere as they are, whatever stands in them."""

from __future__ import annotations

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
def test_an_error_is_shown_as_the_target_said_it(command: tuple[str, ...], error: str) -> None:
    result = told({"items": [{**RUN, "error": error}], "next_cursor": None}, *command)
    assert result.exit_code == 0, result.output
    assert error in result.stdout


@pytest.mark.parametrize("command", [*LISTS, ("runs", "show", "x")], ids=" ".join)
def test_an_error_cannot_steer_the_terminal(command: tuple[str, ...]) -> None:
    run = {**RUN, "error": "a\x1b[2Jb\x9bc\u202ed\ne"}
    result = told({"items": [run], "next_cursor": None, **run}, *command)
    assert "a\ufffd[2Jb\ufffdc\ufffdd e" in result.stdout


@pytest.mark.parametrize("command", [*LISTS, ("runs", "show", "x")], ids=" ".join)
def test_json_for_programs_says_the_same_and_cannot_steer_the_terminal_either(command: tuple[str, ...]) -> None:
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
    **dict.fromkeys(("id", "job_id", "state", "reason", "error", "code", "schedule"), STEERING),
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
    ("runs", "show", "x"),
    ("runs", "cancel", "x"),
    ("runs", "redrive", "x"),
    ("dead-letters", "list", "--job", "x"),
)


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["people", "programs"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_ids_states_cursors_and_all_else_cannot_steer_the_terminal(
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
def test_an_answer_that_is_none_cannot_either(command: tuple[str, ...]) -> None:
    result = told({"id": STEERING, STEERING: STEERING}, *command)
    assert result.exit_code == 1
    assert unprintable(result.output) == []


def test_a_cursor_that_no_request_can_carry_is_one_line() -> None:
    result = told({"items": [], "next_cursor": "\ud800"}, "jobs", "list")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "contains an unpaired surrogate" in result.stderr


def test_a_refusal_cannot_steer_the_terminal() -> None:
    result = told(b"<html>\x1b[2J</html>", "jobs", "list")
    assert result.exit_code == 1
    assert "\x1b" not in result.stderr


def test_a_pipe_gets_ids_and_states_whole() -> None:
    runs = told({"items": [LONG_RUN], "next_cursor": None}, "runs", "list", LONG).stdout
    dead = told({"items": [LONG_RUN], "next_cursor": None}, "dead-letters", "list").stdout
    jobs = told({"items": [JOB], "next_cursor": None}, "jobs", "list").stdout
    assert re.search(rf"^{LONG_RUN['id']} .* DEAD \(attempts_exhausted\)", runs, re.MULTILINE)
    assert f"{LONG_RUN['id']}  2026-11-21 03:01:00Z  3/3       http.503" in dead
    assert f"{LONG}  COMPLETED  0 3 * * *" in jobs


def test_a_schedule_wider_than_a_pipe_cuts_nothing_off() -> None:
    schedule = ",".join(["1/7"] * 60) + " * * * *"
    shown = told({"items": [{**JOB, "schedule": schedule}], "next_cursor": None}, "jobs", "list").stdout
    assert shown.count("/") == 60
    assert f"{LONG}  COMPLETED" in shown


@pytest.mark.parametrize("columns", ["20", "60", "80", "100"])
def test_a_narrow_terminal_folds_an_id_and_loses_none_of_it(columns: str) -> None:
    run = {**LONG_RUN, "id": f"{'x' * 64}.20261121T030000Z", "error": "busy " * 20}
    shown = told({"items": [run], "next_cursor": None}, "dead-letters", "list", FORCE_COLOR="1", COLUMNS=columns).stdout
    assert shown.count("x") == 64


@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_a_terminal_folds_the_error_before_it_folds_an_id(command: tuple[str, ...]) -> None:
    run = {**RUN, "error": "!" * 300, "reason": None}
    shown = told({"items": [run], "next_cursor": None}, *command, FORCE_COLOR="1", COLUMNS="80").stdout
    assert RUN["id"] in shown
    assert shown.count("!") == 300


def test_a_job_without_a_schedule_runs_when_asked() -> None:
    shown = told({"items": [{**JOB, "schedule": None, "state": "ACTIVE"}], "next_cursor": None}, "jobs", "list").stdout
    assert re.search(rf"^{LONG}  ACTIVE +on request +- *$", shown, re.MULTILINE)
