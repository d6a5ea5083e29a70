"""The page of `benchmarks.schedule`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results_pages.markdown import bullets, table

ENGINES = ("duecourse", "croniter", "croniter-rs", "cronsim", "croner")


def page(document: Mapping[str, Any]) -> list[str]:
    """Return the calls per second of each engine, the first calls, and the worst cases."""
    engines = [name for name in ENGINES if any(name in row["calls_per_second"] for row in document["expressions"])]
    lines = table(
        ["calls per second", "zone", *engines, "times croniter"],
        [
            [
                f"`{row['expression']}`",
                row["timezone"],
                *(row["calls_per_second"].get(name) for name in engines),
                row["times_croniter"],
            ]
            for row in document["expressions"]
        ],
    )
    if unseen := document.get("unseen"):
        first = [[f"`{row['expression']}`", row["timezone"], row["microseconds"]] for row in unseen]
        lines += table(["compiled and asked once, fields not seen before", "zone", "µs"], first)
    hard = [[f"`{row['expression']}`", row["timezone"], row["milliseconds"]] for row in document["worst"]]
    lines += table(["rarely or never true, compiled and asked once", "zone", "ms"], hard)
    return lines + bullets(document.get("notes", ()))
