"""What `python -X importtime` says, read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_LINE = "import time:"


@dataclass(frozen=True, slots=True)
class Imported:
    """A module, and the microseconds that its own code took, without what it imports in turn."""

    module: str
    own: int

    @property
    def package(self) -> str:
        """What it belongs to: `botocore`, `aws_lambda_powertools`; of ours the layer too (`duecourse.domain`)."""
        parts = self.module.split(".")
        return ".".join(parts[:2]) if parts[0] in ("duecourse", "functions") else parts[0]


def read(said: str) -> list[Imported]:
    """The modules in the order in which their imports ended; lines that are something else are passed over."""
    found = []
    for line in said.splitlines():
        if not line.startswith(_LINE):
            continue
        own, _, module = line.removeprefix(_LINE).split("|")
        if own.strip().isdigit():
            found.append(Imported(module.strip(), int(own)))
    return found


def beyond(imported: Iterable[Imported], base: Iterable[Imported]) -> list[Imported]:
    """Those that the base does not import by itself."""
    known = {each.module for each in base}
    return [each for each in imported if each.module not in known]


def packages(imported: Iterable[Imported], most: int) -> list[tuple[str, int, float]]:
    """Packages with their number of modules and milliseconds, those that took most first."""
    microseconds, modules = Counter[str](), Counter[str]()
    for each in imported:
        microseconds[each.package] += each.own
        modules[each.package] += 1
    return [(name, modules[name], round(own / 1000, 2)) for name, own in microseconds.most_common(most)]


def slowest(imported: Iterable[Imported], most: int) -> list[tuple[str, float]]:
    """Modules with their milliseconds, those that took most first."""
    ordered = sorted(imported, key=lambda each: -each.own)
    return [(each.module, round(each.own / 1000, 2)) for each in ordered[:most]]
