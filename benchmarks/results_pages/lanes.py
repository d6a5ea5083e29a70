"""The page of `benchmarks.lanes`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results_pages.generic import nested
from benchmarks.results_pages.markdown import table

LATENESS = ("p50", "p99", "max")
WAITING = ("most", "fewest", "met_by")


def page(document: Mapping[str, Any]) -> list[str]:
    """Return the lateness of each lane, the waiting runs at that time, and the checks."""
    lines = table(
        [
            "lane",
            "runs",
            "succeeded",
            *(f"{name} (s)" for name in LATENESS),
            *(f"low waiting, {name}" for name in WAITING),
        ],
        [
            [
                lane["lane"],
                lane["runs"],
                lane["succeeded"],
                *((lane["lateness_seconds"] or {}).get(name) for name in LATENESS),
                *((lane["low_waiting"] or {}).get(name) for name in WAITING),
            ]
            for lane in document["lanes"]
        ],
    )
    lines += table(
        ["promise", "kept", ""],
        [[name, check["kept"], check["detail"]] for name, check in document["checks"].items()],
    )
    return lines + nested(document["facts"])
