"""Plots the share of runs that had started by each lateness, for all schedulers, as a PNG. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.local.tally import P50_BUDGET_SECONDS, P99_BUDGET_SECONDS, Tally

FILE = "local-lateness.png"
MIN_SECONDS = 0.0005
"""Smaller (and negative) values are plotted here: a logarithmic axis has no zero."""


def draw(tallies: Mapping[str, Tally], folder: Path, title: str) -> Path:
    """Draw the plot into a folder, which is created. Return its path. Raises ImportError without matplotlib, or
    OSError.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    for name, tally in tallies.items():
        late = [max(value, MIN_SECONDS) for value in tally.latenesses]
        # The share of the expected calls: if calls never arrived, the line stays below one.
        shares = [(number + 1) / tally.expected for number in range(len(late))]
        axes.step(late, shares, where="post", label=name.replace("_", ", "), linewidth=1.8)
    for bound, share, place in ((P50_BUDGET_SECONDS, 0.5, "right"), (P99_BUDGET_SECONDS, 0.99, "left")):
        axes.plot([bound], [share], marker="x", color="black", linestyle="none")
        axes.annotate(
            f"budget: {share:.0%} by {bound:g} s",
            (bound, share),
            textcoords="offset points",
            xytext=(-6 if place == "right" else 6, 6 if place == "right" else -12),
            horizontalalignment=place,
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("lateness at the receiver, seconds after the due second")
    axes.set_ylabel("share of the expected runs")
    axes.set_title(title, fontsize=10)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(loc="upper left", fontsize=9)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    figure.savefig(file, dpi=130)
    plt.close(figure)
    return file
