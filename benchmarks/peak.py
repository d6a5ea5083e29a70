"""The peak of a process's memory."""

from __future__ import annotations

from pathlib import Path


def peak_mb() -> float:
    """Return the peak resident memory (MB) of this program. getrusage would include the memory that the process used
    before it executed this program.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
