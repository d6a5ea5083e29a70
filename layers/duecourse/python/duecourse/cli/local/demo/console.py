"""The output of the demo and the local stack: short lines, in colour on a terminal."""

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
    """Return one line for a run: job, occurrence, lateness, state."""
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
        said += f" after {run.attempts} attempt{'s' * (run.attempts != 1)}"
    if run.error and run.state in {"RETRYING", "DEAD"}:
        said += f": {' '.join(run.error.split())[:ERROR_WIDTH]}"
    return said


class Screen:
    """Prints lines, some with the time since the command started."""

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._clock = clock
        self._started = clock()

    def step(self, subject: str, text: str) -> None:
        """Print a step of the start or stop, with the seconds since the start of the command."""
        self._print((f"{self._clock() - self._started:6.1f} s", "dim"), "  ", (f"{subject:<14}", "bold"), f" {text}")

    def run(self, run: Run) -> None:
        """Print a run whose state has changed."""
        self._print("  ", (run_line(run), STATE_COLOURS.get(run.state, "default")))

    def event(self, text: str) -> None:
        """Print an event other than a change of a run."""
        self._print("  ", (text, "magenta"))

    def line(self, text: str = "") -> None:
        """Print a plain line."""
        self._print(text)

    def verdict(self, verdict: DemoResult) -> None:
        """Print all checks, then the figures."""
        self.line()
        for check in verdict.checks:
            mark = ("ok  ", "green") if check.passed else ("FAIL", "red")
            self._print("  ", mark, f"  {check.name:<34}  {check.detail}")
        self.line()
        for source, found in (("run records", verdict.recorded), ("receiver's clock", verdict.arrived)):
            self.line(f"  lateness by {source:<17} {found or 'no starts'}")

    def _print(self, *parts: str | tuple[str, str]) -> None:
        """Print one line without markup, because external text can contain brackets, colons and line breaks."""
        told = (plain(part) if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts)
        self._console.print(Text.assemble(*told))
        self._console.file.flush()
