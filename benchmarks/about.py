"""The origin of a result: the machine, the versions, the date, the command and the code."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measured import fingerprint
from duecourse.version import VERSION


def about(name: str, packages: Iterable[str] = ()) -> dict[str, Any]:
    """Return the head of the result of `python -m benchmarks.<name>`, with the versions of `packages`."""
    return {
        "benchmark": name,
        "command": shlex.join(["python", "-m", f"benchmarks.{name}", *sys.argv[1:]]),
        "measured": fingerprint(name),
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.release()}",
        },
        "versions": {
            "duecourse": VERSION,
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
    }


def _processor() -> str:
    """Return the name of the processor, if Linux reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
