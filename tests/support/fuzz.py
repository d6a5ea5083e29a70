"""`st` (schemathesis) as tests start it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import PATIENCE_SECONDS

CONFIG = Path(__file__).with_name("schemathesis.toml")
THE_SAME = ("--generation-deterministic", "--seed", "5", "--max-examples", "5")
"""The same requests at each run, as long as the answers are the same."""

DRAWN = ("--max-time", str(int(os.environ.get("DUECOURSE_FUZZ_SECONDS", "600")) // 3), "--max-examples", "1000")
"""By chance, for a third of the time: three tests share it."""


def fuzz(document: Path, url: str, *options: str, target: str, run_token: str = "none", unchecked: str = "") -> None:
    """Ask the API at `url` by its document. Raises AssertionError with what was said when anything was found.

    `target` is the address that jobs call, `run_token` what is sent where a run's token is wanted; the checks that are
    `unchecked` (with commas in between) are left out.
    """
    command = [str(Path(sys.executable).with_name("st")), "--config-file", str(CONFIG), "run", str(document)]
    command += ["--url", url, "--request-timeout", str(PATIENCE_SECONDS), "--no-color", "--warnings", "off"]
    command += ["--suppress-health-check", "all", *(["--exclude-checks", unchecked] if unchecked else []), *options]
    environ = os.environ | {
        "PYTHONHASHSEED": "0",  # some of what it draws from are sets
        "DUECOURSE_RUN_TOKEN": run_token,
        "DUECOURSE_TARGET_URL": target,
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        command, env=environ, cwd=document.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-20_000:]
