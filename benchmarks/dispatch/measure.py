"""Measures a case: all sides in turn, what the wire counted, what DynamoDB would bill."""

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

TURNS = 13
"""Of each side. They are short, so that a turn of one side is close to those of the others."""

SAMPLE, TEXTBOOK_SAMPLE = 2_000, 200
"""Firings of a turn at most: some tenths of a second of each side."""

MEMORY_DUE = 100_000
MAX_MEMORY_MB = 256


def measure(at: WireAt, case: Case, firings: int, turns: int = TURNS) -> dict[str, Any]:
    """The figures of a case but for its memory. Requests and units are those of one round of all `firings`, which also
    warms our side up; CPU is that of turns that are shorter. A warm-up of each side does not count.
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
    figures = take_turns(
        {"ours": lambda: ours(side, sample), "textbook": lambda: plain(len(page)), "tuned": lambda: own(len(page))},
        turns,
    )
    return document(case, bill, textbook, figures)


def take_turns(sides: Mapping[str, Callable[[], int]], turns: int) -> dict[str, list[float]]:
    """Milliseconds of CPU of a firing, by side, in each turn but the first. Whoever begins has the colder caches:
    everybody begins in turn.
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
    """For a result. The ratios are the textbook's CPU by ours, turn by turn, so that a drift of the machine hits both
    sides: above 1 we are cheaper.
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
    """Peak resident memory (MB) of a process that does nothing but dispatch a case, once."""
    command = [sys.executable, "-m", "benchmarks.dispatch.memory", name, str(firings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    figure: float = json.loads(done.stdout)["peak_rss_mb"]
    return figure


def memory(case: Case, firings: int) -> dict[str, Any]:
    """For a process of its own: what a round and the library needed at most, the wire's pages not being in it. Raises
    AssertionError where the round did not enqueue everything.
    """
    with wire() as at:
        # The jobs are made elsewhere: their memory is not the dispatcher's.
        made = [sys.executable, "-m", "benchmarks.dispatch.load", at.url, at.secure_url, case.name, str(firings)]
        subprocess.run(made, check=True, timeout=600)
        side = dispatcher()
        imported = peak_mb()
        enqueued = ours(side, case.jobs_for(firings) * case.firings)
    return {"enqueued": enqueued, "imported_rss_mb": round(imported, 1), "peak_rss_mb": round(peak_mb(), 1)}
