"""One line per run, and the lines of steps and verdicts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from duecourse.cli.local.demo.console import Screen, run_line
from duecourse.cli.local.demo.verdict import DemoCheck, DemoResult, figures
from duecourse.client.models import Run
from tests.support.shown import shown_run

DUE = datetime(2026, 11, 21, 9, 0, 20, tzinfo=UTC)
RUN = shown_run("tick.20261121T090020Z", DUE, lateness_seconds=0.0421, max_attempts=4)


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (RUN, "tick                  09:00:20    +0.042 s  SUCCEEDED"),
        (
            replace(RUN, state="RETRYING", attempts=1, max_attempts=3, error="HTTP\n500"),
            "tick                  09:00:20    +0.042 s  RETRYING after attempt 1 of 3: HTTP 500",
        ),
        (
            replace(RUN, state="DEAD", attempts=3, error="x" * 100),
            f"tick                  09:00:20    +0.042 s  DEAD after 3 attempts: {'x' * 62}",
        ),
        (
            replace(RUN, state="SKIPPED", reason="missed", lateness_seconds=None, count=7),
            "tick                  09:00:20           -  SKIPPED (missed) for 7 occurrences",
        ),
    ],
)
def test_a_run_is_one_line_with_job_occurrence_lateness_and_state(run: Run, line: str) -> None:
    assert run_line(run) == line


def screen(seconds: Iterator[float]) -> tuple[Screen, io.StringIO]:
    printed = io.StringIO()
    console = Console(file=printed, highlight=False, soft_wrap=True, width=80)
    return Screen(console, clock=lambda: next(seconds)), printed


def test_a_step_tells_the_seconds_since_the_start() -> None:
    shown, printed = screen(iter([100.0, 112.34]))

    shown.step("cdk deploy", "25 of 25 resources [all]")

    assert printed.getvalue() == "  12.3 s  cdk deploy     25 of 25 resources [all]\n"


def test_no_line_can_steer_the_terminal() -> None:
    steering = "\x1b[2J\x9b\u061c\u200f\u202e\u2066"
    shown, printed = screen(iter([100.0, 112.34]))

    shown.step(steering, f"kept {steering}")
    shown.run(replace(RUN, job_id=steering, state=steering))
    shown.event(steering)
    shown.line(steering)
    shown.verdict(DemoResult((DemoCheck(steering, True, steering),), None, None))

    assert all(each.isprintable() or each == "\n" for each in printed.getvalue())


def test_a_verdict_lists_its_checks_and_the_figures() -> None:
    shown, printed = screen(iter([0.0]))
    checks = (DemoCheck("tick", True, "9 of 9 SUCCEEDED"), DemoCheck("dead-letter queue", False, "nothing"))

    shown.verdict(DemoResult(checks, figures([0.1]), None))

    text = printed.getvalue()
    assert "  ok    tick" in text
    assert "  FAIL  dead-letter queue" in text
    assert "lateness by run records       1 starts, 0 early" in text
    assert "lateness by receiver's clock  no starts" in text


def test_what_a_target_said_is_printed_as_it_is_and_steers_no_terminal() -> None:
    shown, printed = screen(iter([0.0]))

    shown.run(replace(RUN, state="DEAD", error="[/x] :fire: \x1b[2J"))
    shown.event("job: 503 [busy] :fire: \x1b[2J")

    assert "after 1 attempts: [/x] :fire: \ufffd[2J\n" in printed.getvalue()
    assert "  job: 503 [busy] :fire: \ufffd[2J\n" in printed.getvalue()
