"""What the CDK CLI prints, told in a few short lines."""

from __future__ import annotations

import re
from collections.abc import Callable

_RESOURCE = re.compile(r"\|\s*(\d+)/(\d+)\s*\|[^|]*\|\s*([A-Z_]+)\s*\|\s*(\S+)")
_PUBLISHED = re.compile(r"success: Published")
_SYNTHESISED = re.compile(r"Synthesis time: ([\d.]+)s")


class CdkProgress:
    """Takes the lines one by one and says the few that a person wants to see."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._published = 0
        self._quarters = 0

    def line(self, text: str) -> None:
        """One line of the CDK CLI."""
        if found := _SYNTHESISED.search(text):
            self._say(f"synthesised in {float(found.group(1)):.0f} s")
        elif _PUBLISHED.search(text):
            self._published += 1
        elif "creating CloudFormation changeset" in text:
            if self._published:
                self._say(f"{self._published} assets published")
        elif "FAILED" in text or text.startswith(("❌", "Error")):
            self._say(text.strip())
        elif found := _RESOURCE.search(text):
            self._resource(int(found.group(1)), int(found.group(2)), found.group(4))
        elif "(no changes)" in text:
            self._say("nothing has changed")

    def _resource(self, done: int, total: int, kind: str) -> None:
        quarter = min(4 * done // total, 4)  # an update counts resources that it leaves alone, too
        if quarter > self._quarters:
            self._quarters = quarter
            self._say(f"{done} of {total} resources, now {kind}")
