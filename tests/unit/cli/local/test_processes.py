"""Child processes end with everything they started, and signals end a command once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from duecourse.cli.local.emulator import process
from duecourse.cli.local.emulator.environment import free_port
from duecourse.cli.local.emulator.ministack import MiniStack, last_line
from duecourse.cli.local.emulator.process import Stopped, stoppable
from duecourse.cli.terminal import CliError
from tests.support.waiting import PATIENCE_SECONDS, awaited

STUBBORN = (
    "import signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)\n"
)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").exists() else True


def test_a_process_that_ignores_the_request_is_killed_with_its_children(tmp_path: Path) -> None:
    child = process.start(
        [sys.executable, "-c", STUBBORN], environment=os.environ, folder=tmp_path, output=subprocess.PIPE
    )
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())

    assert process.stop(child, patience=0.1) is False
    assert child.poll() is not None
    awaited("the grandchild's end", lambda: not is_alive(grandchild))


def test_a_process_that_ends_when_asked_ended_gracefully(tmp_path: Path) -> None:
    child = process.start(["sleep", "600"], environment=os.environ, folder=tmp_path, output=subprocess.DEVNULL)

    assert process.stop(child, patience=PATIENCE_SECONDS) is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_command_once_and_stopping_is_not_interrupted(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    cleaned = False

    def stopped_twice() -> None:
        nonlocal cleaned
        with stoppable():
            try:
                signal.raise_signal(number)
            finally:
                signal.raise_signal(number)
                cleaned = True

    with pytest.raises(Stopped) as caught:
        stopped_twice()

    assert cleaned
    assert caught.value.exit_code == 128 + number
    assert signal.getsignal(number) == before


def test_an_emulator_that_cannot_start_is_one_line_with_its_last_words_and_its_log(tmp_path: Path) -> None:
    class Broken(MiniStack):
        command = (sys.executable, "-c", "print('first'); print('no such module'); raise SystemExit(3)")

    log = tmp_path / "log"
    with (
        pytest.raises(CliError, match=rf"ended while starting: no such module \(log: {log}\)"),
        Broken(port=free_port(), state=tmp_path / "state", temporary=tmp_path, log=log),
    ):
        pass


def test_an_emulator_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    class Silent(MiniStack):
        command = ("sleep", "600")

    silent = Silent(port=free_port(), state=tmp_path / "state", temporary=tmp_path, log=tmp_path / "log", kept=True)
    silent.start()
    with pytest.raises(CliError, match="did not answer within 0 s: it said nothing"):
        silent.wait_until_ready(patience=0.2)
    assert silent.stop() is True
    assert silent.has_ended


def test_the_last_line_of_a_log_is_the_last_that_says_something(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\n two \n\n")

    assert last_line(tmp_path / "log") == "two"
    assert last_line(tmp_path / "none") == "it said nothing"
