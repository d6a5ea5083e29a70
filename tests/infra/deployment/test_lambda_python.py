"""`make test-314` and `make wheels-314`: what they do where something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.template import ROOT

UV = """#!/bin/sh
case "$1" in
    --version) echo uv 0.13.8 ;;
    *) %s ;;
esac
"""


def check(folder: Path, *arguments: str, uv: str = "exit 0") -> subprocess.CompletedProcess[str]:
    """Run a check on a machine whose uv does this."""
    (folder / "uv").write_text(UV % uv)
    (folder / "uv").chmod(0o755)
    return subprocess.run(
        [sys.executable, "-m", "scripts.lambda_python", *arguments],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("broken", [False, True])
def test_lambda_python_unit_tests_skip_with_one_message_without_that_python(tmp_path: Path, broken: bool) -> None:
    if broken:  # as the shims of version managers are
        (tmp_path / "python9.99").write_text("#!/bin/sh\nexit 127\n")
        (tmp_path / "python9.99").chmod(0o755)
    done = check(tmp_path, "tests", "python9.99")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "test-314: skipped: python9.99 was not found; install it: `uv python install 3.14` (uv: PATH or .tools/bin)"
    ]


def test_lambda_python_complete_wheels_pass_the_check(tmp_path: Path) -> None:
    done = check(tmp_path, "wheels")
    assert (done.returncode, done.stderr) == (0, "")
    assert "all packages of the layer have wheels for Python 3.14 on aarch64-manylinux2014" in done.stdout


def test_lambda_python_missing_wheels_are_named(tmp_path: Path) -> None:
    said = "Because orjson==3.13.0 has no usable wheels and you require orjson==3.13.0, unsatisfiable"
    done = check(tmp_path, "wheels", uv=f"echo 'No solution found: {said}' >&2; exit 1")
    assert done.returncode == 1
    assert "orjson==3.13.0 has no usable wheels" in done.stderr


def test_lambda_python_wheels_are_not_checked_without_a_package_index(tmp_path: Path) -> None:
    done = check(tmp_path, "wheels", uv="echo 'error: Failed to fetch: https://example.com/simple/' >&2; exit 2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["wheels-314: skipped: the package index could not be reached"]
