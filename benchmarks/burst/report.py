"""The report of the simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from textwrap import wrap
from typing import Any

from benchmarks.burst.limits import LIMITS
from benchmarks.burst.prescaled import PRESCALED_SETTINGS
from benchmarks.burst.settings import ALL_SETTINGS, SIZING_LOCKED, SIZING_SHARDS, Assumptions
from benchmarks.cost.counts import Run

JUDGED = SIZING_LOCKED.name
"""The setting for which the budget is checked: the recommendation of docs/sizing.md, with the default policies of a
job.
"""

MAX_P99_SECONDS = 10.0
"""The budget for starts: 99 of 100 runs start within this many seconds after their due second."""


def budgets(documents: Sequence[dict[str, Any]]) -> dict[str, bool]:
    """Return whether the burst of the budget is enqueued before its due second, and whether it starts soon after."""
    judged = [
        document
        for document in documents
        if (document["jobs"], document["shards"], document["workers"]) == (500_000, SIZING_SHARDS, JUDGED)
    ]
    enqueued = [document["last_enqueued_seconds"] for document in judged]
    p99 = [(document["lateness_seconds"] or {}).get("p99") for document in judged]
    return {
        "500k_enqueued_before_their_second": bool(judged) and all(last is not None and last < 0 for last in enqueued),
        f"500k_p99_started_within_{MAX_P99_SECONDS:.0f}_s": bool(judged)
        and all(late is not None and late <= MAX_P99_SECONDS for late in p99),
    }


def report(documents: Sequence[dict[str, Any]], given: Assumptions) -> Iterator[str]:
    """Yield the lines: a table for each burst, its limits, and all assumptions."""
    yield from wrap(KEY, WIDTH)
    for setting in (*ALL_SETTINGS, *PRESCALED_SETTINGS):
        yield from _item(f"{setting.name}: {setting.says}")
    for jobs, seconds in sorted({(document["jobs"], document["seconds"]) for document in documents}):
        yield ""
        yield f"{jobs:,} jobs due in {seconds} s"
        chosen = [document for document in documents if (document["jobs"], document["seconds"]) == (jobs, seconds)]
        yield from _table(chosen)
        yield "  what limits it, and what to change:"
        yield from _changes(chosen)
    yield ""
    yield "Limits of AWS, each with where it is said:"
    for limit in LIMITS:
        yield from _item(f"{limit.name}: {limit.value:,.0f} {limit.unit} [{limit.source}] ({limit.quota})")
    yield ""
    yield "Taken as given, since AWS publishes no figure (seconds, unless it is a number of something):"
    yield from _item(", ".join(_assumed(given)))
    yield ""
    yield from wrap(NOTES, WIDTH)


_COLUMNS = (
    "settings",
    "shards",
    "lookahead",
    "last enqueued",
    "soonest",
    "last started",
    "p50 late",
    "p99 late",
    "sends",
)


def _table(documents: Sequence[dict[str, Any]]) -> Iterator[str]:
    rows = [_COLUMNS, *(_row(document) for document in documents)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    late = document["lateness_seconds"] or {"p50": None, "p99": None}
    return (
        document["workers"],
        f"{document['shards']:,}",
        str(document["lookahead_seconds"]),
        ("~" if document["carried_on_from_its_speed"] else "")
        + _seconds(document["last_enqueued_seconds"], signed=True),
        _seconds(document["soonest_by_published_limits_seconds"], signed=True),
        _seconds(document["last_started_seconds"], signed=True),
        _seconds(late["p50"]),
        _seconds(late["p99"]),
        f"{document['sends_per_job']:.2f}",
    )


def _seconds(value: float | None, *, signed: bool = False) -> str:
    return "never" if value is None else f"{value:{'+' if signed else ''},.1f} s"


def _changes(documents: Sequence[dict[str, Any]]) -> Iterator[str]:
    for document in documents:
        waited = list(document["enqueue_waited_seconds"].items())[:3]
        text = (
            f"{document['workers']}, {document['shards']:,} shards, lookahead {document['lookahead_seconds']} s: "
            f"enqueuing by {document['enqueue_limited_by']} "
            f"({'; '.join(f'{took:g} s for {name}' for name, took in waited)}),"
            f" starts by {document['start_limited_by']}. Change: {'; '.join(document['to_change'])}."
        )
        yield from _item(text)


def _assumed(given: Assumptions) -> Iterator[str]:
    for field in fields(given):
        value = getattr(given, field.name)
        if isinstance(value, Run):
            units = f"{value.wru_per_run:g} WRU, {value.rru_per_run:g} RRU, list {value.list_wru_per_run:g} WRU"
            yield f"{field.name} {units}"
        else:
            yield f"{field.name} {value:g}"


def _item(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)


WIDTH = 118

KEY = (
    "Seconds count from the first due second of the burst; negative ones are before it. `soonest`: by AWS's published "
    "limits alone, from the first tick that finds the burst, without a moment's pause. `~`: carried on by its speed. "
    "`sends`: messages a job; a repeat follows from a claim that was throttled."
)

NOTES = (
    "What runs is the real code of the tick, the dispatcher (groups, alignment, plans, stops) and the placement of "
    "every job id, over simulated ports in virtual time. A sample of whole shards, the fullest among them, is "
    "simulated with its share of the tables and of the dispatchers: a hash makes shards alike, and they share nothing "
    "else. The waits of the last shard say what limits. Not counted on, so that it can only be better: splits for "
    "heat, burst capacity beyond a second, growth of an on-demand table within half an hour. Not modelled, so that it "
    "can be worse: workers throttled beyond their client's own attempts (their messages come back after the "
    "visibility time-out; five times make a dead letter), a stale index, failures of AWS."
)
