"""A child process that always ends together with its own children, and the signals that end a command. Ctrl-C, SIGTERM
and a closed terminal have the same effect, once.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

PR_SET_PDEATHSIG = 1
KILL_WAIT_SECONDS = 5.0

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _die_with_parent() -> Callable[[], None] | None:
    """Return a function for the child that makes the kernel end it when this process is killed without a clean-up
    (Linux only).
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return None

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask


def start(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path, output: IO[bytes] | int
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own process group, so that Ctrl-C reaches only this process."""
    return subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_die_with_parent(),  # noqa: PLW1509 - one system call, without shared Python objects
    )


def stop(process: subprocess.Popen[bytes], patience: float) -> bool:
    """Terminate the process, wait, then kill the rest of its group. Return True if the process ended before it was
    killed.
    """
    graceful = True
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            graceful = False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KILL_WAIT_SECONDS)
    if process.stdout is not None:
        process.stdout.close()
    return graceful


class Stopped(BaseException):
    """The command was interrupted."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_code(self) -> int:
        """The exit code of a command that a signal has ended."""
        return 128 + self.number


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise Stopped at the first of these signals. Later ones are ignored, so that they do not interrupt the stop."""
    before = {each: signal.getsignal(each) for each in ENDING}
    asked = False

    def ask(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise Stopped(number)

    for each in ENDING:
        signal.signal(each, ask)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
