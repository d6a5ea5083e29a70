"""Plots of the bursts, as PNG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.burst.settings import RAISED, SETTINGS
from benchmarks.burst.simulate import LARGE, LOOKAHEAD, SMALL, Simulated

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"prod": "#b45309", "raised": "#1d4ed8", "quotas": "#047857"}
BEST = {SMALL: RAISED.name, LARGE: "quotas"}
"""The setting whose course is plotted for each burst: the smallest that is sufficient for its size."""


def plot(done: Sequence[Simulated], folder: Path) -> Iterator[Path]:
    """Write the plots of these scenarios. Yield the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for burst, name in ((SMALL, "500k"), (LARGE, "20m")):
        chosen = [each for each in done if (each.scenario.jobs, each.scenario.seconds) == burst]
        course = [each for each in chosen if each.scenario.setting.name == BEST[burst]]
        for each in course:
            if (each.scenario.shards, each.scenario.lookahead) == (256, LOOKAHEAD):
                yield _written(_course(each), folder / f"burst-{name}-course.png")
        by_shards = [
            each for each in chosen if each.scenario.lookahead == LOOKAHEAD and each.scenario.setting in SETTINGS
        ]
        if len({each.scenario.shards for each in by_shards}) > 1:
            yield _written(_shards(by_shards), folder / f"burst-{name}-shards.png")


def _written(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _size(each: Simulated) -> str:
    scenario = each.scenario
    jobs = f"{scenario.jobs // 1_000_000} million" if scenario.jobs >= 1_000_000 else f"{scenario.jobs:,}"
    return f"{jobs} jobs due within {scenario.seconds} s"


def _when(seconds: float) -> str:
    """Return a time as text, such as `3 min 10 s before`."""
    whole = abs(round(seconds))
    text = f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"
    return f"{text} {'before' if seconds < 0 else 'after'}"


def _course(each: Simulated) -> Any:
    """Plot the enqueued and the started jobs over time."""
    figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
    enqueued, started, jobs = each.enqueued, each.started, each.scenario.jobs
    _line(axes, enqueued.curve, jobs, "enqueued (their messages wait in the lane)", COLOURS["raised"])
    if started is not None:
        _line(axes, started.curve, jobs, "started", COLOURS["prod"])
    axes.axvline(0, color="#6b7280", linewidth=1, linestyle="--")
    axes.annotate("due", (0, 102), xytext=(4, 0), textcoords="offset points", color="#6b7280")
    axes.set_ylim(0, 108)
    axes.set_xlabel("seconds from the first due second")
    axes.set_ylabel("part of the jobs (%)")
    last = "never all in" if enqueued.last is None else f"the last is in {_when(enqueued.last)} the first is due"
    ends = "" if started is None else f" and starts {_when(started.last)}"
    shards, setting = each.scenario.shards, each.scenario.setting.name
    axes.set_title(f"{_size(each)}: {last}{ends}\n({shards} shards, settings “{setting}”)", fontsize=11)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    _plain(axes)
    return figure


def _line(axes: Any, curve: Iterable[tuple[float, float]], jobs: int, label: str, colour: str) -> None:
    points = list(curve)
    first = points[0][0]
    axes.plot(
        [first, *(at for at, _ in points)],
        [0, *(100 * count / jobs for _, count in points)],
        label=label,
        color=colour,
        linewidth=2,
    )


def _shards(chosen: Sequence[Simulated]) -> Any:
    """Plot the last job by number of shards: enqueued and started."""
    figure, both = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained", sharex=True)
    figure.get_layout_engine().set(w_pad=0.15)
    for axes, what in zip(both, ("enqueued", "started"), strict=True):
        for setting in SETTINGS:
            points = sorted(
                (each.scenario.shards, last)
                for each in chosen
                if each.scenario.setting == setting and (last := _last(each, what)) is not None
            )
            shards, lasts = [at for at, _ in points], [last for _, last in points]
            axes.plot(shards, lasts, marker="o", label=setting.name, color=COLOURS[setting.name], linewidth=2)
        if what == "enqueued":
            points = sorted((e.scenario.shards, e.enqueued.soonest) for e in chosen if e.scenario.setting == RAISED)
            axes.plot(
                [at for at, _ in points],
                [soonest for _, soonest in points],
                color=COLOURS[RAISED.name],
                linestyle=":",
                label=f"{RAISED.name}: AWS's limits alone",
            )
        axes.axhline(0, color="#6b7280", linewidth=1, linestyle="--")
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted({each.scenario.shards for each in chosen}))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.set_yscale("symlog", linthresh=300, linscale=2)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        lasts = [last for each in chosen if (last := _last(each, what)) is not None]
        low, high = min([*lasts, 0]) - 100, max([*lasts, 300]) * 1.5
        axes.set_yticks([tick for tick in TICKS if low <= tick <= high])
        axes.set_ylim(low, high)
        axes.minorticks_off()
        axes.set_xlabel("shards")
        axes.set_ylabel(f"last job {what} (s after the first is due)")
        axes.legend(frameon=False, fontsize=9)
        _plain(axes)
    soonest = min((each for each in chosen if each.enqueued.last is not None), key=lambda each: each.enqueued.last or 0)
    figure.suptitle(
        f"{_size(soonest)}: enqueued soonest by {soonest.scenario.shards} shards with settings "
        f"“{soonest.scenario.setting.name}”, {_when(soonest.enqueued.last or 0)} the first is due",
        fontsize=11,
    )
    return figure


TICKS = (-300, -200, -100, 0, 100, 200, 300, 1_000, 3_000, 10_000, 30_000, 100_000)


def _last(each: Simulated, what: str) -> float | None:
    if what == "enqueued":
        return each.enqueued.last
    return None if each.started is None else each.started.last


def _plain(axes: Any) -> None:
    axes.grid(visible=True, color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
