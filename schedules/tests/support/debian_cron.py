"""Debian's cron daemon, whose days pass in milliseconds: the main reference for cron's behaviour.

The unchanged binary of the package `cron` runs in separate mount and process namespaces with replaced folders, so that
it sees only the jobs of a test and ends with the call. Its clock is cron_clock.c.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from tests.support.waiting import PATIENCE_SECONDS

CRON = Path("/usr/sbin/cron")
PACKAGE = Path("/var/lib/dpkg/info/cron.list")
_NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
_CLOCK = Path(__file__).with_name("cron_clock.c")
#: folder by folder: what cron reads, and where it leaves its process id
_PLACES = {"jobs": "/etc/cron.d", "users": "/var/spool/cron/crontabs", "run": "/run"}
_SCRIPT = """\
set -e
mount --bind "$1/jobs" /etc/cron.d
mount --bind "$1/users" /var/spool/cron/crontabs
mount --bind "$1/run" /run
mount --bind "$1/crontab" /etc/crontab
exec env LD_PRELOAD="$1/clock.so" /usr/sbin/cron -f -L 0
"""


@cache
def missing() -> str | None:
    """Return the reason why Debian's cron cannot run here, in one line; None if it can."""
    left_out = "the comparison with it is left out"
    if not (CRON.exists() and PACKAGE.exists()):
        return f"Debian's cron is not installed (apt-get install cron): {left_out}"
    if shutil.which("cc") is None:
        return f"no C compiler (cc) to build cron's clock with: {left_out}"
    if os.geteuid() != 0 or subprocess.run([*_NAMESPACES, "true"], capture_output=True, check=False).returncode:
        return f"cron needs root and namespaces of its own (unshare): {left_out}"
    return None


def fired(folder: Path, expressions: Sequence[str], zone: str, begin: int, end: int) -> list[list[int]]:
    """Return for each expression the instants (UTC seconds) in [begin, end) at which one daemon ran it. It uses the
    pinned zone data. `folder` is a new folder of the caller.
    """
    for name in _PLACES:
        (folder / name).mkdir()
    (folder / "crontab").touch()
    log = folder / "log"
    lines = (f"{expression} root {number}\n" for number, expression in enumerate(expressions))
    jobs = folder / "jobs" / "jobs"
    jobs.write_text("".join(lines))
    jobs.chmod(0o644)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", folder / "clock.so", _CLOCK], check=True, timeout=PATIENCE_SECONDS
    )
    environment = {
        "PATH": os.environ["PATH"],
        "TZ": f":{files('tzdata').joinpath('zoneinfo', *zone.split('/'))}",
        "CRON_CLOCK_FROM": str(begin),
        "CRON_CLOCK_UNTIL": str(end),
        "CRON_CLOCK_LOG": str(log),
    }
    command = [*_NAMESPACES, "sh", "-c", _SCRIPT, "sh", str(folder)]
    subprocess.run(
        command, env=environment, check=True, timeout=PATIENCE_SECONDS, stdin=subprocess.DEVNULL, capture_output=True
    )
    found: list[list[int]] = [[] for _ in expressions]
    for line in log.read_text().splitlines() if log.exists() else []:
        at, number = line.split()
        found[int(number)].append(int(at))
    return found
