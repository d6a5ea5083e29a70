"""croner (npm), another cron engine, called in one node process."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENCE_SECONDS

PACKAGE = Path(__file__).parents[3] / "node_modules" / "croner"
_PROGRAM = Path(__file__).with_name("croner_answers.mjs")


def missing() -> str | None:
    """Return the reason why croner cannot be called here, in one line; None if it can."""
    if shutil.which("node") is None:
        return "no Node.js on this machine: croner, a second opinion on cron, is left out"
    if not PACKAGE.is_dir():
        return "croner is not in node_modules (make setup brings it): a second opinion on cron is left out"
    return None


def answers(cases: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return its responses to the cases of `duecourse next --jsonl`, in the same format. Errors have
    croner's own text.
    """
    text = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        ["node", _PROGRAM], input=text, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
