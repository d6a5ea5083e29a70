"""Checks with the Python version that Lambda runs, which may differ from the version of `.venv`.

    python -m scripts.lambda_python tests PYTHON    the unit tests with this interpreter (`make test-314`)
    python -m scripts.lambda_python wheels          wheels of the layer's packages for Lambda (`make wheels-314`)

A check that lacks something (the interpreter, the package index) is skipped with one line and exit code 0.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.uv import environment
from scripts.setup import (
    ROOT,
    SetupError,
    digest,
    find_or_bring_uv,
    install_project,
    make_environment,
    one_at_a_time,
    step,
    works,
)

UNREACHABLE = ("Failed to fetch", "error sending request", "dns error")
"""Parts of uv's messages about a package index that does not respond."""


def run_tests(name: str) -> int:
    """Run the unit tests with the interpreter `name` in a separate environment. Return the exit code."""
    python = shutil.which(name)
    if python is None or not works([python, "-c", ""]):
        print(f"test-314: skipped: {name} was not found; install it: `uv python install 3.14` (uv: PATH or .tools/bin)")
        return 0
    folder = ROOT / ".build" / f"venv-{Path(name).name}"
    packages = f"{python} {digest('requirements/dev.txt')}"
    project = f"{packages} {digest('pyproject.toml')}"
    with one_at_a_time():
        step(f"{folder.name}-packages", packages, folder, lambda: make_environment(folder, python))
        step(f"{folder.name}-project", project, folder / "bin" / "duecourse", lambda: install_project(folder))
    command = [str(folder / "bin" / "python"), "-m", "pytest", "-q", "-n", "2", "tests/unit", "schedules/tests/unit"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def check_wheels() -> int:
    """Check that each locked package of the layer has a wheel for Lambda. Return the exit code."""
    from infra.bundling import LAMBDA_PYTHON, LOCK, Target

    target = Target.lambda_arm64(LAMBDA_PYTHON)
    with TemporaryDirectory() as folder:
        command = [find_or_bring_uv(), "pip", "install", "--dry-run", "--target", folder, *target.uv_options()]
        command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(LOCK)]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        print(f"wheels-314: all packages of the layer have wheels for Python {target.python} on {target.machine}")
        return 0
    if any(part in done.stderr for part in UNREACHABLE):
        print("wheels-314: skipped: the package index could not be reached")
        return 0
    print(done.stderr, file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(run_tests(sys.argv[2]) if sys.argv[1:2] == ["tests"] else check_wheels())
    except SetupError as error:
        sys.exit(f"setup: {error}")
