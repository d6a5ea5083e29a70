"""What the CDK app is made from, as one digest: the same digest, the same template and assets."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = (
    *("app.py", "cdk.json", "cdk.context.json", "infra", "functions", "layers", "settings"),
    *("package-lock.json", "requirements-dev.txt"),  # the CDK itself
)
"""Files and folders of a checkout; those that are not there count as such."""

_NOT_READ = ("__pycache__", ".")


def digest(root: Path) -> str:
    """Of every file that synthesis reads, and of the interpreter that it builds the layers for."""
    whole = hashlib.sha256(f"{sys.version} {sys.platform} {platform.machine()}".encode())
    for file in _files(root):
        whole.update(f"\n{file.relative_to(root)} ".encode())
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for name in SOURCES:
        top = root / name
        found = [top] if top.is_file() else sorted(each for each in top.rglob("*") if each.is_file())
        yield from (file for file in found if not _left_out(file.relative_to(root)))


def _left_out(file: Path) -> bool:
    return any(part.startswith(_NOT_READ) for part in file.parts)
