"""`st` (schemathesis) as tests start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).with_name("schemathesis.toml")


def fuzz(document: Path, url: str, *options: str, target: str, run_token: str = "none") -> str:
    """Ask the API at `url` by its document; what was said. Raises AssertionError with it when anything was found.

    `target` is the address that jobs call, `run_token` what is sent where a run's token is wanted.
    """
    command = [str(Path(sys.executable).with_name("st")), "--config-file", str(CONFIG), "run", str(document)]
    command += ["--url", url, "--no-color", "--suppress-health-check", "all", "--warnings", "off", *options]
    environ = os.environ | {
        "DUECOURSE_RUN_TOKEN": run_token,
        "DUECOURSE_TARGET_URL": target,
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        command, env=environ, cwd=document.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-20_000:]
    return said
