"""Hatchling's hook of the wheel `duecourse-stage` (infra/pyproject.toml): it writes the package that is packed."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StagePackage(BuildHookInterface[Any]):
    """Writes the package before it is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write the package. The tools of the checkout are required, so `make release` builds this wheel."""
        root = Path(self.root).parent
        sys.path.insert(0, str(root))
        from scripts.generated import refresh
        from scripts.release import stage_tree

        refresh()
        self._folder = TemporaryDirectory()
        stage_tree.write(Path(self._folder.name))
        build_data["force_include"][self._folder.name] = stage_tree.PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the package after it was packed."""
        self._folder.cleanup()
