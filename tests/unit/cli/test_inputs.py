"""What commands read: files and standard inputs that are empty, only white space, not UTF-8, closed or endless."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.cli.served import JOB, duecourse, served, started

READ = {
    "jobs create {}": 2,
    "apply -f {} --dry-run": 1,
    "jobs apply -f {} --dry-run": 1,
    "workflows put nightly {}": 2,
    "jobs run nightly --payload @{}": 2,
    "import crontab {} --queue q --timezone UTC": 2,
    "import kubernetes {} --queue q --timezone UTC": 2,
    "import systemd {} --queue q --timezone UTC": 2,
    "import celery {} --queue q --timezone UTC": 2,
    "import eventbridge {}": 2,
    "calendars import closed {}": 2,
    "work --shell --queue q --once --allow {}": 2,
}
NO_API = "http://127.0.0.1:9"
TEXTS = {
    "nothing": (b"", "is empty; "),
    "white space": (b" \n\t\n", "is empty; "),
    "only a byte order mark": (b"\xef\xbb\xbf", "is empty; "),
    "UTF-16": ("{}".encode("utf-16"), "the text is not UTF-8; save it as UTF-8"),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("command", READ)
def test_inputs_that_cannot_be_read_are_named_with_a_remedy(command: str, text: str, tmp_path: Path) -> None:
    content, said = TEXTS[text]
    file = tmp_path / "file.timer"
    file.write_bytes(content)
    for source, name, remedy in (
        (str(file), str(file), "write to it, or name another file"),
        ("-", "standard input", "name a file, or write to standard input"),
    ):
        result = duecourse(NO_API, *command.format(source).split(), text=content)
        last = result.stderr.splitlines()[-1].removeprefix("duecourse: ")
        assert result.exit_code == READ[command], result.output
        assert last == (f"{name} {said}{remedy}" if said.startswith("is") else f"{name}: {said}")


@pytest.mark.parametrize("command", ["jobs create -", "next --jsonl", "secrets put x", "jobs delete a"])
def test_inputs_that_are_closed_are_empty(command: str) -> None:
    start = [sys.executable, "-c", "from duecourse.cli import start; start()", *command.split()]
    own = {"PATH": os.environ["PATH"], "HOME": "/", "DUECOURSE_API": NO_API}
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", *start]
    ended = subprocess.run(shell, capture_output=True, text=True, env=own, timeout=60, check=False)
    assert ended.returncode == (0 if "jsonl" in command else 2), ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_inputs_without_an_end_are_refused() -> None:
    result = duecourse(NO_API, "jobs", "create", "/dev/zero")
    assert result.exit_code == 2
    assert result.stderr == "duecourse: /dev/zero has more than 67,108,864 bytes; use several files\n"


@pytest.mark.parametrize(
    "command",
    [
        "runs watch x.y --every nan",
        "upcoming --hours nan",
        "jobs run x --payload NaN",
        "limits set x",
        "limits set x 1 --burst 2",
    ],
)
def test_inputs_that_are_not_numbers_end_in_one_line(command: str) -> None:
    result = duecourse(NO_API, *command.split())
    assert (result.exit_code, result.stderr.count("\n"), result.stderr[:11]) == (2, 1, "duecourse: ")


def test_ctrl_c_during_a_list_says_how_much_was_printed_and_continues() -> None:
    def answer(_path: str, query: Mapping[str, str]) -> object:
        if "cursor" in query:
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        return {"items": [{**JOB, "id": f"job-{each}"} for each in range(3)], "next_cursor": "more"}

    with served(answer) as api, started(api, "jobs", "list", "--tag", "a b", "-o", "name") as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "job-0\njob-1\njob-2\n")
    more = "duecourse jobs list --tag 'a b' --output name --cursor more"
    assert errors == f"duecourse: interrupted after 3 jobs; the others: {more}\n"


def test_ctrl_c_during_a_pause_of_many_jobs_says_that_it_can_be_continued() -> None:
    asked = list[str]()

    def answer(path: str, _query: Mapping[str, str]) -> object:
        asked.append(path)
        if len(asked) == 2:
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        return {"changed": 100, "failed": [], "next_cursor": f"more-{len(asked)}"}

    with served(answer) as api, started(api, "jobs", "pause", "--all", "--yes") as process:
        _, errors = process.communicate(timeout=60)
    said = "interrupted; 100 jobs or more are paused; repeat the command to continue"
    assert (process.returncode, errors) == (130, f"duecourse: {said}\n")


def test_ctrl_c_during_a_change_says_that_it_may_have_been_made() -> None:
    def answer(_path: str, _query: Mapping[str, str]) -> object:
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        return JOB

    with served(answer) as api, started(api, "jobs", "pause", "nightly") as process:
        _, errors = process.communicate(timeout=60)
    said = "interrupted; the last change may have been made; check it before you repeat the command"
    assert (process.returncode, errors) == (130, f"duecourse: {said}\n")
