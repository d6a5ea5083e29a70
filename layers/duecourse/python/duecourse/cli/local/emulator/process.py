"""A child process that is certain to end, with everything that it started; and the signals that end a command: Ctrl-C,
SIGTERM and a closed terminal, all the same way, once.
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
    """On Linux the kernel ends the child when this process is killed in a way that leaves it no time to clean up."""
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
    """Start a command as the leader of its own process group, so that Ctrl-C reaches it only through us."""
    return subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_die_with_parent(),  # noqa: PLW1509 - one system call, no Python objects shared
    )


def stop(process: subprocess.Popen[bytes], patience: float) -> bool:
    """Ask the process to end, wait, then kill whatever is left of its group. True if it ended by itself."""
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
        """What a shell expects of a command that a signal ended."""
        return 128 + self.number


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise Stopped at the first of these signals; later ones are ignored, so that stopping is not interrupted."""
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
