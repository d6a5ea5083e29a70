"""Commands whose output cannot be written, such as to a full disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
COMMANDS = (
    "--help",
    "--version",
    "next --help",
    "next --json @daily",
    "completion bash",
    "next @daily",
    "import crontab crontab --target-url https://example.com --timezone UTC",
    "import crontab crontab --target-url https://example.com --timezone UTC --json",
)


def run(arguments: str, folder: Path, output: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "crontab").write_text("0 2 * * * backup.sh\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    start = [sys.executable, "-c", "from duecourse.cli import start; start()", *arguments.split()]
    with output.open("w") as file:
        return subprocess.run(
            start, stdout=file, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment, timeout=60, check=False
        )


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("arguments", "environment"), [*((each, {}) for each in COMMANDS), ("next @daily", {"PYTHONUNBUFFERED": "1"})]
)
def test_command_output_to_a_full_disk_ends_with_one_line_and_exit_code_1(
    arguments: str, environment: dict[str, str], tmp_path: Path
) -> None:
    ended = run(arguments, tmp_path, FULL, **environment)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last == "duecourse: the output cannot be written: No space left on device; free space, or write it elsewhere"
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


def test_command_that_cannot_write_a_file_names_it(tmp_path: Path) -> None:
    ended = run(
        "import crontab crontab --queue duecourse-target-x --timezone UTC --allow-file crontab/allow",
        tmp_path,
        tmp_path / "output",
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "duecourse: crontab: File exists"
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("arguments", COMMANDS)
def test_command_output_to_a_file_keeps_its_exit_code(arguments: str, tmp_path: Path) -> None:
    ended = run(arguments, tmp_path, tmp_path / "output")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "output").read_text()


def test_command_output_to_a_closed_pipe_ends_silently(tmp_path: Path) -> None:
    start = f"{sys.executable} -c 'from duecourse.cli import start; start()' next @daily"
    ended = subprocess.run(
        ["bash", "-c", f"{start} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "")
