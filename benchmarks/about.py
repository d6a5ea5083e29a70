"""What a figure needs to be believed: the machine, the versions, the date, the command that made it and the code."""

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
    """The head of the result of `python -m benchmarks.<name>`; `packages` are those whose versions matter to it."""
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
    """Its name, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
