"""MiniStack, the AWS emulator of the local stack, as a child process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from duecourse.cli.local.emulator import environment, process
from duecourse.cli.local.emulator.environment import LOOPBACK
from duecourse.cli.local.remedies import remedied
from duecourse.cli.terminal import CliError

READY_SECONDS = 180.0
"""The maximum duration of the start on a busy machine. It usually takes one second."""
SAVE_SECONDS = 30.0
"""The maximum duration of saving the state. A Lambda function that calls MiniStack while it stops can use all of it."""
STOP_SECONDS = 1.0
POLL_SECONDS = 0.1
HEALTH = "/_ministack/health"
COLD_START = "cold start"


class MiniStack:
    """One MiniStack on a loopback port, used as a context manager. If `kept`, it saves its state when it stops."""

    command: Sequence[str] = (sys.executable, "-m", "duecourse.cli.local.emulator.emulator")

    def __init__(
        self,
        *,
        port: int,
        state: Path,
        temporary: Path,
        log: Path,
        kept: bool = False,
        region: str = environment.REGION,
        inherited: Mapping[str, str] = os.environ,
    ) -> None:
        self.endpoint = f"http://{LOOPBACK}:{port}"
        self.log = log
        self._state = state
        self._patience = SAVE_SECONDS if kept else STOP_SECONDS
        self._environment = environment.ministack(
            inherited, port=port, state=state, temporary=temporary, kept=kept, region=region
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process. Its output is written to the log."""
        self._state.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            self._process = process.start(self.command, environment=self._environment, folder=self._state, output=log)

    def wait_until_ready(self, patience: float = READY_SECONDS) -> None:
        """Wait until the health endpoint responds."""
        deadline = time.monotonic() + patience
        with httpx.Client(trust_env=False, timeout=2.0) as http:
            while time.monotonic() < deadline:
                if self.has_ended:
                    raise self._failure("MiniStack ended during its start")
                try:
                    if http.get(self.endpoint + HEALTH).is_success:
                        return
                except httpx.TransportError:
                    pass
                time.sleep(POLL_SECONDS)
        raise self._failure(f"MiniStack did not respond within {patience:.0f} s")

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._process is None or self._process.poll() is not None

    def require_running(self) -> None:
        """Raise CliError if the process has ended unexpectedly."""
        if self.has_ended:
            raise self._failure("MiniStack has ended unexpectedly")

    def stop(self) -> bool:
        """Stop the process; if it is `kept`, it saves its state first. Return False if it had to be killed."""
        running, self._process = self._process, None
        return process.stop(running, self._patience) if running else True

    def cold_starts(self) -> int:
        """Return the number of Lambda processes that MiniStack has started."""
        return self.log.read_text(errors="replace").count(COLD_START) if self.log.exists() else 0

    def _failure(self, what: str) -> CliError:
        said = last_line(self.log)
        return CliError(remedied(f"{what}: {said} (log: {self.log})", said))


def last_line(log: Path) -> str:
    """Return the last line of a log that is not empty."""
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed no output"
