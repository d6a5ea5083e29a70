"""What the demo and the local stack print: short lines, in colour on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from duecourse.cli.local.demo.verdict import DemoResult
from duecourse.cli.output.values import STATE_COLOURS, lateness
from duecourse.cli.terminal import plain
from duecourse.client.models import Run

JOB_WIDTH = 20
ERROR_WIDTH = 62
QUIET_STATES = frozenset({"QUEUED", "RUNNING"})


def run_line(run: Run) -> str:
    """One run in one line: job, occurrence, lateness, state."""
    late = lateness(run.lateness_seconds)
    return f"{run.job_id:<{JOB_WIDTH}}  {run.occurrence:%H:%M:%S}  {late:>10}  {_state(run)}"


def _state(run: Run) -> str:
    said: str = run.state
    if run.reason:
        said += f" ({run.reason})"
    if run.count > 1:
        said += f" for {run.count} occurrences"
    if run.state == "RETRYING":
        said += f" after attempt {run.attempts} of {run.max_attempts}"
    if run.state == "DEAD":
        said += f" after {run.attempts} attempts"
    if run.error and run.state in {"RETRYING", "DEAD"}:
        said += f": {' '.join(run.error.split())[:ERROR_WIDTH]}"
    return said


class Screen:
    """Prints; knows how long the command has been going on."""

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._clock = clock
        self._started = clock()

    def step(self, subject: str, text: str) -> None:
        """A step of starting or stopping, with the seconds since the start."""
        self._print((f"{self._clock() - self._started:6.1f} s", "dim"), "  ", (f"{subject:<14}", "bold"), f" {text}")

    def run(self, run: Run) -> None:
        """A run that has got somewhere."""
        self._print("  ", (run_line(run), STATE_COLOURS.get(run.state, "default")))

    def event(self, text: str) -> None:
        """Something that happened beside the runs."""
        self._print("  ", (text, "magenta"))

    def line(self, text: str = "") -> None:
        """A plain line."""
        self._print(text)

    def verdict(self, verdict: DemoResult) -> None:
        """All checks, then the figures."""
        self.line()
        for check in verdict.checks:
            mark = ("ok  ", "green") if check.passed else ("FAIL", "red")
            self._print("  ", mark, f"  {check.name:<34}  {check.detail}")
        self.line()
        for source, found in (("run records", verdict.recorded), ("receiver's clock", verdict.arrived)):
            self.line(f"  lateness by {source:<17} {found or 'no starts'}")

    def _print(self, *parts: str | tuple[str, str]) -> None:
        """No markup: what others say may have brackets and colons in it; and one line, whatever they say."""
        told = (plain(part) if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts)
        self._console.print(Text.assemble(*told))
        self._console.file.flush()
