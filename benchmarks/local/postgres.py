"""A temporary PostgreSQL server for the duration of a context: data and socket in a temporary folder,
without a port.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from duecourse.cli.local.emulator import process
from duecourse.cli.local.emulator.ministack import last_line
from duecourse.cli.terminal import CliError

ACCOUNT = "postgres"
"""The account of the server if root starts this program: the server refuses to run as root."""

USER = "bench"
INSTALL = "install PostgreSQL (on Debian the package postgresql)"
READY_SECONDS, STOP_SECONDS, POLL_SECONDS = 30.0, 10.0, 0.1
PACKAGED = Path("/usr/lib/postgresql")
"""The folder in which Debian installs the programs of each version. It is not in the PATH."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The server's programs: their folder, their version, and the prefix of a command that root starts."""

    folder: Path
    version: str
    prefix: tuple[str, ...] = ()

    def command(self, name: str, *arguments: str) -> list[str]:
        """Return a command with one of the programs, with the permissions of the server."""
        return [*self.prefix, str(self.folder / name), *arguments]


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    programs: Programs
    socket: Path

    def database(self, name: str) -> str:
        """Create a database and return its connection string. Raises CliError."""
        _run([str(self.programs.folder / "createdb"), "-h", str(self.socket), "-U", USER, name])
        return f"host={self.socket} user={USER} dbname={name}"


def version_key(folder: Path) -> tuple[int, ...]:
    """Return a key that sorts /usr/lib/postgresql/9.6/bin before .../15/bin."""
    return tuple(int(part) for part in folder.parent.name.split(".") if part.isdigit())


def version_of(said: str) -> str:
    """Return 15.8 for `postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)`."""
    found = re.search(r"\) (\S+)", said)
    return found.group(1) if found else said.strip()


def find_programs() -> Programs:
    """Return the programs in the PATH, or the newest ones that Debian has installed. Raises CliError with a remedy."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(PACKAGED.glob("*/bin"), key=version_key, reverse=True)
    for folder in folders:
        if all((folder / name).exists() for name in ("postgres", "initdb", "createdb", "pg_isready")):
            return Programs(folder, version_of(_run([str(folder / "postgres"), "--version"])), _rights())
    raise CliError(f"no PostgreSQL server here: {INSTALL}")


def _rights() -> tuple[str, ...]:
    """Return the command prefix: empty for a regular user; for root, the change to the server's account, whose process
    ends with this one.
    """
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    with suppress(KeyError):
        account = pwd.getpwnam(ACCOUNT)
        if setpriv:
            ids = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")
            return (setpriv, *ids, "--pdeathsig", "INT", "--")
    raise CliError(f"PostgreSQL does not run as root, and there is no account {ACCOUNT} to give it to: {INSTALL}")


@contextmanager
def postgres(programs: Programs) -> Iterator[Server]:
    """Start a new cluster with the server's defaults. Raises CliError."""
    # Outside the folder of the benchmark, which the server's account cannot access.
    folder = Path(tempfile.mkdtemp(prefix="duecourse-pg-"))
    try:
        if programs.prefix:
            account = pwd.getpwnam(ACCOUNT)
            os.chown(folder, account.pw_uid, account.pw_gid)
        data, log = folder / "data", folder / "log"
        trust = ("--auth=trust", f"--username={USER}", "--encoding=UTF8", "--locale=C", "--no-sync")
        _run(programs.command("initdb", "-D", str(data), *trust), folder)
        command = programs.command("postgres", "-D", str(data), "-k", str(folder), "-c", "listen_addresses=")
        with log.open("wb") as output:
            running = process.start(command, environment=os.environ, folder=folder, output=output)
        try:
            _wait_until_ready(programs, folder, running, log)
            yield Server(programs, folder)
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGINT)  # its fast shutdown; SIGTERM would wait for every client
                with suppress(subprocess.TimeoutExpired):
                    running.wait(STOP_SECONDS)
            process.stop(running, STOP_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(programs: Programs, socket: Path, running: subprocess.Popen[bytes], log: Path) -> None:
    ask = [str(programs.folder / "pg_isready"), "-q", "-h", str(socket), "-U", USER]
    deadline = time.monotonic() + READY_SECONDS
    while subprocess.run(ask, check=False).returncode != 0:
        if running.poll() is not None or time.monotonic() > deadline:
            raise CliError(f"PostgreSQL did not start: {last_line(log)}")
        time.sleep(POLL_SECONDS)


def _run(command: Sequence[str], folder: Path | None = None) -> str:
    try:
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise CliError(f"PostgreSQL: {Path(command[0]).name}: {said.strip()}") from error
