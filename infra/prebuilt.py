"""The layers and functions that the wheel `duecourse-stage` contains (scripts/release writes them). A checkout has none
and builds them when it is synthesized.

Each is a zip file, because an installation of a wheel would add compiled files to a folder of Python files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

FOLDER = Path(__file__).resolve().parent / "prebuilt"
INDEX = "index.json"
SERVICES = "services"
"""The zip file with the descriptions of the AWS services that only some stages call (`allowed_targets.actions`)."""

DATA = "python/botocore/data/"
"""The folder of these descriptions in the layer."""

MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The time of each file in a zip file. A later build of the same files has the same bytes."""

NOT_COMPILED = (
    "the layers of this wheel were built without Lambda's Python, so each cold start compiles its imports, which takes "
    "over a second; use a published release"
)


class PrebuiltError(RuntimeError):
    """The wheel does not have a part that the settings need. The message has the remedy."""


@dataclass(frozen=True, slots=True)
class Index:
    """What is in the folder: the hashes by name, and the parts of the dependencies layer's hash."""

    hashes: Mapping[str, str]
    recipe: str
    lock: str
    services: frozenset[str]
    """The services whose descriptions the dependencies layer contains already."""
    compiled: bool
    flags: Mapping[str, Any]
    """The feature flags of the CDK with which the stage is tested (cdk.json)."""

    def to_json(self) -> str:
        """Return the content of INDEX."""
        fields = {name: getattr(self, name) for name in self.__slots__} | {"services": sorted(self.services)}
        return json.dumps(fields, indent=1, sort_keys=True)


def exists() -> bool:
    """Return whether this code is installed from the wheel."""
    return FOLDER.is_dir()


@cache
def index() -> Index:
    """Return the index of the folder."""
    found = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
    return Index(**{**found, "services": frozenset(found["services"])})


def copy(name: str, folder: Path) -> None:
    """Copy the zip file of this name to `folder`. As its only file, the CDK deploys it as it is."""
    shutil.copyfile(FOLDER / f"{name}.zip", folder / f"{name}.zip")


def copy_dependencies(services: frozenset[str], folder: Path) -> None:
    """Copy the layer of third-party packages, with the descriptions of these services added. Raises PrebuiltError."""
    copy("dependencies", folder)
    more = services - index().services
    if not more:
        return
    with ZipFile(FOLDER / f"{SERVICES}.zip") as source, ZipFile(folder / "dependencies.zip", "a") as layer:
        known = {name.removeprefix(DATA).partition("/")[0] for name in source.namelist()}
        if unknown := more - known:
            raise PrebuiltError(f"boto3 has no service {', '.join(sorted(unknown))}; correct allowed_targets.actions")
        for each in source.infolist():
            if each.filename.removeprefix(DATA).partition("/")[0] in more:
                add(layer, each.filename, source.read(each))


def pack(folder: Path, file: Path) -> None:
    """Write all files of `folder` to a zip file, always in the same way."""
    with ZipFile(file, "w") as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            add(archive, path.relative_to(folder).as_posix(), path.read_bytes())


def add(archive: ZipFile, name: str, content: bytes) -> None:
    """Add a file that Lambda can read to a zip file."""
    entry = ZipInfo(name, MADE_AT)
    entry.external_attr = 0o100644 << 16
    entry.create_system = 3  # Unix, whose modes Lambda keeps
    archive.writestr(entry, content, ZIP_DEFLATED, 9)
