"""Measures a case: all sides in turn, the requests that the wire counted, and the billed capacity."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.dispatch.bills import SideBill, ours_bill, textbook_bill
from benchmarks.dispatch.cases import Case
from benchmarks.dispatch.sides import Taken, Textbook, dispatcher, load, load_textbook, measured, ours
from benchmarks.peak import peak_mb
from benchmarks.spread import spread
from benchmarks.wire.client import WireAt, wire
from duecourse_schedules.schedule import forget

TURNS = 13
"""The number of turns of each side. They are short, so that turns of different sides are close in time."""

SAMPLE, TEXTBOOK_SAMPLE = 2_000, 200
"""The maximum number of firings of a turn (for each side, some tenths of a second)."""

MEMORY_DUE = 100_000
MAX_MEMORY_MB = 256


def measure(at: WireAt, case: Case, firings: int, turns: int = TURNS) -> dict[str, Any]:
    """Return the figures of a case, except its memory. Requests and units belong to one round of all `firings`, which
    also serves as a warm-up. CPU is measured in shorter turns. A warm-up of each side is not counted.
    """
    side = dispatcher()
    stored = load(at, case, firings)
    at.counts()
    enqueued = ours(side, len(stored) * case.firings)
    bill = ours_bill(stored, at.counts(), enqueued)
    sample = len(load(at, case, min(firings, SAMPLE))) * case.firings
    page = load_textbook(at, case, min(firings, TEXTBOOK_SAMPLE))
    own, plain = Textbook.create(), Textbook.plain()
    at.counts()
    plain(len(page))
    textbook = textbook_bill(page, at.counts())

    def turn() -> int:
        if case.own:
            forget()  # with the zones, of which there are few
        return ours(side, sample)

    figures = take_turns(
        {"ours": turn, "textbook": lambda: plain(len(page)), "tuned": lambda: own(len(page))},
        turns,
    )
    return document(case, bill, textbook, figures)


def take_turns(sides: Mapping[str, Callable[[], int]], turns: int) -> dict[str, list[float]]:
    """Return the CPU milliseconds per firing of each side in each turn except the first. The side that begins has
    colder caches, so the sides begin in turn.
    """
    names = list(sides)
    figures: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(turns + 1):
        for place in range(len(names)):
            name = names[(place + turn) % len(names)]
            taken: Taken = measured(sides[name])
            if turn:
                figures[name].append(taken.milliseconds)
    return figures


def document(case: Case, bill: SideBill, textbook: SideBill, figures: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the figures as a part of the result. The ratios are the textbook's CPU divided by Duecourse's, turn by
    turn, so that a drift of the machine affects both sides: above 1, Duecourse needs less.
    """
    ratios = _ratios(figures, "textbook")
    return {
        "says": case.says,
        "firings": bill.firings,
        "claims": bill.claims,
        "turns": len(ratios),
        "cpu_ms_per_firing": spread(figures["ours"], 4)["median"],
        "cpu_ms_per_firing_spread": spread(figures["ours"], 4),
        "cpu_ratio_vs_textbook": round(median(ratios), 2),
        "cpu_ratio_vs_textbook_spread": spread(ratios, 2),
        "cpu_ratio_vs_tuned_textbook_spread": spread(_ratios(figures, "tuned"), 2),
        **bill.document(),
        "textbook": {
            "cpu_ms_per_firing": spread(figures["textbook"], 4),
            "tuned_cpu_ms_per_firing": spread(figures["tuned"], 4),
            **textbook.document(),
        },
    }


def _ratios(figures: Mapping[str, Sequence[float]], against: str) -> list[float]:
    return [other / mine for mine, other in zip(figures["ours"], figures[against], strict=True)]


def peak_memory(name: str, firings: int) -> float:
    """Return the peak resident memory (MB) of a process that only dispatches a case once."""
    command = [sys.executable, "-m", "benchmarks.dispatch.memory", name, str(firings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    figure: float = json.loads(done.stdout)["peak_rss_mb"]
    return figure


def memory(case: Case, firings: int) -> dict[str, Any]:
    """Return the peak memory of a round and of the library, without the wire's pages. Runs in a separate process.
    Raises AssertionError if the round did not enqueue everything.
    """
    with wire() as at:
        # Another process creates the jobs, because their memory is not the dispatcher's.
        made = [sys.executable, "-m", "benchmarks.dispatch.load", at.url, at.secure_url, case.name, str(firings)]
        subprocess.run(made, check=True, timeout=600)
        side = dispatcher()
        imported = peak_mb()
        enqueued = ours(side, case.jobs_for(firings) * case.firings)
    return {"enqueued": enqueued, "imported_rss_mb": round(imported, 1), "peak_rss_mb": round(peak_mb(), 1)}
