"""The cost of a month by number of firings, spread evenly over its minutes. It includes the stage, whose shards have a
round in each minute, and its metrics. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.cost.alignment import Alignment
from benchmarks.cost.counts import Counts
from benchmarks.cost.model import FULL_BATCH, MINUTES_OF_MONTH, Assumptions
from benchmarks.cost.per_million import MILLION, duecourse
from benchmarks.cost.prices import usd

VOLUMES = (100_000, 1_000_000, 10_000_000, 100_000_000)

ACTIVE_METRICS = 10
"""The custom metrics that a stage with one lane and one type of target writes in each hour with runs, in addition to
those of an idle stage.
"""

CLAIMED_TOGETHER: Mapping[str, int] = {"distinct": 1, "minutely": 10}
"""The firings of a job that one claim covers, and thus the minimum number of firings that a round finds."""


def months(
    counts: Counts, idle_total: float, shards: int, assume: Assumptions, alignment: Callable[[int], Alignment]
) -> dict[str, dict[str, float]]:
    """Return USD a month by number of firings. They are due at full minutes, evenly over the month. So a round finds
    few of them (`alignment`: how long it sleeps, or how long workers hold its messages, by firings of a round).
    """
    return {f"{volume:,}": _month(volume, counts, idle_total, shards, assume, alignment) for volume in VOLUMES}


def _month(
    volume: int,
    counts: Counts,
    idle_total: float,
    shards: int,
    assume: Assumptions,
    alignment: Callable[[int], Alignment],
) -> dict[str, float]:
    minute = volume / MINUTES_OF_MONTH
    batch = min(max(round(minute), 1), FULL_BATCH)
    figures: dict[str, float] = {"runs_of_an_invocation": batch}
    for case, together in CLAIMED_TOGETHER.items():
        firings = max(round(minute / shards), together)
        found = alignment(firings)
        spread = replace(
            assume,
            batch=batch,
            round_firings=firings,
            alignment_seconds=found.slept,
            held_seconds=found.held_by(batch),
        )
        figures[f"{case}_firings_of_a_round"] = firings
        for name, run in ((case, counts.run), (f"{case}_overlap_skip", counts.locked)):
            total = duecourse(counts.firings[case], run, spread, counts.caretaking[case])["total"]
            figures[name] = round(idle_total + usd("metric", ACTIVE_METRICS) + volume / MILLION * total, 2)
    return figures
