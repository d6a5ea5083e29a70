"""The text for people about what a change does to the next runs of a job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from duecourse.cli.when import moment
from duecourse.client.models import ScheduleChange

FEW = 3
"""The number of changed runs that are shown."""


def change_lines(change: ScheduleChange, zone: tzinfo, few: int = FEW) -> Iterator[str]:
    """Yield the lines: how many of the next runs change, the first `few`, and the runs and the cost of a month."""
    counts = {"moved": change.moved, "added": change.added, "removed": change.removed, "kept": change.kept}
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "none"
    yield f"runs until {moment(change.until, zone)}: {said}"
    for each in change.first[:few]:
        if each.before is None:
            yield f"  + {moment(each.after, zone)}"
        elif each.after is None:
            yield f"  - {moment(each.before, zone)}"
        else:
            yield f"  {moment(each.before, zone)} -> {moment(each.after, zone)}"
    if few and (more := change.moved + change.added + change.removed - min(len(change.first), few)) > 0:
        yield f"  ... and {more:,} more"
    runs, dollars = change.runs_per_month, change.dollars_per_month
    before, after = (_month(*each) for each in ((runs.before, dollars.before), (runs.after, dollars.after)))
    yield f"a month, without the target: {before} -> {after}"


def _month(runs: float | None, dollars: float | None) -> str:
    """Return the runs and the cost of a month, or that there are too many to count."""
    return "too many runs to count" if runs is None or dollars is None else f"{runs:,.0f} runs (${dollars:,.4f})"
