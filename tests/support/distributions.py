"""The distributions of this environment: what they need, and how another environment gets them."""

from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(lines: list[str] | None, extra: str = "") -> set[str]:
    """The distributions that these requirements ask for on this machine, and what those need."""
    found: set[str] = set()
    for requirement in map(Requirement, lines or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            more = distribution(requirement.name).requires
            found |= {canonicalize_name(requirement.name), *needed(more, *requirement.extras)}
    return found


def link(site: Path, packages: set[str]) -> None:
    """Install these distributions into a folder."""
    for package in packages:
        files = distribution(package).files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            (site / top).symlink_to(Path(str(distribution(package).locate_file(top))))
