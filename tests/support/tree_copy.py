"""A copy of this tree as a new clone has it, with the changes that are not committed yet."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.template import ROOT

PACKAGE = "layers/duecourse/python"


class Copy:
    """A copy of this tree without what git ignores."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = self.run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", at=ROOT)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        for modules in ("node_modules", "console/node_modules"):
            if (ROOT / modules).is_dir():
                (folder / modules).symlink_to(ROOT / modules)

    def python(self, *arguments: str) -> str:
        """Run Python with the copy's code."""
        return self.run(sys.executable, *arguments)

    def run(self, *command: str, given: str = "", at: Path | None = None) -> str:
        """What a command writes, in the copy or `at` another folder. It must succeed."""
        packages = (self.folder / PACKAGE, self.folder / "schedules/src", self.folder / "cdk", self.folder)
        paths = os.pathsep.join(map(str, packages))
        more = {"PYTHONPATH": paths, "GIT_CEILING_DIRECTORIES": str(self.folder.parent)}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GIT_"))}
        done = subprocess.run(
            command,
            cwd=at or self.folder,
            env=inherited | more,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command[:3])}:\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
        return done.stdout
