"""`duecourse restore-table` under the name that it had before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_earlier_name_still_works_and_names_the_new_one() -> None:
    command = [sys.executable, "-m", "scripts.put_back", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "`duecourse restore-table`" in done.stderr
    assert done.stdout.startswith("Usage: duecourse restore-table")
