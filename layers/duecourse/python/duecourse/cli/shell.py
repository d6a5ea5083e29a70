"""Runs jobs' shell commands, and checks which are allowed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, cast

from duecourse.worker import DoNotRetry, Failed, WorkerRun

TAIL_CHARACTERS = 1_900
"""The maximum length of the output's end in a failure. An error has at most 2,000 characters."""
LOG_BYTES = 64 * 1024
"""The maximum size of the part of the output that the log of the run keeps: half of it is the beginning."""
TAIL_BYTES = LOG_BYTES // 2
LOOK_SECONDS = 0.2
"""The interval at which a running command is checked for cancellation and timeout."""
TERM_SECONDS = 10.0
"""The time between SIGTERM and SIGKILL for a command that must end."""
OUTPUT_SECONDS = 5.0
"""The maximum wait for the end of the output after the command has ended, because its child processes can keep the
output open.
"""

OWN_PREFIX, SHARED = "DUECOURSE_", frozenset({"DUECOURSE_API"})
"""Commands do not receive the worker's variables with this prefix, which can be tokens, secrets and accounts. Only the
address of the API is shared.
"""


_QUOTED = re.compile(r'^["#]|^\s*$|[\n\r]')
"""Commands that must be quoted in a line."""


def read_allowed(text: str) -> frozenset[str]:
    """Return the commands of a file. Each line is an unchanged command, or a JSON string if it starts with a double
    quote. Only a newline, with an optional carriage return before it, ends a line. Raises ValueError with the number of
    the line.
    """
    found = set()
    for number, line in enumerate(re.split("\r?\n", text), 1):
        if line.startswith('"'):
            try:
                found.add(str(json.loads(line)))
            except ValueError as error:
                raise ValueError(
                    f"line {number} starts with a double quote but is not a JSON string: {error}"
                ) from error
        elif line.strip() and not line.startswith("#"):
            found.add(line)
    return frozenset(found)


def written_allowed(commands: Collection[str]) -> str:
    """Return the commands in the format that `read_allowed` reads."""
    lines = [json.dumps(each) if _QUOTED.search(each) else each for each in dict.fromkeys(commands)]
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs jobs' shell commands. `allowed` has the allowed commands; None allows every command. `timeout` is in
    seconds; with None, only the timeout of the run applies.
    """

    allowed: frozenset[str] | None
    timeout: float | None = None
    folder: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    _running: set[int] = field(default_factory=set, repr=False)

    def work(self, run: WorkerRun) -> object:
        """Run the command of a run and return the end of its output. Raises Failed if it fails, DoNotRetry if it cannot
        be run.
        """
        command = _command(run)
        if self.allowed is not None and command not in self.allowed:
            raise DoNotRetry(
                f"the command is not in the file of allowed commands: {command[:200]}", code="shell.not_allowed"
            )
        with self._started(command, run) as process:
            kept = _Output(cast("IO[bytes]", process.stdout), run)
            ended = self._awaited(process, run)
            output = kept.end(OUTPUT_SECONDS)
        if ended is not None:
            raise Failed(_told(ended, output), code=f"shell.{ended}")
        if process.returncode < 0:
            raise Failed(_told(f"ended by signal {-process.returncode}", output), code=f"signal.{-process.returncode}")
        if process.returncode:
            raise Failed(_told(f"exit code {process.returncode}", output), code=f"exit.{process.returncode}")
        return {"exit_code": 0, "output": output}

    def end_all(self) -> None:
        """Kill all running commands, because their results would not be reported."""
        for group in tuple(self._running):
            _signal(group, signal.SIGKILL)

    @contextmanager
    def _started(self, command: str, run: WorkerRun) -> Iterator[subprocess.Popen[bytes]]:
        """Start the command in a separate process group, which has ended when the context exits."""
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=_environment(self.environment, run),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Failed(f"cannot be started: {error}", code="shell.not_started") from error
        self._running.add(process.pid)
        try:
            yield process
        finally:
            self._running.discard(process.pid)

    def _awaited(self, process: subprocess.Popen[bytes], run: WorkerRun) -> str | None:
        """Wait for the end of the process. Return the reason why it was ended early, or None."""
        begun, why, killed_at = self.clock(), None, 0.0
        while True:
            try:
                process.wait(LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                now = self.clock()
                if why is None and (why := self._why_end(run, now - begun)) is not None:
                    _signal(process.pid, signal.SIGTERM)
                    killed_at = now + TERM_SECONDS
                elif why is not None and now >= killed_at:
                    _signal(process.pid, signal.SIGKILL)
            else:
                return why

    def _why_end(self, run: WorkerRun, seconds: float) -> str | None:
        if run.cancelled.is_set():
            return "cancelled"
        return "timeout" if self.timeout is not None and seconds >= self.timeout else None


class _Output:
    """Reads an output to its end. Adds its beginning to the log of the run at once, and its last part at the end. Bytes
    that are not UTF-8 become U+FFFD.
    """

    def __init__(self, output: IO[bytes], run: WorkerRun) -> None:
        self._run = run
        self._tail = bytearray()
        self._size = self._logged = 0
        self._ended = False
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, args=(output,), name="output", daemon=True)
        self._thread.start()

    def end(self, patience: float) -> str:
        """Return the last part of the output, after waiting at most `patience` seconds for its end. Complete the log;
        later output is dropped.
        """
        self._thread.join(patience)
        with self._lock:
            self._ended = True
            rest = self._size - self._logged
            if lost := max(rest - len(self._tail), 0):
                self._log(f"{self._decoder.decode(b'', final=True)}\n[{lost} bytes of the output are not kept]\n")
                self._decoder.reset()
            self._log(self._decoder.decode(bytes(self._tail[-rest:] if rest else b""), final=True))
            return bytes(self._tail).decode("utf-8", "replace")[-TAIL_CHARACTERS:].strip()

    def _read(self, output: IO[bytes]) -> None:
        with output:
            while chunk := os.read(output.fileno(), 65_536):
                with self._lock:
                    if self._ended:
                        continue  # a process in the background can continue to write
                    first = chunk[: LOG_BYTES - TAIL_BYTES - self._logged]
                    self._logged += len(first)
                    self._size += len(chunk)
                    self._tail += chunk
                    del self._tail[:-TAIL_BYTES]
                    self._log(self._decoder.decode(first))

    def _log(self, text: str) -> None:
        if self._run.token is not None:
            self._run.log(text, end="")


def _command(run: WorkerRun) -> str:
    command = run.payload.get("command") if isinstance(run.payload, dict) else None
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise DoNotRetry('the payload must be {"command": "..."}', code="shell.bad_payload")
    return command


def _environment(own: Mapping[str, str], run: WorkerRun) -> dict[str, str]:
    told = {
        "DUECOURSE_RUN_ID": run.run_id,
        "DUECOURSE_JOB_ID": run.job_id,
        "DUECOURSE_ATTEMPT": str(run.attempt),
        "DUECOURSE_SCHEDULED_AT": run.scheduled_at,
        "DUECOURSE_IDEMPOTENCY_KEY": run.idempotency_key,
    }
    shared = {name: value for name, value in own.items() if not name.startswith(OWN_PREFIX) or name in SHARED}
    return shared | told


def _told(what: str, output: str) -> str:
    return f"{what}: {output}" if output else what


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # it has ended
