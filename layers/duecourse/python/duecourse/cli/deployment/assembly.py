"""A stage of a release that was synthesized in advance: `duecourse-1.0.0-prod.tgz` (scripts/release/assembly.py writes
it).

The archive has DESCRIPTION, the code of the functions in `assets/`, and a cloud assembly of the CDK without this code
in a folder for each variant of the stage (`jwt`, `jwt-unprotected`).
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from duecourse.cli.deployment.account import Wanted
from duecourse.cli.terminal import UsageError, plain

DESCRIPTION = "stage.json"
ASSETS = "assets"
UNPROTECTED = "-unprotected"
"""The end of the name of a variant that creates the stage."""

MAX_BYTES = 256 * 1024 * 1024
REMEDY = "for other settings, use the construct DuecourseStage (docs/howto/deploy.md)"

_FILE = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that a deployment can choose: a parameter of the template."""

    parameter: str
    pattern: str
    wants: str
    """The requirement, for messages: `must be ...`."""


@dataclass(frozen=True, slots=True)
class Description:
    """The content of DESCRIPTION."""

    version: str
    stage: str
    cdk: str
    """The version of the CDK's command line of the release."""
    variants: Mapping[str, tuple[str, ...]]
    """The settings of each variant, all of which are required; the variant with the most settings is the first."""
    settings: Mapping[str, Setting]
    others: tuple[str, ...]
    """The settings that only the construct and a checkout have."""
    reserved: Mapping[str, int]
    most_concurrent: int
    account_concurrency: int

    def to_json(self) -> str:
        """Return the content of DESCRIPTION."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = {name: [each.parameter, each.pattern, each.wants] for name, each in self.settings.items()}
        return json.dumps({**found, "settings": parts}, indent=1)

    @classmethod
    def from_json(cls, text: bytes) -> Description:
        """Return a description. Raises ValueError, TypeError and AttributeError for another content."""
        found = json.loads(text)
        settings = {name: Setting(*parts) for name, parts in found.pop("settings").items()}
        variants = {name: tuple(needed) for name, needed in found.pop("variants").items()}
        return cls(settings=settings, variants=variants, others=tuple(found.pop("others")), **found)

    @property
    def wanted(self) -> Wanted:
        """The stage, without its issuer."""
        remedy = "deploy it with the construct DuecourseStage and reserved_concurrency none (docs/howto/deploy.md)"
        return Wanted(
            stage=self.stage,
            protected=True,
            issuer=None,
            reserved=self.reserved,
            most_concurrent=self.most_concurrent,
            account_concurrency=self.account_concurrency,
            unreserving=remedy,
            unprotecting="the construct and deletion_protection=False",
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The variant for some settings, and the values of the template's parameters."""

    variant: str
    parameters: Mapping[str, str]


def chosen(description: Description, settings: Mapping[str, Any]) -> Chosen:
    """Return the variant and the parameters for these settings. Raises UsageError with all faults."""
    faults = list(_faults(description, settings))
    variant, needed = _variant(description, settings)
    faults += [f"{name} must be set" for name in needed if name not in settings]
    if faults:
        raise UsageError(plain("; ".join(faults)))
    return Chosen(variant, {description.settings[name].parameter: settings[name] for name in needed})


def _variant(description: Description, settings: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the smallest variant that has all settings which some variant has."""
    given = settings.keys() & description.settings.keys()
    fitting = [each for each in description.variants.items() if given <= set(each[1])]
    return min(fitting, key=lambda each: len(each[1]), default=next(iter(description.variants.items())))


def _faults(description: Description, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield each setting that is unknown, that this way of deployment does not have, or that is invalid."""
    for name, value in settings.items():
        if name in description.settings:
            setting = description.settings[name]
            if not isinstance(value, str) or re.fullmatch(setting.pattern, value) is None:
                yield f"{name} {setting.wants}"
        elif name in description.others:
            yield f"{name} cannot be set for a file of a release; {REMEDY}"
        else:
            known = [*description.settings, *description.others]
            similar = get_close_matches(name, known, n=1, cutoff=0.7)
            near = f"did you mean {similar[0]}?" if similar else f"the settings are {', '.join(description.settings)}"
            yield f"{name} is not a setting; {near}"


class Assembly:
    """An open file of a stage."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError if the file is not a stage."""
        self._path = path
        try:
            with tarfile.open(path, "r:gz") as archive:
                self._files = dict(self._read(archive))
            self.description = Description.from_json(self._files[DESCRIPTION])
        except OSError as error:
            if error.strerror is None:  # gzip's own error for another content
                raise self._foreign() from error
            raise UsageError(plain(f"{path}: {error.strerror}")) from error
        except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._foreign() from error

    def check(self, version: str, stage: str) -> None:
        """Raise UsageError if the file belongs to another release or stage."""
        found = self.description
        if found.version != version:
            raise UsageError(
                f"{self._path} is of release {found.version}, and this command of {version}; install the command of "
                f"the same release: pip install duecourse[cli]=={found.version}"
            )
        if found.stage != stage:
            raise UsageError(f"{self._path} has the stage {found.stage}, not {stage}; {REMEDY}")

    def write(self, variant: str, folder: Path) -> None:
        """Write the cloud assembly of a variant to `folder`."""
        for name, content in self._files.items():
            place, _, file = name.partition("/")
            if place in (ASSETS, variant):
                (folder / file).write_bytes(content)

    def _read(self, archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
        """Yield the files by their paths. Others than those of a release are rejected."""
        left = MAX_BYTES
        for member in archive:
            parts = member.name.split("/")
            left -= member.size
            if not member.isfile() or len(parts) > 2 or left < 0 or not all(map(_plain_name, parts)):
                raise self._foreign()
            file = archive.extractfile(member)
            if file is not None:
                yield member.name, file.read()

    def _foreign(self) -> UsageError:
        return UsageError(
            plain(f"{self._path} is not a stage of a release; use a file such as duecourse-1.0.0-prod.tgz")
        )


def _plain_name(name: str) -> bool:
    return _FILE.fullmatch(name) is not None and set(name) != {"."}
