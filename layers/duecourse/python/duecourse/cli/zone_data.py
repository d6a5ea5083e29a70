"""Time zone data of a version other than this machine's: a folder, a wheel, or a version of the package tzdata."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, is_zipfile
from zipfile import Path as ZipPath

import tzdata  # type: ignore[import-untyped]

from duecourse.cli.local.project import find_root
from duecourse.cli.terminal import CliError, UsageError
from duecourse_schedules import TZDATA_VERSION, ScheduleError
from duecourse_schedules.zones.zone import Zone, ZoneSource, parse_tzif

Folder = Path | ZipPath

_VERSION = re.compile(r"\d{4}\.\d+(\.\d+)?", re.ASCII)
_NAME = re.compile(r"[\w+-]+(/[\w+-]+)*", re.ASCII)
_STATED = {
    "__init__.py": re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE),
    "tzdata.zi": re.compile(r"# version (\S+)"),
}
"""The files that contain the version, and its pattern: in the package, and in a system's folder."""


@dataclass(frozen=True, slots=True)
class ZoneData:
    """The zones of a version."""

    version: str
    zones: ZoneSource


@contextmanager
def zone_data(where: str | None) -> Iterator[ZoneData]:
    """Yield the zone data of a path or a version (None: of this machine's package tzdata). A version that is not
    installed is downloaded by pip or uv into a temporary folder. Raises UsageError.
    """
    if where is None or where == TZDATA_VERSION:
        yield _read(Path(tzdata.__file__).parent)
    elif _VERSION.fullmatch(where) and not Path(where).exists():
        with tempfile.TemporaryDirectory(prefix="duecourse-tzdata-") as folder:
            _install(where, folder)
            yield _read(Path(folder))
    else:
        yield _read(_opened(Path(where)))


def _opened(path: Path) -> Folder:
    if path.is_dir():
        return path
    try:
        if is_zipfile(path):
            return ZipPath(path)
    except (OSError, BadZipFile) as error:
        raise UsageError(f"{path}: {error}") from error
    raise UsageError(f"{path} must be a folder, a wheel or a version such as {TZDATA_VERSION}")


def _read(path: Folder) -> ZoneData:
    """Return the data of a folder: zone files, the package, or a folder with the package."""
    package = next((each for each in (path / "tzdata", path) if (each / "zoneinfo").is_dir()), path)
    files = package / "zoneinfo" if (package / "zoneinfo").is_dir() else package
    if not (files / "UTC").is_file():
        raise UsageError(f"{path} contains no time zone data; specify a folder of zoneinfo files or the package tzdata")

    @cache
    def zone(name: str) -> Zone:
        file = files.joinpath(*name.split("/"))
        if not _NAME.fullmatch(name) or not file.is_file():
            raise ScheduleError("timezone", f"{name} is missing from the time zone data")
        return Zone(name, *parse_tzif(file.read_bytes()))

    return ZoneData(_version(package) or str(path), zone)


def _version(package: Folder) -> str | None:
    for name, stated in _STATED.items():
        if (file := package / name).is_file() and (found := stated.search(file.read_text("utf-8"))):
            return found[1]
    return None


def _installer() -> list[str]:
    """Return the installation command of pip, or of uv: the environment of a checkout does not have pip."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install"]
    try:
        own: Path | None = find_root(Path.cwd()) / ".tools" / "bin"
    except CliError:
        own = None
    uv = shutil.which("uv", path=own) or shutil.which("uv") or "uv"
    return [uv, "pip", "install", "--python", sys.executable]


def _install(version: str, folder: str) -> None:
    command = [*_installer(), "--quiet", "--no-deps", "--only-binary", ":all:", "--target", folder]
    remedy = f"download it (pip download tzdata=={version}), and specify the path of the wheel"
    try:
        subprocess.run([*command, f"tzdata=={version}"], check=True, capture_output=True, text=True)
    except OSError as error:
        raise UsageError(f"tzdata {version} needs pip or uv: {error.strerror}; {remedy}") from error
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise UsageError(f"tzdata {version} cannot be downloaded: {said}; {remedy}") from error
