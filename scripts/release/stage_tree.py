"""The package `duecourse_stage`: `infra` under a name that no package of a user's app has, and what it would build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.release import prebuilt_files

INFRA = Path(__file__).resolve().parents[2] / "infra"
PACKAGE = "duecourse_stage"
ONLY_HERE = frozenset({"application.py", "console_files.py"})
"""Modules for a checkout. The wheel has no use for them."""

_IMPORT = re.compile(r"^(\s*(?:from|import) )infra\b", re.MULTILINE)


def write(folder: Path) -> None:
    """Write the package to `folder`. Raises BundlingError."""
    for name, content in modules():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "py.typed").touch()
    prebuilt_files.write(folder / "prebuilt")


def modules() -> Iterator[tuple[str, str]]:
    """Yield the path of each module in the package, and its content."""
    for file in sorted(INFRA.rglob("*.py")):
        name = file.relative_to(INFRA).as_posix()
        if name not in ONLY_HERE:
            yield name, renamed(file.read_text(encoding="utf-8"))


def renamed(module: str) -> str:
    """Return a module whose imports of `infra` name the package."""
    return _IMPORT.sub(rf"\1{PACKAGE}", module)
