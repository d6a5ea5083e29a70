"""The page of `benchmarks.local`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results_pages.markdown import bullets, table, title

COUNTS = ("expected", "arrived", "lost", "doubled", "early")
LATENESS = ("p50", "p90", "p99", "max")


def page(document: Mapping[str, Any]) -> list[str]:
    """Return the counts and the lateness of each scheduler by kind of job, and its guarantees."""
    sides: Mapping[str, Mapping[str, Any]] = document["sides"]
    alone = {"duecourse_alone": document["alone"]} if "alone" in document else {}
    jobs = ", ".join(f"{count} {title(name)}" for name, count in document["jobs"].items())
    lines = [f"{document['minutes']} minutes; jobs of each side: {jobs}. Lateness in seconds.", ""]
    lines += table(
        ["side", *COUNTS, *LATENESS, "times as late as Duecourse"],
        [
            [title(name), *(side[count] for count in COUNTS), *_late(side["lateness_seconds"]), _times(side)]
            for name, side in (*alone.items(), *sides.items())
        ],
    )
    kinds = list(dict.fromkeys(kind for side in sides.values() for kind in side["by_kind"]))
    for kind in kinds:
        both = (*alone.items(), *sides.items())
        body = [[title(name), *_late(side["by_kind"].get(kind))] for name, side in both]
        lines += [f"**{title(kind)}**", "", *table(["side", *LATENESS], body)]
    lines += bullets(
        f"{title(name)}: {side['backend']}; {side['settings']}. {side['guarantees']}" for name, side in sides.items()
    )
    return lines + bullets(document.get("notes", ()))


def _late(spread: Mapping[str, float] | None) -> list[float | None]:
    return [spread.get(name) if spread else None for name in LATENESS]


def _times(side: Mapping[str, Any]) -> object:
    return side.get("times_as_late_as_duecourse")
