"""The results of other benchmarks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def result_of(name: str) -> dict[str, Any] | None:
    """Return the document in results/. If there is none, print a line to stderr and return None."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        print(f"no results of {name}: its documented counts are taken (python -m benchmarks.results)", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
