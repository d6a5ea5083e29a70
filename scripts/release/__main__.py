"""Build the files of a release: `make release`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from duecourse.version import VERSION
from infra.bundling import LAMBDA_PYTHON, Target
from scripts.release import assembly

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".build" / "release"
PYTHON = (".", "cdk", "schedules")
"""The projects of Python with a wheel and a source distribution. The wheel of `infra` is built from a checkout only."""


def main() -> int:
    """Write the files and return the exit code."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for project in PYTHON:
        build(ROOT / project, "build_wheel", FOLDER)
        build(ROOT / project, "build_sdist", FOLDER)
    build_stage(FOLDER)
    pack = ["npm", "pack", "--silent", "--workspace", "clients/typescript", "--pack-destination", str(FOLDER)]
    subprocess.run(pack, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    for file in sorted(FOLDER.iterdir()):
        print(f"{file.stat().st_size / 1e6:7.2f} MB  {file.relative_to(ROOT)}")
    if Target.lambda_arm64(LAMBDA_PYTHON).interpreter is None:
        python = f"python{LAMBDA_PYTHON}"
        print(
            f"no {python} on the PATH, so do not publish these files: install it (`uv python install {LAMBDA_PYTHON}`)"
        )
        return 1
    return 0


def build_stage(folder: Path) -> None:
    """Build the wheel with the construct, and the file for `duecourse deploy`."""
    build(ROOT / "infra", "build_wheel", folder)
    (wheel,) = folder.glob("duecourse_stage-*.whl")
    assembly.write(folder / f"duecourse-{VERSION}-{assembly.STAGE}.tgz", wheel)


def build(project: Path, kind: str, folder: Path) -> None:
    """Build a distribution with the tools of this checkout. Raises CalledProcessError."""
    program = f"import sys, hatchling.build; hatchling.build.{kind}(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(folder)], cwd=project, check=True)


if __name__ == "__main__":
    sys.exit(main())
