"""Time zone data of invented releases: those of the package, in which some zones have the data of others."""

from pathlib import Path
from shutil import copytree

import tzdata  # type: ignore[import-untyped]

from duecourse_schedules import ScheduleError
from duecourse_schedules.zones.zone import Zone, ZoneSource, read_zone

PACKAGE = Path(tzdata.__file__).parent


def with_zones(**like: str | None) -> ZoneSource:
    """The zone data in which a zone (by the last part of its name) is like another one, or missing (None)."""

    def zone(name: str) -> Zone:
        other = like.get(name.rpartition("/")[2], name)
        if other is None:
            raise ScheduleError("timezone", f"{name} is not the name of an IANA time zone")
        return Zone(name, *read_zone(other))

    return zone


def package_with(folder: Path, version: str, **like: str | None) -> Path:
    """A folder with the package of an invented version."""
    path = folder / "tzdata"
    copytree(PACKAGE, path, ignore=lambda _folder, names: [each for each in names if each == "__pycache__"])
    (path / "__init__.py").write_text(f'IANA_VERSION = "{version}"\n__version__ = "{version}"\n')
    for name, other in like.items():
        (found,) = (path / "zoneinfo").glob(f"*/{name}")
        data = None if other is None else (PACKAGE / "zoneinfo" / other).read_bytes()
        found.unlink() if data is None else found.write_bytes(data)
    return folder
