"""The result of `benchmarks.execute` as a JSON document and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.execute.figures import Measured


def budgets(cases: Mapping[str, Measured]) -> dict[str, bool]:
    """Return whether the budgets are met: start 1 write unit, end 1, and 1 for the overlap lock (docs/data.md)."""
    return {f"{name}_at_most_{case.most_write_units}_wru": case.within for name, case in cases.items()}


def table(cases: Mapping[str, Mapping[str, Any]], kept: Mapping[str, bool]) -> str:
    """Return a readable table with one row for each case and side."""
    head = f"{'':24}{'CPU ms':>8}{'requests':>10}{'WRU':>6}{'RRU':>6}{'SQS':>6}  textbook's CPU / ours"
    lines = ["Of one run, without the target's own work; SQS with the poller's requests", "", head]
    for name, case in cases.items():
        ratio, alone = case["cpu_ratio_vs_textbook_spread"], case["cpu_ms_per_run_without_telemetry_spread"]
        lines.append(f"{_row(name, case, case['cpu_ms_per_run'])}  {_spread(ratio)}")
        less = case["cpu_ratio_vs_textbook_without_telemetry_spread"]
        lines.append(f"  {'without its telemetry':22}{alone['median']:8.3f}{'':28}  {_spread(less)}")
        textbook = case["textbook"]
        lines.append(_row("  textbook", textbook, textbook["cpu_ms_per_run"]["median"]))
        lines += [f"    {line}" for line in case.get("profile_top", ())]
    lines.append("")
    lines += [f"{'kept  ' if within else 'MISSED'}  {name}" for name, within in kept.items()]
    return "\n".join(lines)


def _row(name: str, side: Mapping[str, Any], cpu: float) -> str:
    counted = f"{side['requests_per_1000'] / 1000:10.2f}{side['wru_per_run']:6.2f}{side['rru_per_run']:6.2f}"
    return f"{name:24}{cpu:8.3f}{counted}{side['sqs_requests_per_run']:6.2f}"


def _spread(ratio: Mapping[str, float]) -> str:
    return f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
