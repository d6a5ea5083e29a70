"""What the local stack says of its runs.

- The verdict of the demo: what must have been seen for it to pass.
- The figures of lateness.
- Failures of the machine are shown with their remedy.
- What `duecourse local` says once its stack is up.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from duecourse.cli.local.demo.receiver import ReceivedCall
from duecourse.cli.local.demo.verdict import (
    DemoResult,
    ExpectedRun,
    ObservedRun,
    figures,
    is_complete,
    judge,
    occurrences,
    rank,
)
from duecourse.cli.local.issuer import LocalIssuer
from duecourse.cli.local.local import hints
from duecourse.cli.local.remedies import remedied
from duecourse.client.models import Run
from tests.support.shown import shown_run

START = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)
UNTIL = START + timedelta(seconds=25)
TEN = timedelta(seconds=10)


def run(job_id: str, due: datetime, *, state: str = "SUCCEEDED", late: float | None = 0.02, attempts: int = 1) -> Run:
    return shown_run(f"{job_id}.{due:%H%M%S}", due, state, lateness_seconds=late, attempts=attempts)


def call(of: Run, *, attempt: int = 1, status: int = 200, late: float = 0.03) -> ReceivedCall:
    return ReceivedCall(of.id, of.job_id, of.due, attempt, of.due + timedelta(seconds=late), status)


TICKS = [run("tick", START + n * TEN) for n in range(3)]
ONCE = run("once", START + timedelta(seconds=7))
DEAD = run("dead", START + timedelta(seconds=3), state="DEAD", attempts=3)
FAILURES = [call(DEAD, attempt=n, status=500, late=n - 0.97) for n in (1, 2, 3)]
EXPECTED = (
    ExpectedRun("tick", tuple(each.due for each in TICKS)),
    ExpectedRun("once", (ONCE.due,)),
    ExpectedRun("dead", (DEAD.due,), state="DEAD", attempts=3),
)


def seen(
    runs: Sequence[Run] = (*TICKS, ONCE, DEAD), calls: Sequence[ReceivedCall] | None = None, *, died: bool = True
) -> ObservedRun:
    return ObservedRun(
        until=UNTIL,
        runs=runs,
        calls=[*(call(each) for each in (*TICKS, ONCE)), *FAILURES] if calls is None else calls,
        dead_letter_jobs=frozenset({"dead"} if died else ()),
        noticed_runs=frozenset({DEAD.id} if died else ()),
    )


def failures(verdict: DemoResult) -> list[str]:
    return [check.name for check in verdict.checks if not check.passed]


def test_demo_verdict_passes_when_everything_was_observed() -> None:
    verdict = judge(EXPECTED, seen())
    assert failures(verdict) == []
    assert verdict.passed
    assert verdict.recorded is not None
    assert verdict.recorded.count == 5


def test_demo_verdict_fails_on_a_missing_occurrence_and_names_it() -> None:
    verdict = judge(EXPECTED, seen([*TICKS[:2], ONCE, DEAD], [*(call(each) for each in (*TICKS[:2], ONCE)), *FAILURES]))
    assert failures(verdict) == ["tick"]
    assert "09:00:20 not seen" in verdict.checks[0].detail


def test_demo_verdict_fails_on_an_unexpected_run() -> None:
    extra = run("once", ONCE.due + timedelta(seconds=1))
    assert failures(judge(EXPECTED, seen([*TICKS, ONCE, DEAD, extra], [*seen().calls, call(extra)]))) == ["once"]


def test_demo_verdict_ignores_occurrences_after_the_end() -> None:
    later = run("tick", UNTIL + timedelta(seconds=5), state="QUEUED", late=None)
    assert judge(EXPECTED, seen([*seen().runs, later])).passed


def test_demo_verdict_fails_on_two_successful_calls_of_one_run() -> None:
    verdict = judge(EXPECTED, seen(calls=[*seen().calls, call(ONCE, late=2)]))
    assert "one successful call per run" in failures(verdict)
    assert f"{ONCE.id} 2 times" in next(each.detail for each in verdict.checks if each.name.startswith("one"))


def test_demo_verdict_fails_on_a_successful_run_that_never_reached_the_target() -> None:
    assert failures(judge(EXPECTED, seen(calls=[*(call(each) for each in TICKS), *FAILURES]))) == [
        "one successful call per run"
    ]


def test_demo_verdict_fails_on_a_call_whose_run_did_not_succeed() -> None:
    skipped = replace(ONCE, state="SKIPPED")
    assert failures(judge(EXPECTED, seen([*TICKS, skipped, DEAD]))) == ["once", "one successful call per run"]


@pytest.mark.parametrize("late", [-0.001, -1.0])
def test_demo_verdict_fails_on_one_early_start_in_the_records(late: float) -> None:
    early = replace(TICKS[0], lateness_seconds=late)
    assert "never early (run records)" in failures(judge(EXPECTED, seen([early, *TICKS[1:], ONCE, DEAD])))


def test_demo_verdict_fails_on_one_early_start_on_the_clock_of_the_receiver() -> None:
    calls = [call(TICKS[0], late=-0.001), *(call(each) for each in (*TICKS[1:], ONCE)), *FAILURES]
    assert "never early (receiver's clock)" in failures(judge(EXPECTED, seen(calls=calls)))


def test_demo_verdict_fails_if_fewer_than_nine_in_ten_start_within_a_second() -> None:
    slow = replace(TICKS[0], lateness_seconds=1.2)
    assert failures(judge(EXPECTED, seen([slow, *TICKS[1:], ONCE, DEAD]))) == ["in time (run records)"]


def test_demo_verdict_ignores_lateness_where_programs_wait_for_a_core() -> None:
    observed = seen([replace(TICKS[0], lateness_seconds=1.2), *TICKS[1:], ONCE, DEAD])
    result = judge(EXPECTED, replace(observed, load=1.4))
    assert result.passed
    details = {check.name: check.detail for check in result.checks}
    assert details["in time (run records)"].endswith("not judged: this machine is busy (load of 1.4 for each core)")
    assert not judge(EXPECTED, replace(observed, load=1.0)).passed


def test_demo_verdict_fails_on_an_early_start_on_a_busy_machine() -> None:
    observed = seen([replace(TICKS[0], lateness_seconds=-0.1), *TICKS[1:], ONCE, DEAD])
    assert failures(judge(EXPECTED, replace(observed, load=9.0))) == ["never early (run records)"]


def test_demo_verdict_fails_if_a_dead_run_is_not_announced_or_not_in_the_queue() -> None:
    assert failures(judge(EXPECTED, seen(died=False))) == ["dead-letter queue", "notice of the death (SNS)"]


def test_demo_verdict_fails_if_a_run_dies_after_too_few_attempts() -> None:
    dead = replace(DEAD, attempts=2)
    calls = [*(call(each) for each in (*TICKS, ONCE)), *FAILURES[:2]]
    assert failures(judge(EXPECTED, seen([*TICKS, ONCE, dead], calls))) == ["dead", "attempts of the dead run"]


def test_demo_verdict_fails_if_nothing_was_observed() -> None:
    verdict = judge(EXPECTED, ObservedRun(UNTIL, (), (), frozenset(), frozenset()))
    assert not verdict.passed
    assert verdict.recorded is None
    assert "in time (run records)" in failures(verdict)


def test_demo_verdict_is_complete_once_the_dead_run_has_arrived_everywhere() -> None:
    assert not is_complete(EXPECTED, seen(died=False))
    assert is_complete(EXPECTED, seen())


def test_demo_verdict_expects_occurrences_from_the_first_to_the_end() -> None:
    assert occurrences(START, TEN, UNTIL) == (START, START + TEN, START + 2 * TEN)
    assert occurrences(START, TEN, START - TEN) == ()
    assert occurrences(START, None, START - TEN) == (START,)


def test_demo_verdict_has_no_figures_without_starts() -> None:
    assert figures([]) is None


def test_demo_verdict_counts_an_early_start_and_excludes_it_from_those_in_time() -> None:
    found = figures([-0.001, 0.0, 1.0, 1.001])
    assert (found.count, found.early, found.within_a_second) == (4, 1, 2)
    assert found.share_within_a_second == pytest.approx(0.5)


def test_demo_verdict_percentiles_are_observed_values() -> None:
    values = [n / 100 for n in range(1, 101)]
    assert (rank(values, 0.5), rank(values, 0.9), rank(values, 0.99), rank(values, 1.0)) == (0.5, 0.9, 0.99, 1.0)
    assert rank([0.25], 0.01) == 0.25


def test_demo_verdict_formats_figures_on_one_line() -> None:
    assert str(figures([0.01, 0.02, 1.5])) == (
        "3 starts, 0 early, 2 within one second (67%), median 0.020 s, p90 1.500 s, p99 1.500 s, worst 1.500 s"
    )


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("OSError: [Errno 28] No space left on device", "free some disk space for the checkout and TMPDIR"),
        ("npm error code EACCES", "use a checkout, a HOME and a TMPDIR that you can write to"),
        ("[Errno 98] error while attempting to bind: Address already in use", "another program uses the port"),
        ("error: Failed to fetch: https://index.example/simple/", "the packages are not in the cache of uv"),
    ],
)
def test_demo_verdict_known_failure_is_followed_by_its_remedy(said: str, remedy: str) -> None:
    assert remedied("cdk deploy failed", said).startswith(f"cdk deploy failed: {remedy}")


def test_demo_verdict_unknown_failure_is_unchanged() -> None:
    assert remedied("cdk deploy failed", "ValidationError") == "cdk deploy failed"


API, ENDPOINT, RECEIVER = "http://127.0.0.1:4566/_aws/execute-api/7dbf4306", "http://127.0.0.1:4566", "http://r"


def test_demo_verdict_hints_list_the_console_first() -> None:
    said = list(hints(API, f"{API}/console", ENDPOINT, RECEIVER))
    assert said[2:4] == ["  # the console, for a browser", f"  {API}/console"]


def test_demo_verdict_hints_contain_copyable_variables_for_the_command_and_aws_tools() -> None:
    said = [line.strip() for line in hints(API, None, ENDPOINT, RECEIVER)]
    exported = dict(pair.split("=", 1) for line in said if line.startswith("export ") for pair in line.split()[1:])
    assert (exported["DUECOURSE_API"], exported["RECEIVER"]) == (API, f"{RECEIVER}/ok")
    assert exported["AWS_REGION"] == exported["AWS_DEFAULT_REGION"]
    assert exported["PATH"] == f'"{Path(sys.executable).parent}:$PATH"'
    assert {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= exported.keys()


def test_demo_verdict_hints_of_a_stack_with_tokens_export_them_before_the_first_job(tmp_path: Path) -> None:
    said = list(hints(API, None, ENDPOINT, RECEIVER, LocalIssuer.of(tmp_path, RECEIVER)))
    (tokens,) = [number for number, line in enumerate(said) if line == "  export DUECOURSE_TOKEN=$ACME_TOKEN"]
    (job,) = [number for number, line in enumerate(said) if "jobs create" in line]
    assert tokens < job
    assert any("no console: the issuer of this stack has no log-in page" in line for line in said)


def test_demo_verdict_hints_omit_the_address_of_a_missing_console() -> None:
    assert not any("console" in line for line in hints(API, None, ENDPOINT, RECEIVER))
