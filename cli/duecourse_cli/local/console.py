"""What the demo and the local stack print: short lines, in colour on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape

from duecourse_cli.local.verdict import Verdict
from duecourse_cli.models import Run
from duecourse_cli.output import STATE_COLOURS, lateness

JOB_WIDTH = 20
ERROR_WIDTH = 62
QUIET_STATES = frozenset({"QUEUED", "RUNNING"})


def run_line(run: Run) -> str:
    """One run in one line: job, occurrence, lateness, state."""
    return f"{run.job_id:<{JOB_WIDTH}}  {run.occurrence:%H:%M:%S}  {lateness(run.lateness_seconds):>10}  {_state(run)}"


def _state(run: Run) -> str:
    said = run.state
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
        self._print(f"[dim]{self._clock() - self._started:6.1f} s[/dim]  [bold]{subject:<14}[/bold] {escape(text)}")

    def run(self, run: Run) -> None:
        """A run that has got somewhere."""
        colour = STATE_COLOURS.get(run.state, "default")
        self._print(f"  [{colour}]{escape(run_line(run))}[/{colour}]")

    def event(self, text: str) -> None:
        """Something that happened beside the runs."""
        self._print(f"  [magenta]{escape(text)}[/magenta]")

    def line(self, text: str = "") -> None:
        """A plain line."""
        self._print(escape(text))

    def verdict(self, verdict: Verdict) -> None:
        """All checks, then the figures."""
        self.line()
        for check in verdict.checks:
            mark = "[green]ok  [/green]" if check.passed else "[red]FAIL[/red]"
            self._print(f"  {mark}  {escape(f'{check.name:<34}  {check.detail}')}")
        self.line()
        for source, found in (("run records", verdict.recorded), ("receiver's clock", verdict.arrived)):
            self.line(f"  lateness by {source:<17} {found or 'no starts'}")

    def _print(self, markup: str) -> None:
        self._console.print(markup)
        self._console.file.flush()
