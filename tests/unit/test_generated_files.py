"""The generated files are not in git."""

import subprocess

from scripts.generated import FILES, ROOT


def said(*command: str) -> list[str]:
    done = subprocess.run(["git", *command, "--", *FILES], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_generated_files_are_ignored_by_git() -> None:
    assert said("ls-files") == []
    assert said("check-ignore") == list(FILES)
