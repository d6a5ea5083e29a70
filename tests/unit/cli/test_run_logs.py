"""`duecourse runs logs`: the pages of a log as lines, and how it follows them."""

import json
import time
from _thread import interrupt_main
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from click.testing import Result

from tests.support.http_target import Seen, answering, documents, http_target
from tests.unit.cli.served import duecourse, interruptible

RUN = "nightly.20261121T030000Z"


def page(*texts: tuple[int, str], after: str | None = "1:work.1.1.4", more: bool = False, is_open: bool = False) -> Any:
    found = [
        {"attempt": attempt, "source": "work", "written_at": "2026-11-21T03:00:05.000Z", "text": text}
        for attempt, text in texts
    ]
    return 200, {"texts": found, "after": after, "more": more, "open": is_open}


BUSY = 503, {"type": "/problems/busy", "title": "Service Unavailable", "detail": "Try again."}


def told(answers: list[Any], *arguments: str) -> tuple[Result, list[str]]:
    """What the command prints if the API answers so, one after the other, and the requests."""
    asked: list[str] = []

    def answer(seen: Seen) -> tuple[int, object]:
        asked.append(seen.path)
        found: tuple[int, object] = answers.pop(0)
        return found

    with http_target(documents(answer)) as server:
        result = duecourse(server.url(""), "runs", "logs", RUN, *arguments)
    assert answers == []
    return result, asked


def test_run_logs_are_printed_line_by_line_from_all_pages() -> None:
    result, asked = told([page((1, "one\ntw"), more=True), page((1, "o\n"), (2, "three"), after="2:work.1.1.5")])
    assert result.stdout == "one\ntwo\nthree\n"
    assert result.stderr == "attempt 1:\nattempt 2:\n"
    assert asked == [f"/v1/runs/{RUN}/log", f"/v1/runs/{RUN}/log?after=1%3Awork.1.1.4"]
    assert result.exit_code == 0


def test_run_logs_of_one_attempt_are_requested_alone() -> None:
    result, asked = told([page((2, "three\n"))], "--attempt", "2")
    assert (result.stdout, result.stderr) == ("three\n", "")
    assert asked == [f"/v1/runs/{RUN}/log?attempt=2"]


def test_run_logs_are_followed_until_no_line_can_follow() -> None:
    answers = [
        page(after=None, is_open=True),
        page((1, "one\n"), is_open=True),
        BUSY,
        BUSY,
        page(is_open=True),
        page((1, "two\n"), after="1:work.1.1.8"),
    ]
    result, _ = told(answers, "--follow", "--every", "0.2")
    assert result.stdout == "one\ntwo\n"
    assert "Try again" in result.stderr
    assert result.exit_code == 0


def test_run_logs_are_followed_after_a_refusal_for_too_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    often = 429, {"type": "/problems/too-many-requests", "title": "Too Many Requests", "detail": "Too many."}
    replies = [page((1, "one\n"), is_open=True), often, page((1, "two\n"), after="1:work.1.1.8")]

    def reply(handler: BaseHTTPRequestHandler) -> None:
        status, document = replies.pop(0)
        answering(status, json.dumps(document).encode(), Connection="close", Retry_After="90")(handler)

    with http_target(reply) as server:
        result = duecourse(server.url(""), "runs", "logs", RUN, "--follow", "--every", "0.2")
    assert (result.exit_code, result.stdout) == (0, "one\ntwo\n")
    assert "Too many" in result.stderr
    assert pauses == [0.2, 90]


def test_run_logs_first_failure_is_an_error_also_with_follow() -> None:
    unknown = 404, {"type": "/problems/unknown-run", "title": "Not Found", "detail": "There is no such run."}
    result, _ = told([unknown], "--follow")
    assert result.exit_code == 1
    assert "There is no such run" in result.stderr


def test_run_logs_that_may_grow_name_the_option() -> None:
    result, _ = told([page((1, "one\n"), is_open=True)], "--attempt", "1")
    assert result.stderr == f"the log may grow; follow it: duecourse runs logs {RUN} --follow\n"


def test_run_logs_that_are_empty_name_the_remedy() -> None:
    result, _ = told([page(after=None)])
    assert result.stdout == ""
    assert result.stderr == "no log is stored; the how-to page read-a-log shows how to write one\n"


def test_run_logs_cannot_control_the_terminal() -> None:
    result, _ = told([page((1, "a\x1b[2Jb\rc\r\n"))])
    assert "\x1b" not in result.stdout
    assert result.stdout.count("\n") == 1


def test_run_logs_of_another_source_begin_on_a_new_line() -> None:
    (status, first), (_, second) = page((1, "half"), more=True), page((1, "START\n"))
    second["texts"][0]["source"] = "call"
    result, _ = told([(status, first), (status, second)])
    assert result.stdout == "half\nSTART\n"


def test_run_logs_last_line_without_an_end_is_printed_when_interrupted() -> None:
    def answer(seen: Seen) -> tuple[int, object]:
        if "after" in seen.path:
            interrupt_main()
        found: tuple[int, object] = page((1, "one\ntwo"), is_open=True) if "after" not in seen.path else page()
        return found

    with http_target(documents(answer)) as server, interruptible():
        result = duecourse(server.url(""), "runs", "logs", RUN, "--follow", "--every", "0.2")
    assert (result.exit_code, result.stdout) == (0, "one\ntwo\n")


def test_run_logs_as_json_have_a_line_for_each_part() -> None:
    result, _ = told([page((1, "one\n"), (1, "two\n"))], "--json")
    assert [json.loads(line)["text"] for line in result.stdout.splitlines()] == ["one\n", "two\n"]
