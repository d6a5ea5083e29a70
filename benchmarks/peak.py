"""The peak of a process's memory."""

from __future__ import annotations

from pathlib import Path


def peak_mb() -> float:
    """Resident memory (MB) at most, of this program alone: getrusage would count what the process held before it became
    this program.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
