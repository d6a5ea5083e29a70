"""Parses the output of `python -X importtime`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_LINE = "import time:"


@dataclass(frozen=True, slots=True)
class Imported:
    """A module, and the microseconds of its own code, without the modules that it imports."""

    module: str
    own: int

    @property
    def package(self) -> str:
        """The package of the module: `botocore`, `aws_lambda_powertools`; for this project also the layer
        (`duecourse.domain`).
        """
        parts = self.module.split(".")
        return ".".join(parts[:2]) if parts[0] in ("duecourse", "functions") else parts[0]


def read(said: str) -> list[Imported]:
    """Return the modules in the order in which their imports ended. Other lines are ignored."""
    found = []
    for line in said.splitlines():
        if not line.startswith(_LINE):
            continue
        own, _, module = line.removeprefix(_LINE).split("|")
        if own.strip().isdigit():
            found.append(Imported(module.strip(), int(own)))
    return found


def beyond(imported: Iterable[Imported], base: Iterable[Imported]) -> list[Imported]:
    """Return the modules that the base does not import."""
    known = {each.module for each in base}
    return [each for each in imported if each.module not in known]


def packages(imported: Iterable[Imported], most: int) -> list[tuple[str, int, float]]:
    """Return the packages with their numbers of modules and milliseconds, the slowest first."""
    microseconds, modules = Counter[str](), Counter[str]()
    for each in imported:
        microseconds[each.package] += each.own
        modules[each.package] += 1
    return [(name, modules[name], round(own / 1000, 2)) for name, own in microseconds.most_common(most)]


def slowest(imported: Iterable[Imported], most: int) -> list[tuple[str, float]]:
    """Return the modules with their milliseconds, the slowest first."""
    ordered = sorted(imported, key=lambda each: -each.own)
    return [(each.module, round(each.own / 1000, 2)) for each in ordered[:most]]
