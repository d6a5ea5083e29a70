"""Child processes in Python that report when they are ready. Each ends with the context that started it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from duecourse.cli.local.emulator import environment, process
from duecourse.cli.local.emulator.ministack import last_line
from duecourse.cli.terminal import CliError

READY_SECONDS = 60.0
STOP_SECONDS = 5.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Child:
    """A ready process; `said` is the text that it wrote when it became ready."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    said: str

    @property
    def fault(self) -> str | None:
        """Return the last lines of its output if it has ended unexpectedly."""
        return None if self.process.poll() is None else f"{self.name} has ended: {last_line(self.log)}"


@contextmanager
def python_child(root: Path, folder: Path, name: str, module: str, options: Mapping[str, str]) -> Iterator[Child]:
    """Run `python -m module` in the checkout and wait until it is ready. Raises CliError if it does not
    become ready.
    """
    log, ready = folder / f"{name}.log", folder / f"{name}.ready"
    given = [part for option, value in options.items() for part in (f"--{option}", value)]
    command = [sys.executable, "-m", module, *given, "--ready", str(ready)]
    with log.open("wb") as output:
        running = process.start(command, environment=environment.base(os.environ, folder), folder=root, output=output)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while not ready.exists():
            if running.poll() is not None:
                raise CliError(f"{name} ended while starting: {last_line(log)}")
            if time.monotonic() > deadline:
                raise CliError(f"{name} was not ready within {READY_SECONDS:.0f} s: {last_line(log)}")
            time.sleep(POLL_SECONDS)
        time.sleep(POLL_SECONDS)  # the file exists before it has its content
        yield Child(name, running, log, ready.read_text(encoding="utf-8"))
    finally:
        process.stop(running, STOP_SECONDS)
