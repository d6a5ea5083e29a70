"""Hatchling's hook: a wheel or sdist, also one that is built in a new clone, contains the generated files."""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GeneratedFiles(BuildHookInterface[Any]):
    """Writes the files before they are packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write the files, and include them although git ignores them."""
        sys.path.insert(0, self.root)
        from scripts.generated import FILES, refresh

        refresh()
        build_data["artifacts"] += FILES
