"""The checkout of the command, its required tools, and a digest of the sources of the CDK app. The same digest means
the same template and assets.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from duecourse.cli.terminal import CliError

OLDEST_PYTHON = (3, 11)
OLDEST_NODE = (20, 19)
"""The minimum version for Vite, which builds the console."""

SOURCES = (
    *("app.py", "cdk.json", "cdk.context.json", "infra", "functions", "layers", "schedules/src", "console"),
    *("clients", "settings"),
    *("package-lock.json", "requirements/dev.txt"),  # the CDK itself
)
"""Files and folders of a checkout. Missing ones are allowed."""

_NOT_READ = {"__pycache__", "dist", "node_modules", "schema.ts"}
"""Generated files and folders, which are not read. Names that start with a dot are not read either."""


@dataclass(frozen=True, slots=True)
class Project:
    """A checkout with its tools."""

    root: Path
    cdk: Path
    node: Path


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above `start` with the CDK app, or else the checkout of this command."""
    for folder in (start, *start.parents, *Path(__file__).resolve().parents):
        if (folder / "cdk.json").is_file() and (folder / "app.py").is_file():
            return folder
    raise CliError(
        "this folder is not a Duecourse checkout (app.py and cdk.json are missing); run the command inside a checkout"
    )


def check_python(version: tuple[int, int] = (sys.version_info.major, sys.version_info.minor)) -> None:
    """Raise CliError if the interpreter is too old."""
    if version < OLDEST_PYTHON:
        found, needed = (".".join(map(str, each)) for each in (version, OLDEST_PYTHON))
        raise CliError(f"Python {found} is too old; install Python {needed} or newer and run `make setup`")


def node_version(text: str) -> tuple[int, int]:
    """Return (20, 19) for `v20.19.2`."""
    found = re.match(r"v?(\d+)\.(\d+)\.", text.strip())
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def find_node(path: str | None = None) -> Path:
    """Return the path of Node. Raises CliError if it is missing, or too old for the CDK CLI and the console's build."""
    needed = "Node {}.{} or newer".format(*OLDEST_NODE)
    found = shutil.which("node", path=path)
    if found is None:
        raise CliError(f"Node is missing; the CDK CLI needs {needed}; install it and try again")
    try:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise CliError(f"cannot run Node ({found}): {error}") from error
    if node_version(version) < OLDEST_NODE:
        raise CliError(f"Node {version.strip()} is too old; the CDK CLI needs {needed} ({found})")
    return Path(found)


def find_cdk(root: Path) -> Path:
    """Return the path of the CDK CLI that `make setup` installs into the project."""
    cdk = root / "node_modules" / ".bin" / "cdk"
    if not cdk.exists():
        raise CliError("the CDK CLI is missing (node_modules/.bin/cdk); run `make setup`")
    return cdk


def find_project(start: Path, path: str | None = None) -> Project:
    """Return the checkout with all its tools. Raises CliError if one is missing."""
    check_python()
    root = find_root(start)
    return Project(root=root, node=find_node(path), cdk=find_cdk(root))


def digest(root: Path) -> str:
    """Return the digest of every file that synthesis reads, and of the interpreter for which it builds the layers."""
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
    return any(part.startswith(".") or part in _NOT_READ for part in file.parts)
