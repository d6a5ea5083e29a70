"""The commands of a section of the documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from duecourse.cli.terminal import CliError

DOCS = Path(__file__).resolve().parents[2] / "docs"
_EXAMPLE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class Commands:
    """One block of commands: the `number`th (from 0) below `heading` on `page`."""

    page: str
    heading: str
    number: int = 0

    def text(self, *times: str) -> str:
        """Return the commands, with `times` instead of the page's examples of times, in their order.

        Raises CliError if the page has no such block, so that a drill fails after a change of its page.
        """
        found = blocks((DOCS / self.page).read_text(encoding="utf-8"), self.heading)
        if self.number >= len(found):
            raise CliError(
                f"{self.page} has {len(found)} blocks of commands below '{self.heading}', but the drill runs number "
                f"{self.number + 1}; update scripts/drill/drills.py"
            )
        given = iter(times)
        return _EXAMPLE_TIME.sub(lambda match: next(given, match.group()), found[self.number])


def blocks(page: str, heading: str) -> list[str]:
    """Return the bash blocks below a heading, up to the next heading of any level. Indented blocks are dedented."""
    found: list[str] = []
    inside: list[str] | None = None
    here = False
    indent = 0
    for line in page.splitlines():
        stripped = line.strip()
        if inside is not None:
            if stripped == "```":
                found.append("\n".join(inside))
                inside = None
            else:
                inside.append(line[indent:])
        elif line.startswith("#"):
            here = line.lstrip("#").strip() == heading
        elif here and stripped == "```bash":
            inside, indent = [], len(line) - len(line.lstrip())
    return found
