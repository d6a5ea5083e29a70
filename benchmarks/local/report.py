"""The report, as JSON data and as text. Pure: no clock, no calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.local.jobs import Kind, Window
from benchmarks.local.sides import OURS, SIDES
from benchmarks.local.tally import BOUNDS, Tally, budgets, document

COLUMNS = ("expected", "arrived", "lost", "doubled", "early")

BAR = 40
"""The maximum length of a bar of the histogram, in characters."""

STANDING_NOTES = (
    "The budgets are judged by Duecourse alone (light load); then all sides run, Duecourse among them.",
    "Those ran at the same time, in the same minutes, on the same processors and called the same receiver.",
    "So each bears the load of all others; most of it is the emulator's of AWS.",
    "Of jobs due at one second Duecourse's wait for each other in the emulator, one process for all tables and queues.",
    "The minute before those that count is the warm-up: cold starts, first connections and imports fall into it.",
    "Lateness is the receiver's clock at the first byte of a call, less the second at which it was due.",
    "procrastinate's cron jobs are deferred half a second after their second: a constant in its code, no setting.",
    "Its jobs with schedule_at are found by polling, unless another job's notification wakes the worker before.",
    "APScheduler does not tell a function its occurrence: its calls are counted for the last one due.",
)


@dataclass(frozen=True, slots=True)
class Alone:
    """The lateness of Duecourse without other schedulers, and the load average of each minute."""

    tally: Tally
    loads: Sequence[float]

    def document(self) -> dict[str, Any]:
        """Return the figures as JSON data."""
        return {"load_average_of_each_minute": list(self.loads), **document(self.tally, self.tally)}


def report(
    tallies: Mapping[str, Tally],
    window: Window,
    counts: Mapping[str, int],
    loads: Sequence[float],
    notes: Sequence[str],
    alone: Alone | None = None,
) -> dict[str, Any]:
    """Return the document without its head. `alone` is Duecourse without the load of the others, for which its budgets
    are checked. Without it (there were no others), the measured minutes are used.
    """
    ours = tallies[OURS]
    light = ours if alone is None else alone.tally
    apart = {} if alone is None else {"alone": alone.document()}
    return {
        "minutes": window.minutes,
        "jobs": dict(counts),
        "load_average_of_each_minute": list(loads),
        **apart,
        "sides": {
            side.name: {
                "backend": side.backend,
                "settings": side.settings,
                "guarantees": side.guarantees,
                **document(tallies[side.name], ours),
            }
            for side in SIDES
            if side.name in tallies
        },
        "notes": [*notes, *STANDING_NOTES],
        "budgets": budgets(light),
    }


def table(made: Mapping[str, Any]) -> str:
    """Return the report as a readable text."""
    sides: Mapping[str, Mapping[str, Any]] = made["sides"]
    jobs = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in made["jobs"].items())
    lines = [f"{made['minutes']} minutes; jobs of each side: {jobs}"]
    lines += [
        f"load average of each minute: {', '.join(f'{load:g}' for load in made['load_average_of_each_minute'])}",
        "",
    ]
    head = "".join(f"{name:>9}" for name in COLUMNS) + "".join(f"{name:>11}" for name in ("p50", "p90", "p99", "max"))
    lines.append(f"{'':19}{head}")
    if lonely := made.get("alone"):
        lines.append(_line(f"{OURS} alone", lonely))
    lines += [_line(name, side) for name, side in sides.items()]
    for kind in Kind:
        lines += ["", f"{kind.value.replace('_', ' ')}:"]
        if lonely:
            lines.append(f"{OURS + ' alone':19}{'':45}{_spread(lonely['by_kind'][kind.value])}")
        lines += [f"{name:19}{'':45}{_spread(side['by_kind'][kind.value])}" for name, side in sides.items()]
    for name, side in sides.items():
        lines += ["", f"{name}: {side['backend']}; {side['settings']}", f"  {side['guarantees']}"]
        if times := side.get("times_as_late_as_duecourse"):
            lines.append(
                f"  {times['median']} times as late as Duecourse "
                f"({times['min']} to {times['max']}; medians of each minute)"
            )
        lines += histogram(side["histogram"]["count"])
    lines += ["", *(f"- {note}" for note in made["notes"]), ""]
    lines += [f"{'met' if kept else 'MISSED':8}{name}" for name, kept in made["budgets"].items()]
    return "\n".join(lines)


def histogram(counts: Sequence[int]) -> list[str]:
    """Return a bar for each class up to the last one that is not empty. A class that is not empty has a bar of at least
    one character.
    """
    filled = [number for number, count in enumerate(counts) if count]
    labels = [*(f"<= {bound:g} s" for bound in BOUNDS), f"> {BOUNDS[-1]:g} s"]
    most = max(counts)
    return [
        f"  {labels[number]:>10} {counts[number]:>5} {'#' * -(-counts[number] * BAR // most)}".rstrip()
        for number in range(filled[-1] + 1 if filled else 0)
    ]


def _line(name: str, side: Mapping[str, Any]) -> str:
    return f"{name:19}" + "".join(f"{side[column]:>9}" for column in COLUMNS) + _spread(side["lateness_seconds"])


def _spread(spread: Mapping[str, float] | None) -> str:
    if spread is None:
        return f"{'-':>11}" * 4
    return "".join(f"{spread[name]:>9.3f} s" for name in ("p50", "p90", "p99", "max"))
