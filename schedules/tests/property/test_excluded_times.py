"""Schedules with recurring exclusions, compared with a walk over all occurrences."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.cron.cron import parse_cron
from duecourse_schedules.cron.pattern import pattern_of
from duecourse_schedules.schedule import excluded_schedule, occurrences_of
from duecourse_schedules.zones.zone import load_zone
from schedules.tests.support.schedules import utc
from tests.support.examples import examples

WALKED = 2_000
DAY = 86_400


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> str:
    """A field of a cron expression, often one that matches everything or every second value."""
    form = draw(st.integers(0, 6))
    first = draw(st.integers(low, high))
    if form <= 2:
        return "*"
    if form == 3:
        return f"{first}-{draw(st.integers(first, high))}"
    if form == 4:
        return f"*/{draw(st.integers(2, 5))}"
    return f"{first},{draw(st.integers(low, high))}" if form == 5 else str(first)


@st.composite
def crons(draw: st.DrawFn) -> str:
    days = st.one_of(st.just("*"), fields(1, 31), st.sampled_from(["L", "LW", "15W", "W#3"]))
    weekdays = st.one_of(st.just("*"), fields(0, 6), st.sampled_from(["MON#1", "FRIL", "SAT,SUN"]))
    parts = [draw(fields(0, 59)), draw(fields(0, 23)), draw(days), draw(fields(1, 12)), draw(weekdays)]
    seconds = draw(st.sampled_from(["", "", "0-29", "30-59", "*/2"]))
    return " ".join([seconds, *parts] if seconds else parts)


SCHEDULES = st.one_of(
    crons(),
    st.lists(crons(), min_size=2, max_size=3, unique=True).map("|".join),
    st.sampled_from(["rate(7 minutes)", "rate(90 seconds)", "R/2026-01-31T09:00:00/P1D", "R/2026-01-31T02:30:00/P3M"]),
)
OTHERS = st.sampled_from(["2026-12-24", "2026-12-24/2027-02-01", "2027-03-01T03:00:00Z/2027-03-28T02:30:00Z"])


@cache
def matches(entry: str):  # type: ignore[no-untyped-def]
    cron = parse_cron(entry)
    return pattern_of(cron), cron.seconds in (1, (1 << 60) - 1)


def excluded(at: int, wall: int, entry: str) -> bool:
    """Whether one entry excludes an instant, according to the documentation."""
    if " " in entry:
        pattern, whole = matches(entry)
        wall -= wall % 60 if whole else 0
        return pattern.first_from(wall) == wall
    first, _, last = entry.partition("/")
    if "T" in entry:
        return utc(first[:16].replace("T", " ")) <= at < utc(last[:16].replace("T", " "))
    return utc(f"{first} 00:00") // DAY <= wall // DAY <= utc(f"{last or first} 00:00") // DAY


@examples(400)
@given(
    SCHEDULES,
    st.lists(crons(), min_size=1, max_size=6),
    st.lists(OTHERS, max_size=1),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca"]),
    st.sampled_from(["skip", "previous", "next"]),
    st.sampled_from(["first", "second", "both"]),
    st.integers(0, 500 * DAY),
)
def test_exclusions_leave_exactly_the_occurrences_that_no_entry_excludes(
    expression: str, recurring: list[str], others: list[str], zone: str, on: str, fold: str, ahead: int
) -> None:
    exclude = (*recurring, *others)
    on = "skip" if expression.startswith("rate") else on
    spec = ScheduleSpec(expression, zone, dst_fold=fold, anchor=1_760_000_000, on_excluded=on)
    schedule, _ = excluded_schedule(spec, exclude)
    clock, at = load_zone(zone), utc("2026-01-01 00:00") + ahead
    for _ in range(5):
        expected: int | None = at
        for _ in range(WALKED):
            expected = schedule.next(expected)
            if expected is None or not any(excluded(expected, clock.wall(expected), each) for each in exclude):
                break
        else:
            return  # the walk is not long enough
        try:
            found = occurrences_of("", "", spec, exclude=exclude).next(at)
        except ScheduleError:
            return  # the search is longer than its bound
        assert found == expected
        if found is None:
            return
        at = found
