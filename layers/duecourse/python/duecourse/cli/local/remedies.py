"""Remedies for failures of the machine, found by the messages of the system and of the local stack's processes."""

from __future__ import annotations

from collections.abc import Sequence

REMEDIES: Sequence[tuple[tuple[str, ...], str]] = (
    (
        ("No space left on device", "ENOSPC", "Disk quota exceeded"),
        "free some disk space for the checkout and TMPDIR, and start again",
    ),
    (
        ("Permission denied", "EACCES", "Operation not permitted", "Read-only file system", "EROFS"),
        "use a checkout, a HOME and a TMPDIR that you can write to",
    ),
    (("Address already in use", "EADDRINUSE"), "another program uses the port; start again"),
    (
        ("Failed to fetch",),
        "the packages are not in the cache of uv; check the network and proxy, run `make setup` and start again",
    ),
)


def remedied(problem: str, said: str) -> str:
    """Return the problem, with the remedy if there is one for the message `said`."""
    found = next((remedy for parts, remedy in REMEDIES if any(part in said for part in parts)), None)
    return f"{problem}: {found}" if found else problem
