"""Whatever text comes in, and whenever it is asked: an error that says why, or times that rise, within bounded work."""

from datetime import datetime
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.preview import preview
from schedules.tests.support import schedule_expressions as expressions
from schedules.tests.support.schedule_oracle import Reading, wall_clock
from tests.support.examples import examples
from tests.support.steps import steps

LIMIT = 40_000  # lines of Python: below 5 ms (schedules/tests/unit/test_understood_as.py)

ZONES = st.sampled_from(
    [
        *("UTC", "America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll"),
        *("America/Sao_Paulo", "Africa/Casablanca", "Asia/Kolkata", "America/Havana", "Asia/Gaza", "America/St_Johns"),
    ]
)
INSTANTS = st.one_of(st.integers(0, 2_200_000_000), st.integers(-(10**11), 3 * 10**11))
GAPS = st.sampled_from(["next", "skip"])
FOLDS = st.sampled_from(["first", "second", "both"])
KNOWN = st.randoms(use_true_random=False).map(expressions.anything)
EVENTBRIDGE = st.randoms(use_true_random=False).map(expressions.eventbridge)
#: Text made of what the grammar is made of, nearly all of it wrong.
PIECES = st.sampled_from(
    [
        *"0123456789*?/,-#LWR()@:TZPHDMS ",
        *(" ", " ", "*", "* ", "0 ", "MON", "jan", "SUN", "L-3", "LW", "15W", "#2", "@daily", "cron(", "rate(", "at("),
        *("R/", "PT5M", "2026-03-08T02:30:00", "Z", "+01:00", " minutes", "99", "FRI-SUN", "\t", "\n", "\0", "é", "٣"),
    ]
)
SOUP = st.one_of(st.lists(PIECES, max_size=24).map("".join), st.text(max_size=60))


@examples(1_000)
@given(SOUP, ZONES, INSTANTS)
def test_schedule_expression_any_text_is_accepted_or_rejected_with_a_reason(text, zone, after):
    def ask():
        try:
            schedule = compile_schedule(ScheduleSpec(text, zone, anchor=0))
        except ScheduleError as error:
            assert error.field == "schedule"
            assert error.detail
        else:
            assert schedule.words
            assert compile_schedule(ScheduleSpec(schedule.canonical, zone, anchor=0)).canonical == schedule.canonical
            found = schedule.next(after)
            assert found is None or found > after

    assert steps(ask) < LIMIT


@examples(500)
@given(st.one_of(KNOWN, EVENTBRIDGE), ZONES, INSTANTS, GAPS, FOLDS)
def test_schedule_expression_occurrences_increase_and_none_is_skipped(expression, zone, after, gap, fold):
    try:
        schedule = compile_schedule(ScheduleSpec(expression, zone, gap, fold))
    except ScheduleError as error:
        assert "no year contains this day" in error.detail  # the only fault such an expression can have
        return
    row = []
    at = after
    for _ in range(6):
        found = schedule.next(at)
        if found is None:
            break
        assert found > at
        row.append(found)
        at = found
    # From anywhere between two occurrences the second is next.
    for first, second in zip([after, *row], row, strict=False):
        assert schedule.next(second - 1) == second
        assert schedule.next((first + second) // 2) == second
    assert steps(lambda: schedule.next(after)) < LIMIT


@examples(300)
@given(st.one_of(KNOWN, EVENTBRIDGE), ZONES, st.integers(0, 4_000_000_000))
def test_schedule_expression_occurrences_match_the_expression_unless_a_gap_moved_them(expression, zone, after):
    try:
        schedule = compile_schedule(ScheduleSpec(expression, zone, dst_gap="skip"))
    except ScheduleError:
        return
    reading = Reading(expression)
    at = after
    for _ in range(5):
        at = schedule.next(at)
        if at is None:
            break
        assert reading.matches(wall_clock(at, zone)), at


@examples(300)
@given(st.one_of(KNOWN, EVENTBRIDGE), ZONES, st.integers(0, 4_000_000_000))
def test_schedule_expression_canonical_form_has_the_same_occurrences(expression, zone, after):
    try:
        schedule = compile_schedule(ScheduleSpec(expression, zone))
    except ScheduleError:
        return
    again = compile_schedule(ScheduleSpec(schedule.canonical, zone))
    at = after
    for _ in range(5):
        assert schedule.next(at) == again.next(at)
        at = schedule.next(at)
        if at is None:
            break


@examples(300)
@given(st.one_of(KNOWN, EVENTBRIDGE), ZONES, st.integers(0, 4_000_000_000), GAPS, FOLDS)
def test_schedule_expression_preview_lists_exactly_the_occurrences_and_marks_clock_changes(
    expression, zone, after, gap, fold
):
    spec = ScheduleSpec(expression, zone, gap, fold)
    try:
        entries = preview(spec, after, 5)
    except ScheduleError:
        return
    reading = Reading(expression)
    listed = [entry for entry in entries if entry.instant is not None]
    assert [entry.instant for entry in listed] == list(islice(compile_schedule(spec).upcoming(after), 5))
    for entry in listed:
        assert entry.wall == wall_clock(entry.instant, zone).isoformat()
        assert reading.matches(datetime.fromisoformat(entry.named or entry.wall))
        assert (entry.mark == "moved") == (entry.named is not None)
        passes = [back for back in range(1_800, 7_201, 1_800) if shows_again(entry.instant, back, zone)]
        assert (entry.mark == "repeated") <= bool(passes)
    for entry in entries:
        if entry.mark == "dropped":
            assert reading.matches(datetime.fromisoformat(entry.wall))


def shows_again(instant, back, zone):
    return wall_clock(instant - back, zone) == wall_clock(instant, zone)


@examples(300)
@given(st.integers(1, 10**7), st.integers(0, 2 * 10**9), st.integers(-(10**9), 3 * 10**9))
def test_schedule_expression_rate_fires_at_its_anchor_and_at_whole_intervals_after_it(seconds, anchor, after):
    unit = "second" if seconds == 1 else "seconds"
    found = compile_schedule(ScheduleSpec(f"rate({seconds} {unit})", anchor=anchor)).next(after)
    assert found > after
    assert found >= anchor
    assert (found - anchor) % seconds == 0
    assert found - seconds <= after or found == anchor
