"""The doctor's verdicts about clock, tick, shards and the due index."""

import pytest

from duecourse.checks import verdicts as shared
from duecourse.checks.check import Check, CheckStatus, exit_status, span
from duecourse.checks.facts import Shards, Watermarks
from duecourse.cli.doctor import verdicts
from duecourse.cli.doctor.facts import Cursors, Due, LastRuns, LastTick, QuarantinedCursor, Skew, Slot, Source

OLD = 1e6
OK, WARNING, BAD, UNKNOWN = CheckStatus.OK, CheckStatus.WARNING, CheckStatus.BAD, CheckStatus.UNKNOWN


@pytest.mark.parametrize(("ahead", "verdict"), [(0.4, OK), (-4.0, OK), (9.0, WARNING), (-9.0, WARNING), (301.0, BAD)])
def test_a_clock_is_judged_by_its_distance_whichever_way(ahead: float, verdict: CheckStatus) -> None:
    assert verdicts.clock(Skew(ahead)).verdict is verdict


def test_a_clock_says_which_way_it_is_wrong() -> None:
    assert "9 s ahead of AWS's" in verdicts.clock(Skew(9)).says
    assert "9 s behind AWS's" in verdicts.clock(Skew(-9)).says


@pytest.mark.parametrize(("age", "verdict"), [(59.0, OK), (120.0, OK), (150.0, WARNING), (181.0, BAD)])
def test_a_tick_is_late_after_two_minutes_and_bad_after_three(age: float, verdict: CheckStatus) -> None:
    assert verdicts.tick(LastTick(age, "ENABLED", OLD)).verdict is verdict


def test_a_disabled_rule_is_bad_while_the_last_tick_is_still_fresh() -> None:
    check = verdicts.tick(LastTick(5, "DISABLED", OLD))
    assert check.verdict is BAD
    assert "DISABLED" in check.says
    assert check.runbook == "docs/runbooks.md#ticks-missing"


def test_a_rule_that_is_gone_is_bad() -> None:
    assert verdicts.tick(LastTick(5, None, OLD)).verdict is BAD


def test_a_stack_without_any_tick_is_given_five_minutes() -> None:
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
def test_an_event_source_is_well_when_it_is_enabled_and_hands_over(
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
def test_shards_that_nobody_ticks_are_told(
    highest: int | None, configured: dict[str, int], age: float, verdict: CheckStatus
) -> None:
    assert shared.shards(Shards(highest, configured, age)).verdict is verdict


@pytest.mark.parametrize(
    ("behind", "verdict"), [(0, OK), (3_600, OK), (7_200, WARNING), (4 * 3_600 + 1, BAD), (None, WARNING)]
)
def test_a_watermark_may_be_an_hour_behind_as_it_moves_once_an_hour(behind: int | None, verdict: CheckStatus) -> None:
    assert shared.watermarks(Watermarks({0: 0, 1: behind}, OLD)).verdict is verdict


def test_the_shard_that_is_furthest_behind_is_named_first() -> None:
    says = shared.watermarks(Watermarks({3: 7_200, 5: 10_800, 6: 0}, OLD)).says
    assert "2 of 3 shards are behind (shard 5 by 3.0 h, shard 3 by 2.0 h)" in says


def slot(oldest: float, entries: int = 3, more: bool = False) -> Slot:
    return Slot("2026-11-21T06/0001", entries, more, oldest)


@pytest.mark.parametrize(("oldest", "verdict"), [(30.0, OK), (119.0, OK), (200.0, WARNING), (301.0, BAD)])
def test_what_is_due_may_wait_for_the_next_round(oldest: float, verdict: CheckStatus) -> None:
    assert verdicts.due(Due([slot(oldest)], 5, False, 0)).verdict is verdict


def test_overdue_entries_are_counted_as_at_least_where_there_are_more() -> None:
    says = verdicts.due(Due([slot(400, 100, more=True), slot(300, 2)], 5, True, 3)).says
    assert "102+ entries are overdue" in says
    assert "5+ entries are due within the lookahead; 3 shards were not checked" in says


def test_a_cursor_that_was_quarantined_is_named_with_its_error() -> None:
    check = verdicts.cursors(Cursors([QuarantinedCursor("acme/nightly", "the cursor cannot be read")], 40, True))
    assert check.verdict is WARNING
    assert "acme/nightly: the cursor cannot be read" in check.says


def test_jobs_that_skip_many_of_their_runs_are_named_worst_first() -> None:
    found = [LastRuns("acme/rare", 4, 20), LastRuns("acme/often", 5, 20), LastRuns("acme/most", 14, 20)]
    check = verdicts.skipping(found)
    assert check.verdict is WARNING
    assert "acme/most: 14 of the last 20, acme/often: 5 of the last 20" in check.says
    assert verdicts.skipping(found[:1]).verdict is OK


def test_a_table_of_which_only_a_part_was_read_is_told_as_such() -> None:
    assert "of the first 9000 items" in verdicts.cursors(Cursors([], 9_000, False)).says


@pytest.mark.parametrize(
    ("found", "status"), [((OK, OK), 0), ((OK, WARNING), 0), ((OK, UNKNOWN), 2), ((UNKNOWN, BAD), 1), ((BAD, OK), 1)]
)
def test_the_exit_status_tells_what_is_bad_before_what_is_unknown(found: tuple[CheckStatus, ...], status: int) -> None:
    assert exit_status([Check("x", verdict, "…") for verdict in found]) == status


@pytest.mark.parametrize(
    ("seconds", "told"), [(40, "40 s"), (119, "119 s"), (720, "12 min"), (12_600, "3.5 h"), (432_000, "5.0 days")]
)
def test_a_span_is_told_as_people_say_it(seconds: float, told: str) -> None:
    assert span(seconds) == told
