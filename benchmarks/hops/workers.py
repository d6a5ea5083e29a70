"""The worker processes of a local stack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def workers(endpoint: str) -> Iterator[int]:
    """Yield the processes of the worker functions of the stack at this address (on Linux)."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            pairs = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # the process belongs to another user, or has ended
            continue
        found = dict(pair.split(b"=", 1) for pair in pairs if b"=" in pair)
        function, its = found.get(b"AWS_LAMBDA_FUNCTION_NAME", b""), found.get(b"AWS_ENDPOINT_URL", b"")
        if b"Execute" in function and its.decode() == endpoint:
            yield int(folder.name)
