"""The costs as one document, and as readable tables. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from benchmarks.cost import prices
from benchmarks.cost.alignment import Alignment
from benchmarks.cost.apart import apart
from benchmarks.cost.counts import Counts
from benchmarks.cost.idle import BUDGET, Idle, remedies
from benchmarks.cost.model import Assumptions
from benchmarks.cost.months import months
from benchmarks.cost.per_million import MILLION, break_even, everything
from duecourse.usecases.dispatch.claim import HELD_FIRINGS

SHARDS = (16, 17, 32, 64, 256)
"""The shard counts whose idle month is reported: that of prod, one more, and those of docs/sizing.md."""

SAID = """\
Free tiers are not counted. They would cover a small stage's Lambda and SQS, and EventBridge Scheduler's first 14
million invocations a month.

CPU was measured on this machine with the wire answering at once. A function has its share of such a processor (0.58 at
1,024 MB) and waits for each request besides.

Polls of empty queues are counted at their most: five long polls of 20 s for each event source. AWS promises no number.

X-Ray's first 100,000 traces of a month are free, too. Runs are traced from their worker on; the clock is not.

A customer key is asked for each table and connection that is in use, every five minutes. A busy worker has ten
connections (measured: one for each run of its batch, with both tables behind each); half as many make a batch of calls
of 0.2 s some 5 ms longer, which costs as much as they save.

Overlap is allowed where nothing is said. The default of a job, overlap `skip`, takes a lock for each run: the figures
that end in `overlap_skip`.

A process adds the counts of its runs at most once a minute for each tenant. The figures count a write for each
invocation, with the runs of one tenant: the most that is possible. With more tenants, each has its own write.

The audit and index repair read each job several times a day, whether it fires or not. A million firings are those of
as many daily jobs, or of fewer jobs that fire more often, of 2.5 KB each.

A message with a message group is counted as one unit of SQS's fair queues.

Only Duecourse's million includes a record of each run, kept for 90 days with point-in-time recovery. The others keep
none (Step Functions Standard keeps its own history for 90 days).

EventBridge Scheduler fires each schedule at most once a minute, with a precision of a minute; Google Cloud Scheduler at
most once a minute; Duecourse by the second.

Google charges the job, not its firings: its figure for a million depends on how often a job fires."""


def document(
    counts: Counts, idle: Idle, assume: Assumptions, alignment: Callable[[int], Alignment] | None = None
) -> dict[str, Any]:
    """Return the result without its head (`benchmarks.about`). `alignment`: how long a round with a number of firings
    sleeps, or how long workers hold its messages; without it, as in `assume` for any number.
    """
    aligned = alignment or (lambda _: Alignment(assume.alignment_seconds))
    smallest, smallest_waiting = aligned(1), aligned(HELD_FIRINGS + 1)
    month = idle.items(assume)
    awake = replace(idle, woken=1.0).items(assume)["total"]  # with firings, a shard has a round in most minutes
    items = everything(counts, assume)
    totals = {name: parts["total"] for name, parts in items.items()}
    unsure = ", ".join(prices.unverified())
    lacking = [f"Not measured but documented: {name}." for name in counts.gaps]
    lacking += [f"Not measured but documented: {name}." for name, by in counts.sources.items() if by == "documented"]
    met = month["total"] <= BUDGET
    missed = [] if met else [f"The idle month misses its budget by {month['total'] - BUDGET:.2f} USD."]
    return {
        "idle_month": {f"{idle.shards}_shards": month},
        "idle_by_shards": {str(shards): replace(idle, shards=shards).items(assume)["total"] for shards in SHARDS},
        "idle_counts": idle.counted(assume),
        "idle_apart": apart(idle, assume),
        "idle_remedies": remedies(idle, assume),
        "idle_budget": BUDGET,
        "per_million": totals,
        "per_million_without_logs_traces_and_records": {name: _bare(parts) for name, parts in items.items()},
        "per_million_items": items,
        "per_million_one_by_one": _one_by_one(counts, assume, smallest),
        "small_rounds": {
            "held_firings": HELD_FIRINGS,
            "held_seconds": smallest.held,
            "held_usd_per_million": round(usd_of_time(smallest.held, assume.execute_mb), 2),
            "alignment_seconds": smallest_waiting.slept,
            "alignment_usd_per_million": round(usd_of_time(smallest_waiting.slept, assume.dispatch_mb), 2),
        },
        "months_of_firings": months(counts, awake, idle.shards, assume, aligned),
        "break_even": break_even(awake, totals),
        "counts": {
            "firings": {case: asdict(firing) for case, firing in counts.firings.items()},
            "run": asdict(counts.run),
            "run_overlap_skip": asdict(counts.locked),
            "audit_and_repair_rru_per_firing": dict(counts.caretaking),
            "idle_round": asdict(idle.round),
            "idle_tick": asdict(idle.tick),
            "alarm_metrics": idle.alarm_metrics,
            "dashboards": idle.dashboards,
            "sources": dict(counts.sources),
        },
        "assumptions": asdict(assume),
        "price_table": prices.document(),
        "notes": [
            *missed,
            *lacking,
            f"Prices that could not be verified: {unsure}.",
            *(" ".join(said.split()) for said in SAID.split("\n\n")),
        ],
        "budgets": {f"idle_month_{idle.shards}_shards_at_most_{BUDGET * 100:.0f}_cents": met},
    }


def usd_of_time(seconds: float, memory_mb: int) -> float:
    """Return the cost of a million times this duration, without their invocations."""
    return prices.usd("lambda_gb_second", MILLION * seconds * memory_mb / 1024)


def _one_by_one(counts: Counts, assume: Assumptions, aligned: Alignment) -> dict[str, float]:
    """Return USD for a million firings if rounds find one firing and workers one run (`--batch 1`)."""
    alone = replace(assume, batch=1, round_firings=1, alignment_seconds=aligned.slept, held_seconds=aligned.held_by(1))
    totals = {name: parts["total"] for name, parts in everything(counts, alone).items()}
    return {name: total for name, total in totals.items() if name.startswith("duecourse")}


def table(result: Mapping[str, Any]) -> str:
    """Return the result as a readable text."""
    lines: list[str] = []
    for name, items in result["idle_month"].items():
        lines += [f"an idle month, {name.replace('_', ' ')} (USD)", *_rows(items), ""]
    lines += ["on top where it is switched on (USD a month)", *_rows(result["idle_apart"]), ""]
    lines += ["what would make it less", *(f"  {remedy}" for remedy in result["idle_remedies"]), ""]
    lines += ["a million firings (USD)", *_rows(result["per_million"]), ""]
    lines += ["the same without logs, traces and records"]
    lines += [*_rows(result["per_million_without_logs_traces_and_records"]), ""]
    lines += ["of which, with distinct jobs", *_rows(result["per_million_items"]["duecourse_distinct"]), ""]
    lines += ["a month of firings that are spread evenly over its minutes, idle cost with them (USD)"]
    for volume, figures in result["months_of_firings"].items():
        lines.append(f"  {volume:>11}: " + ", ".join(f"{name.replace('_', ' ')} {v:,}" for name, v in figures.items()))
    lines.append("")
    even, job = result["break_even"], prices.PRICES["google_job"].dollars
    cheaper = (
        f"cheaper than Google's {job:.2f} USD a job from {even['daily_jobs_from']} daily jobs on, and for a job of "
    )
    lines += [
        cheaper + f"up to {even['firings_a_job_and_month_up_to']:,} firings a month",
        "",
        f"prices of {result['price_table']['date']}, {result['price_table']['region']}",
        *result["notes"],
        "",
    ]
    lines += [f"{'met' if met else 'MISSED':8}{name}" for name, met in result["budgets"].items()]
    return "\n".join(part for line in lines for part in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    """Return the text in lines of at most 79 characters; lines after the first are indented."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, 79, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _bare(parts: Mapping[str, float]) -> float:
    """Return the cost of deciding, sending and calling, without the cost of reports on it."""
    return round(parts["total"] - sum(parts.get(name, 0) for name in ("logs", "traces", "records_kept")), 4)


def _rows(items: Mapping[str, float]) -> list[str]:
    return [f"  {name.replace('_', ' '):36}{value:>12,.2f}" for name, value in items.items()]
