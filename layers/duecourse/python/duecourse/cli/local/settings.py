"""The settings of a local stack whose data is kept: its ports, which must not change, since queue addresses and jobs
contain them.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from duecourse.cli.local.emulator.environment import free_port, is_taken, require_free
from duecourse.cli.terminal import CliError, UsageError

FILE = "settings.json"
LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Settings:
    """The ports of a local stack whose data is kept."""

    port: int
    receiver_port: int

    @classmethod
    def read(cls, folder: Path) -> Settings | None:
        """Return the settings of an earlier start, or None before the first."""
        file = folder / FILE
        if not file.exists():
            return None
        try:
            found = json.loads(file.read_text())
            return cls(port=int(found["port"]), receiver_port=int(found["receiver_port"]))
        except (ValueError, KeyError, TypeError) as error:
            raise CliError(
                f"{file} is not readable ({error}); start with new data: `duecourse local --fresh`"
            ) from error

    def write(self, folder: Path) -> None:
        """Save the settings for the next start."""
        (folder / FILE).write_text(json.dumps(asdict(self)) + "\n")


def choose(kept: Settings | None, wanted_port: int | None) -> Settings:
    """Return the ports of this start: the ports of the earlier start, the requested port, or free ports."""
    if kept is None:
        if wanted_port is not None:
            require_free(wanted_port, "choose another with --port, or remove --port")
        return Settings(port=wanted_port or free_port(), receiver_port=free_port())
    if wanted_port not in {None, kept.port}:
        raise UsageError(
            f"the stored stack uses port {kept.port} (the addresses of its queues contain it); remove --port, "
            f"or start with new data: `duecourse local --fresh --port {wanted_port}`"
        )
    require_free(
        kept.port, "the stored stack needs it; free the port, or start with new data: `duecourse local --fresh`"
    )
    return kept if not is_taken(kept.receiver_port) else Settings(port=kept.port, receiver_port=free_port())


@contextmanager
def locked(folder: Path) -> Iterator[Callable[[str], None]]:
    """Lock the folder, so that two local stacks do not share their data. Yields a function that publishes the API's
    address to other commands.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            where = lock.read() or "it is still starting"
            raise UsageError(
                f"a local stack is already running: {where} (its data is in {folder}); stop it first"
            ) from error

        def announce(address: str) -> None:
            lock.truncate(0)
            lock.write(address)
            lock.flush()

        announce("")
        yield announce


def running(folder: Path) -> str | None:
    """Return the API's address of the stack with its data in this folder, or None if no stack runs or responds yet."""
    try:
        with (folder / LOCK).open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read() or None
    except OSError:
        pass
    return None
