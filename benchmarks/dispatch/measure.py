"""Measures a case: both sides in turn, what the wire counted, what DynamoDB would bill."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.dispatch.cases import NOW, PAGE, SHARD, SHARDS, Case
from benchmarks.dispatch.sides import Textbook, dispatcher, load, measured, ours
from benchmarks.spread import spread
from benchmarks.wire.capacity import item_bytes, page_read_units, write_units
from benchmarks.wire.client import WireAt, wire
from duecourse.adapters.dynamodb import cursor_item
from duecourse.domain.plan import plan
from duecourse.domain.sharding import slot_of

ROUNDS = 5
START, FINISH, LOCK = 1, 1, 2
"""Write units of a run's start and finish, and of its overlap lock (measured by benchmarks.execute)."""

CLAIM_INDEX_WRITES = 2
"""A claim changes the cursor's key in the due index: it is deleted there and put there."""

MEMORY_DUE = 100_000
MOST_MEMORY_MB = 256


def measure(at: WireAt, case: Case, firings: int) -> dict[str, Any]:
    """The figures of a case. The first round of each side warms it up and does not count."""
    stored = load(at, case, firings)
    slot = slot_of(NOW + case.ahead, SHARD)
    ours_side = dispatcher()
    own, plain = Textbook.create(), Textbook.plain()
    firings_of_textbook = min(len(stored), PAGE)  # one page, whole: it reads an entry of the index for each firing
    counts: Counter[str] = Counter()
    figures: dict[str, list[float]] = {"ours": [], "textbook": [], "tuned": []}
    for round_ in range(ROUNDS + 1):
        at.counts()
        taken = measured(lambda: ours(ours_side))
        counts = at.counts()
        textbook = measured(lambda: plain(slot, firings_of_textbook))
        tuned = measured(lambda: own(slot, firings_of_textbook))
        if round_:
            for side, figure in (("ours", taken), ("textbook", textbook), ("tuned", tuned)):
                figures[side].append(figure.milliseconds)
    enqueued = counts["messages"]
    return {
        "says": case.says,
        "firings": enqueued,
        "claims": counts["statements"],
        "cpu_ms_per_firing": spread(figures["ours"], 4)["median"],
        "cpu_ms_per_firing_spread": spread(figures["ours"], 4),
        "textbook_cpu_ms_per_firing": spread(figures["textbook"], 4),
        "cpu_ratio_vs_textbook": round(median(_ratios(figures, "textbook")), 2),
        "cpu_ratio_vs_textbook_spread": spread(_ratios(figures, "textbook"), 2),
        "cpu_ratio_vs_tuned_textbook_spread": spread(_ratios(figures, "tuned"), 2),
        "textbook_requests_per_1000": 2000,
        **_bills(stored, counts, enqueued),
        "peak_rss_mb": peak_memory(case.name, firings),
    }


def _ratios(figures: dict[str, list[float]], against: str) -> list[float]:
    """Pair by pair, so that a drift of the machine hits both sides."""
    return [other / mine for mine, other in zip(figures["ours"], figures[against], strict=True)]


def _bills(stored: list[dict[str, Any]], counts: Counter[str], enqueued: int) -> dict[str, Any]:
    """Requests and capacity units. Items are measured as they are after the claim, when they are largest."""
    standing = cursor_item.from_item(stored[0])
    moved = cursor_item.to_item(plan(standing, now=NOW, reach=840).cursor, SHARDS, now=NOW)
    claims = counts["statements"] * write_units(moved, index_writes=CLAIM_INDEX_WRITES)
    pages = [stored[begin : begin + PAGE] for begin in range(0, len(stored), PAGE)]
    empty = counts["Query"] - len(pages)
    reads = sum(map(page_read_units, pages)) + empty / 2 + counts["GetItem"]
    requests = {
        operation: count
        for operation, count in counts.items()
        if operation[0].isupper()  # the others count what requests held
    }
    per_firing = claims / enqueued
    return {
        "cursor_bytes": item_bytes(moved),
        "requests_per_1000": round(1000 * sum(requests.values()) / enqueued, 1),
        "requests": requests,
        "sqs_requests_per_1000": round(1000 * counts["SendMessageBatch"] / enqueued, 1),
        "rru_per_firing": round(reads / enqueued, 4),
        "claim_wru_per_firing": round(per_firing, 3),
        "wru_per_firing": round(per_firing + START + FINISH, 3),
        "wru_per_firing_overlap_skip": round(per_firing + START + FINISH + LOCK, 3),
    }


def peak_memory(name: str, firings: int) -> float:
    """Peak resident memory (MB) of a process that does nothing but dispatch a case, twice."""
    command = [sys.executable, "-m", "benchmarks.dispatch.memory", name, str(firings)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    figure: float = json.loads(done.stdout)["peak_rss_mb"]
    return figure


def memory(case: Case, firings: int) -> dict[str, Any]:
    """For a process of its own: what the round and the library needed at most, the wire's pages not being in it."""
    with wire() as at:
        # The jobs are made elsewhere: their memory is not the dispatcher's.
        made = [sys.executable, "-m", "benchmarks.dispatch.load", at.url, case.name, str(firings)]
        subprocess.run(made, check=True, timeout=600)
        side = dispatcher()
        imported = _peak_mb()
        for _ in range(2):
            enqueued = ours(side)
    return {
        "enqueued": enqueued,
        "imported_rss_mb": round(imported, 1),
        "peak_rss_mb": round(_peak_mb(), 1),
    }


def _peak_mb() -> float:
    """Of this program alone: getrusage would count what the process held before it became this program."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
