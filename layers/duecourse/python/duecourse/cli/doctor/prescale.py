"""The capacity that the stage raises before peaks, in stages with the setting `prescale`: plan, cost and history."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from duecourse.checks.check import Check, fine, runbook, warning
from duecourse.cli.doctor.facts import Prescale, PrescaleEntry, PrescaleQueue, UpcomingPeak
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.doctor.tables import item_of

REMOVED_SECONDS = 600
"""How long after their time pollers may still exist, in seconds: the tick requests their removal once a minute, and
Lambda needs some minutes.
"""

SHOWN = 3
OUTPUT = "PrescaleDollars"
"""The output with the budget of a day, in stages with the setting."""


def plan(stage: Stage) -> Prescale:
    """Return the item PRESCALE/PLAN and the budget."""
    dollars = float(stage.outputs[OUTPUT])
    item = item_of(stage, "PRESCALE", "PLAN")
    if item is None:
        return Prescale(dollars, 0.0, (), (), ())
    found: dict[str, Any] = json.loads(item["plan"]["S"])
    today = datetime.fromtimestamp(stage.now, UTC).strftime("%Y-%m-%d")
    return Prescale(
        dollars_per_day=dollars,
        spent_today=found["spent"] if found["day"] == today else 0.0,
        peaks=[
            UpcomingPeak(_iso(each["minute"] * 60), each["runs"], each["at_least"])
            for each in found["peaks"]
            if each["minute"] * 60 > stage.now
        ],
        queues=[
            PrescaleQueue(name, each["pollers"], _iso(each["paid_until"]), max(stage.now - each["paid_until"], 0.0))
            for name, each in sorted(found["raised"].items())
        ],
        history=[PrescaleEntry(_iso(each["at"]), each["says"], each["dollars"]) for each in found["history"][::-1]],
    )


def judge(found: Prescale) -> Check:
    """Show the plan, what this day has cost, and the last decisions. Pollers that were not removed are a warning."""
    peaks = [f"{'at least ' if each.at_least else ''}{each.runs:,} runs at {each.at}" for each in found.peaks]
    said = f"peaks of the next 30 minutes: {', '.join(peaks) or 'none'}"
    with_pollers = [f"{each.queue} {each.pollers} until {each.until}" for each in found.queues if each.pollers]
    if with_pollers:
        said += f"; pollers: {', '.join(with_pollers)}"
    said += f"; ${found.spent_today:.2f} of ${found.dollars_per_day:g} are used today"
    if found.history:
        last = (f"{each.at} {each.says} (${each.dollars:.2f})" for each in found.history[:SHOWN])
        said += f"; last decisions: {'; '.join(last)}"
    if late := [each.queue for each in found.queues if each.overdue > REMOVED_SECONDS]:
        return warning(
            "prescale",
            f"pollers that should be removed still cost money: {', '.join(late)}; {said}",
            "check the log of the tick function (action prescale_failed)",
            runbook("prescalesfailed"),
        )
    return fine("prescale", said)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
