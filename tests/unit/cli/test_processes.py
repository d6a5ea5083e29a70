"""Commands as processes: what Ctrl-C, a closed pipe, an empty input and slow or foreign answers do to them."""

import fcntl
import os
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.api_events import jwt_caller
from tests.support.http_target import Seen, documents, http_target
from tests.support.served_api import served_api
from tests.support.unchanged import CALLERS, Office
from tests.unit.cli.served import JOB, OPERATION, RUN, served, started

RUNNING = {**RUN, "state": "RUNNING", "reason": None, "error": None, "finished_at": None, "workflow": None}
HINT = f"duecourse: {RUN['id']} continues; follow it with duecourse runs watch {RUN['id']}\n"


def running(path: str, _query: Mapping[str, str]) -> object:
    return JOB if path == "/v1/jobs/nightly" else RUNNING


def test_ctrl_c_while_waiting_for_a_run_says_that_it_continues_and_how_to_follow_it() -> None:
    with served(running) as api, started(api, "jobs", "run", "nightly", "--wait") as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert first == f"{RUN['id']} is RUNNING\n"
    assert second.endswith("  RUNNING 3/3\n")
    assert (process.returncode, errors) == (130, HINT)


def test_ctrl_c_while_watching_a_run_says_that_it_continues() -> None:
    with served(running) as api, started(api, "runs", "watch", RUN["id"]) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, HINT)


def operating(path: str, _query: Mapping[str, str]) -> object:
    return {"runs": 7, "skipped": {}, "more": False} if path.endswith("estimate") else OPERATION


@pytest.mark.parametrize(
    "command", ["dead-letters redrive --pace 1/m --yes", "runs cancel --job nightly --yes", "operations watch op-1"]
)
def test_ctrl_c_while_following_an_operation_says_that_it_continues_and_how_to_cancel_it(command: str) -> None:
    paths: list[str] = []
    seen = threading.Event()

    def answer(path: str, query: Mapping[str, str]) -> object:
        paths.append(path)
        if paths.count("/v1/operations/op-1") == 2:
            seen.set()
        return operating(path, query)

    with served(answer) as api, started(api, *command.split()) as process:
        assert seen.wait(30)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    follow, cancel = "duecourse operations watch op-1", "duecourse operations cancel op-1"
    said = f"duecourse: op-1 continues; follow it with {follow}, or cancel it with {cancel}\n"
    assert (process.returncode, errors) == (130, said)


@pytest.mark.parametrize(
    "command", ["jobs create", "workflows put nightly", "apply -f - --dry-run", "jobs run x --payload @-"]
)
def test_empty_standard_input_is_named(command: str) -> None:
    with started("http://127.0.0.1:9", *command.split()) as process:
        _, errors = process.communicate("", timeout=30)
    assert process.returncode in (1, 2)
    assert errors.endswith("standard input is empty; name a file, or write to standard input\n")


@pytest.mark.parametrize(
    "text", ['\ufeff{"schedule": "0 3 * * *"}', "schedule: 0 3 * * *\n", "\ufeff---\nschedule: 0 3 * * *\n"]
)
def test_job_can_be_yaml_or_have_a_byte_order_mark(text: str) -> None:
    sent = []

    def answer(asked: Seen) -> tuple[int, object]:
        sent.append(asked.json)
        return 201, JOB

    with http_target(documents(answer)) as server, started(server.url(""), "jobs", "create") as process:
        _, errors = process.communicate(text, timeout=30)
    assert (process.returncode, errors, sent) == (0, "", [{"schedule": "0 3 * * *"}])


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, {"message": "Not Found"}, "404"),
        (404, b"<!doctype html><h1>Not found</h1>", "404 with a page for browsers"),
        (502, b" <html>proxy</html>", "502 with a page for browsers"),
        (200, b"<html>Log in</html>", "200 with a page for browsers"),
        (302, None, "302"),
    ],
)
def test_response_of_another_program_is_named(status: int, body: object, said: str) -> None:
    with http_target(documents(lambda _: (status, body))) as server, started(server.url(""), "jobs", "list") as process:
        _, errors = process.communicate(timeout=60)
    where = server.url("")
    said = f"duecourse: no Duecourse API at {where}: the response is {said}; check --api, DUECOURSE_API or the profile"
    assert (process.returncode, errors) == (1, f"{said}\n")


def test_ctrl_c_at_a_prompt_says_that_nothing_was_changed() -> None:
    with terminal() as (_, written), started("http://127.0.0.1:9", "jobs", "delete", "a", stdin=written) as process:
        assert process.stderr is not None
        assert os.read(process.stderr.fileno(), 100).startswith(b"Delete a, ")
        # A signal just before the read is lost, so it is repeated; an exit takes seconds on a busy machine.
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
        errors = process.stderr.read()
    assert process.returncode == 130
    assert errors.endswith("duecourse: interrupted, so nothing was changed\n")


def test_ctrl_c_ends_any_other_command_with_130() -> None:
    def interrupting(_path: str, _query: Mapping[str, str]) -> object:
        process.send_signal(signal.SIGINT)
        return {"items": [], "next_cursor": None}

    with served(interrupting) as api, started(api, "runs", "list") as process:
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors) == (130, "", "duecourse: interrupted; nothing was changed\n")


def test_ctrl_c_during_apply_says_how_many_changes_were_applied(tmp_path: Path) -> None:
    target = "{type: http, url: https://example.com}"
    jobs = [f"id: job-{number}\nschedule: 0 3 * * *\ntarget: {target}" for number in range(40)]
    (tmp_path / "jobs.yaml").write_text("\n---\n".join(jobs))
    office = Office(quota=100)
    office.api.caller = jwt_caller("default", *CALLERS["everything"])

    once = iter([signal.SIGINT])

    def interrupting(*_request: str) -> None:
        if len(api.written) == 12:
            for number in once:
                process.send_signal(number)
        if len(api.written) >= 12:
            time.sleep(0.1)

    with served_api(office.api) as api, started(api.address, "apply", "-f", str(tmp_path), "--yes") as process:
        api.before_each(interrupting)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert 12 <= len(api.written) < 40
    assert errors == (
        f"duecourse: interrupted; {len(api.written)} of 40 changes were applied; run the command again to continue\n"
    )


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """The two ends of a pseudo-terminal of 80 columns: what a person sees, and what a process writes to."""
    seen, written = os.openpty()
    fcntl.ioctl(written, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        yield seen, written
    finally:
        os.close(written)
        os.close(seen)


def pages(path: str, query: Mapping[str, str]) -> object:
    """Three pages of 100 jobs; the ids of the second one are longer."""
    assert path == "/v1/jobs"
    number = int(query.get("cursor", "1"))
    items = [{**JOB, "id": f"job-{'x' * number * 5}-{each}"} for each in range(100)]
    return {"items": items, "next_cursor": str(number + 1) if number < 3 else None}


def test_pages_are_printed_as_they_arrive() -> None:
    may_go_on = threading.Event()

    def answer(path: str, query: Mapping[str, str]) -> object:
        assert "cursor" not in query or may_go_on.wait(30)
        return pages(path, query)

    with served(answer) as api, started(api, "jobs", "list") as process:
        assert process.stdout is not None
        header = process.stdout.readline()
        assert process.stdout.readline().startswith("job-xxxxx-0 ")
        may_go_on.set()
        rest = process.stdout.read()
        process.wait(30)
    assert (process.returncode, len(rest.splitlines())) == (0, 299)
    assert header not in rest
    assert f"job-{'x' * 10}-99  ACTIVE" in rest


def test_closed_pipe_stops_a_list_after_a_page() -> None:
    asked = list[str]()

    def answer(path: str, query: Mapping[str, str]) -> object:
        asked.append(query.get("cursor", "1"))
        if "cursor" in query:
            time.sleep(0.5)  # the reader has ended by then
        return pages(path, query)

    with served(answer) as api, started(api, "jobs", "list", "-o", "name") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(30) == 1
        assert process.stderr is not None
        errors = process.stderr.read()
    assert (errors, len(asked) < 3) == ("", True)


def test_terminal_shows_what_is_awaited_after_two_seconds() -> None:
    def slow(_path: str, _query: Mapping[str, str]) -> object:
        time.sleep(3)
        return {"items": [], "next_cursor": None}

    with served(slow) as api, terminal() as (seen, written), started(api, "jobs", "list", stderr=written) as process:
        process.communicate(timeout=30)
        shown = os.read(seen, 4096).decode()
    assert process.returncode == 0
    assert f"waiting for {api} …" in shown
