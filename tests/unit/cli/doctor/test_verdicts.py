"""The doctor's verdicts about clock, tick, shards and the due index."""

import click
import pytest

from duecourse.checks import verdicts as shared
from duecourse.checks.check import Check, CheckStatus, exit_status, span
from duecourse.checks.facts import Shards, Watermarks
from duecourse.cli.commands.doctor import print_check
from duecourse.cli.doctor import verdicts
from duecourse.cli.doctor.facts import (
    Cursors,
    Due,
    LastRuns,
    LastTick,
    QuarantinedCursor,
    Skew,
    SkippedRuns,
    Slot,
    Source,
)

OLD = 1e6
OK, WARNING, BAD, UNKNOWN = CheckStatus.OK, CheckStatus.WARNING, CheckStatus.BAD, CheckStatus.UNKNOWN


@pytest.mark.parametrize(("ahead", "verdict"), [(0.4, OK), (-4.0, OK), (9.0, WARNING), (-9.0, WARNING), (301.0, BAD)])
def test_doctor_judges_a_clock_by_its_deviation_in_either_direction(ahead: float, verdict: CheckStatus) -> None:
    assert verdicts.clock(Skew(ahead)).verdict is verdict


def test_doctor_reports_the_direction_of_a_clock_deviation() -> None:
    assert "9 s ahead of AWS's" in verdicts.clock(Skew(9)).says
    assert "9 s behind AWS's" in verdicts.clock(Skew(-9)).says


@pytest.mark.parametrize(("age", "verdict"), [(59.0, OK), (120.0, OK), (150.0, WARNING), (181.0, BAD)])
def test_doctor_reports_a_tick_as_late_after_two_minutes_and_bad_after_three(age: float, verdict: CheckStatus) -> None:
    assert verdicts.tick(LastTick(age, "ENABLED", OLD)).verdict is verdict


def test_doctor_reports_a_disabled_rule_as_bad_even_if_the_last_tick_is_recent() -> None:
    check = verdicts.tick(LastTick(5, "DISABLED", OLD))
    assert check.verdict is BAD
    assert "DISABLED" in check.says
    assert check.runbook == "docs/runbooks.md#ticks-missing"


def test_doctor_reports_a_missing_rule_as_bad() -> None:
    assert verdicts.tick(LastTick(5, None, OLD)).verdict is BAD


def test_doctor_accepts_a_stack_without_a_tick_for_five_minutes() -> None:
    young = verdicts.tick(LastTick(None, "ENABLED", 60))
    assert young.verdict is OK
    assert "no tick has run yet" in young.says
    assert "until then, only runs that the API enqueued itself start" in young.says
    assert verdicts.tick(LastTick(None, "ENABLED", 400)).verdict is BAD


@pytest.mark.parametrize(
    ("state", "result", "verdict"),
    [
        ("Enabled", None, OK),
        ("Enabled", "No records processed", OK),
        ("Enabled", "OK", OK),
        ("Enabled", "PROBLEM: Function call failed", WARNING),
        ("Enabled", "PROBLEM: Stream not found", BAD),
        ("Updating", "OK", WARNING),
        ("Disabled", "OK", BAD),
        ("Disabling", None, BAD),
        ("Deleting", None, BAD),
        (None, None, BAD),
    ],
)
def test_doctor_judges_an_event_source_by_its_state_and_last_result(
    state: str | None, result: str | None, verdict: CheckStatus
) -> None:
    assert verdicts.event_sources([Source("lane high", "Enabled", "OK"), Source("shards", state, result)]).verdict is (
        verdict
    )


@pytest.mark.parametrize(
    ("highest", "configured", "age", "verdict"),
    [
        (16, {"Tick": 16, "Api": 16}, OLD, OK),
        (32, {"Tick": 16, "Api": 16}, OLD, OK),
        (8, {"Tick": 16, "Api": 16}, OLD, WARNING),
        (16, {"Tick": 8, "Api": 16}, OLD, WARNING),
        (None, {"Tick": 16}, OLD, BAD),
        (None, {"Tick": 16}, 60, OK),
    ],
)
def test_doctor_reports_shards_that_no_tick_covers(
    highest: int | None, configured: dict[str, int], age: float, verdict: CheckStatus
) -> None:
    assert shared.shards(Shards(highest, configured, age)).verdict is verdict


@pytest.mark.parametrize(
    ("behind", "verdict"), [(0, OK), (3_600, OK), (7_200, WARNING), (4 * 3_600 + 1, BAD), (None, WARNING)]
)
def test_doctor_accepts_a_watermark_up_to_one_hour_behind(behind: int | None, verdict: CheckStatus) -> None:
    assert shared.watermarks(Watermarks({0: 0, 1: behind}, OLD)).verdict is verdict


def test_doctor_lists_the_shard_furthest_behind_first() -> None:
    says = shared.watermarks(Watermarks({3: 7_200, 5: 10_800, 6: 0}, OLD)).says
    assert "2 of 3 shards are behind (shard 5 by 3.0 h, shard 3 by 2.0 h)" in says


def slot(oldest: float, entries: int = 3, more: bool = False) -> Slot:
    return Slot("2026-11-21T06/0001", entries, more, oldest)


@pytest.mark.parametrize(("oldest", "verdict"), [(30.0, OK), (119.0, OK), (200.0, WARNING), (301.0, BAD)])
def test_doctor_accepts_due_entries_until_the_next_round(oldest: float, verdict: CheckStatus) -> None:
    assert verdicts.due(Due([slot(oldest)], 5, False, 0)).verdict is verdict


def test_doctor_counts_overdue_entries_as_a_minimum_if_there_are_more() -> None:
    says = verdicts.due(Due([slot(400, 100, more=True), slot(300, 2)], 5, True, 3)).says
    assert "102+ entries are overdue" in says
    assert "5+ entries are due within the lookahead; 3 shards were not checked" in says


def test_doctor_reports_a_quarantined_cursor_with_its_error() -> None:
    check = verdicts.cursors(Cursors([QuarantinedCursor("acme/nightly", "the cursor cannot be read")], 40, True))
    assert check.verdict is WARNING
    assert "acme/nightly: the cursor cannot be read" in check.says


def test_doctor_jobs_that_skip_many_of_their_runs_are_named_worst_first() -> None:
    found = [LastRuns("acme/rare", 4, 20), LastRuns("acme/often", 5, 20), LastRuns("acme/most", 14, 20)]
    check = verdicts.skipping(SkippedRuns(found, 40, complete=True))
    assert check.verdict is WARNING
    assert "acme/most: 14 of the last 20, acme/often: 5 of the last 20" in check.says
    none = verdicts.skipping(SkippedRuns(found[:1], 40, complete=True))
    assert (none.verdict, none.says) == (OK, "no job has many skipped or merged runs")


def test_doctor_says_if_only_some_ended_runs_were_searched_for_skipped_ones() -> None:
    part = "(of the first 9000 ended runs)"
    some = verdicts.skipping(SkippedRuns([LastRuns("acme/often", 5, 20)], 9000, complete=False))
    assert f"were skipped or merged {part}: acme/often" in some.says
    assert verdicts.skipping(SkippedRuns([], 9000, complete=False)).says.endswith(f"merged runs {part}")


def test_doctor_reports_that_a_table_was_read_only_partly() -> None:
    assert "of the first 9000 items" in verdicts.cursors(Cursors([], 9_000, False)).says


@pytest.mark.parametrize(
    ("found", "status"), [((OK, OK), 0), ((OK, WARNING), 0), ((OK, UNKNOWN), 2), ((UNKNOWN, BAD), 1), ((BAD, OK), 1)]
)
def test_doctor_exit_status_gives_bad_checks_precedence_over_unknown_ones(
    found: tuple[CheckStatus, ...], status: int
) -> None:
    assert exit_status([Check("x", verdict, "…") for verdict in found]) == status


@pytest.mark.parametrize(
    ("seconds", "told"), [(40, "40 s"), (119, "119 s"), (720, "12 min"), (12_600, "3.5 h"), (432_000, "5.0 days")]
)
def test_doctor_formats_time_spans_for_humans(seconds: float, told: str) -> None:
    assert span(seconds) == told


@pytest.mark.parametrize("length", [10, 57, 64])
def test_doctor_lines_fit_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], length: int
) -> None:
    says = f"3 cursors are quarantined: {', '.join(letter * length for letter in 'abc')}; their jobs do not fire"
    check = Check("cursors", BAD, says, do="correct the schedule of each job, and save it again", runbook="docs/a.md#b")
    print_check(check)
    assert len(capsys.readouterr().out.splitlines()) == 3
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    print_check(check)
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()).startswith(f"bad cursors {says} first: correct")
    assert all(line.startswith(" " * min(26, 80 - length - 1)) for line in lines[1:])
