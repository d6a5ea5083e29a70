"""`duecourse local` from the first start to the second, as somebody at a terminal has it.

The command keeps its data in the checkout, so it gets one of its own: a folder of links to everything in this one.
"""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from duecourse.client import Client
from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
OWN = {".git", ".duecourse"}
UP = "its jobs fire"
START_SECONDS = 600.0
"""Most of it is for a machine that is busy with something else."""
STOP_SECONDS = FIRE_SECONDS = float(PATIENCE_SECONDS)
HOUR = 3_600.0


class Command:
    """`duecourse local` in a process group of its own, and the lines that it has printed so far."""

    def __init__(self, checkout: Path, *options: str) -> None:
        self.said: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [str(checkout / ".venv" / "bin" / "duecourse"), "local", *options],
            cwd=checkout,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip())
        self._lines.put(None)

    def until(self, words: str | None, patience: float) -> None:
        """Wait for a line with these words (None: for the end of all lines)."""
        deadline = time.monotonic() + patience
        while True:
            line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.001))
            if line is None:
                assert words is None, f"ended before it said {words!r}:\n" + "\n".join(self.said)
                return
            self.said.append(line)
            if words is not None and words in line:
                return

    def says(self, words: str) -> bool:
        """Whether any line so far has these words."""
        return any(words in line for line in self.said)

    @property
    def api(self) -> str:
        """The API's address, from its step."""
        (line,) = (line for line in self.said if " API " in line and "http" in line)
        return line.split()[-1]

    def end(self) -> int:
        """The exit code, once it has ended by itself."""
        self.until(None, STOP_SECONDS)
        return self._process.wait(STOP_SECONDS)

    def interrupt(self) -> int:
        """Ctrl-C, and the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self.end()

    def close(self) -> None:
        """Whatever happened, nothing is left."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._reader.join(STOP_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    for entry in ROOT.iterdir():
        if entry.name not in OWN:
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture(scope="module")
def first(checkout: Path) -> Iterator[Command]:
    """The first start, up."""
    command = Command(checkout)
    try:
        command.until(UP, START_SECONDS)
        yield command
    finally:
        command.close()


def off_for(checkout: Path, seconds: float) -> None:
    """As if the stack had been stopped so long ago: the state on disk says when the last tick came."""
    state = checkout / ".duecourse" / "local" / "ministack" / "dynamodb.json"
    document = json.loads(state.read_text())
    (tick,) = (
        table["items"]["TICK"]["LAST"]
        for table in document["payload"]["tables"]["data"].values()
        if "TICK" in table["items"]
    )
    tick["at"]["N"] = str(float(tick["at"]["N"]) - seconds)
    state.write_text(json.dumps(document))


def test_local_command_second_start_names_the_address_of_the_running_stack(checkout: Path, first: Command) -> None:
    second = Command(checkout)
    try:
        assert second.end() == 2
    finally:
        second.close()
    (line,) = second.said
    assert f"a local stack is already running: {first.api}" in line


def test_local_command_stops_on_ctrl_c_with_a_message_and_starts_again_after_an_hour(
    checkout: Path, first: Command
) -> None:
    address = first.api
    (receiver,) = (line.split("=")[1] for line in first.said if "export RECEIVER=" in line)
    assert first.says(f"{address}/console")
    hello = {"id": "hello", "schedule": "rate(5 seconds)", "target": {"type": "http", "url": receiver}}
    with Client(address, trust_env=False) as client:
        assert list(client.list_jobs()) == []
        client.create_job({**hello, "payload": {"greeting": "good morning"}})
    first.until("received hello.", FIRE_SECONDS)
    assert first.said[-1].endswith(': {"greeting":"good morning"}')
    assert first.interrupt() == 0
    assert first.says("saving its state")
    assert first.said[-1] == "stopped; all processes have ended"
    off_for(checkout, HOUR)

    again = Command(checkout)
    try:
        again.until(UP, START_SECONDS)
        assert again.api == address
        with Client(address, trust_env=False) as client:
            assert client.get_health().status == "ok"
        assert (
            httpx.get(f"{address}/v1/jobs", headers={"Origin": "https://evil.example"}, trust_env=False).status_code
            == 403
        )
        again.until("received hello.", FIRE_SECONDS)
        # Nothing was made anew that stands there already.
        assert again.says("nothing has changed")
        assert not again.says("synthesis")
        assert not again.says("cdk bootstrap")
        assert again.interrupt() == 0
    finally:
        again.close()


def test_local_command_authentication_gives_two_teams_their_own_tokens(checkout: Path) -> None:
    command = Command(checkout, "--auth")
    try:
        command.until(UP, START_SECONDS)
        tokens = {
            name: token
            for line in command.said
            if "_TOKEN=ey" in line
            for name, token in [line.strip().removeprefix("export ").split("=", 1)]
        }
        with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as http:

            def status(method: str, path: str, token: str | None, **more: object) -> int:
                headers = {} if token is None else {"Authorization": f"Bearer {token}"}
                return http.request(method, f"{command.api}/v1{path}", headers=headers, **more).status_code  # type: ignore[arg-type]

            job = {"schedule": None, "target": {"type": "http", "url": "https://example.com/"}}
            assert status("PUT", "/jobs/report", tokens["ACME_TOKEN"], json=job) == 201
            assert status("GET", "/jobs/report", tokens["ACME_TOKEN"]) == 200
            assert status("GET", "/jobs/report", tokens["GLOBEX_TOKEN"]) == 404
            assert status("GET", "/jobs/report", None) == 401
            program = str(checkout / ".venv" / "bin" / "duecourse")
            issued = subprocess.run(
                [program, "local", "token", "acme", "--scope", "jobs:read:tag=billing"],
                cwd=checkout,
                capture_output=True,
                text=True,
                check=True,
            )
            assert status("GET", "/jobs/report", issued.stdout.strip()) == 403
        assert command.interrupt() == 0
    finally:
        command.close()
