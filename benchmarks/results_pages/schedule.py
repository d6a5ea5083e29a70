"""The page of `benchmarks.schedule`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results_pages.markdown import bullets, table

ENGINES = ("duecourse", "croniter", "cronsim", "croner")


def page(document: Mapping[str, Any]) -> list[str]:
    """Return the calls per second of each engine, and the worst cases."""
    lines = table(
        ["calls per second", "zone", *ENGINES, "times croniter"],
        [
            [
                f"`{row['expression']}`",
                row["timezone"],
                *(row["calls_per_second"].get(name) for name in ENGINES),
                row["times_croniter"],
            ]
            for row in document["expressions"]
        ],
    )
    hard = [[f"`{row['expression']}`", row["timezone"], row["milliseconds"]] for row in document["worst"]]
    lines += table(["rarely or never true, compiled and asked once", "zone", "ms"], hard)
    return lines + bullets(document.get("notes", ()))
