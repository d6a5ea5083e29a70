"""Spread: a fixed offset of each occurrence, and the choice of it from the forecast."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.instants import from_iso, to_iso
from duecourse.domain.jobs.cursor import plan
from duecourse.domain.jobs.job import Job, MissedMode, MissedPolicy, Spread
from duecourse.domain.jobs.spread import (
    SEARCH_STEPS,
    STEPS,
    Place,
    TooManyRuns,
    Wanted,
    check_offset,
    examined,
    minutes_of,
    place_all,
    room,
    windows_of,
)
from duecourse.domain.jobs.upcoming import MIN_STEP_SECONDS, Window
from duecourse.domain.tenants.rate import Budget
from duecourse_schedules import ScheduleError
from tests.support.jobs import NOON, cursor, job

TWO = "2026-11-22T02:00:00Z"
START = int(from_iso(TWO)) // 60


def spread(expression: str = "0 2 * * *", offset: int | None = None, within: int = 30, **changes: Any) -> Job:
    return job(expression, spread=Spread(within, offset), **changes)


def placed(jobs: list[Job], load: dict[int, int] | None = None, within: int = 30) -> list[Place]:
    """The places of jobs, with this load by the minutes after two o'clock."""
    wanted = [Wanted.of(cursor(each), within, NOON) for each in jobs]
    minutes = Counter({START + minute: runs for minute, runs in (load or {}).items()})
    return place_all(wanted, minutes, windows_of(wanted, NOON), Budget(STEPS))


def dues(of: Job, count: int) -> list[str]:
    occurrences, at, found = of.occurrences(), int(NOON), []
    for _ in range(count):
        following = occurrences.next(at)
        assert following is not None
        at = following
        found.append(to_iso(occurrences.due(at)))
    return found


def test_spread_delays_each_run_and_keeps_its_name() -> None:
    nightly = spread(offset=17)
    assert dues(nightly, 2) == ["2026-11-22T02:17:00Z", "2026-11-23T02:17:00Z"]
    standing = cursor(nightly)
    assert (standing.occurrence, standing.due) == (START * 60, START * 60 + 17 * 60)
    (firing,) = plan(standing, now=START * 60 + 16 * 60, horizon=120).firings
    assert (firing.occurrence, firing.due) == (START * 60, START * 60 + 17 * 60)


def test_spread_counts_elapsed_time_after_the_change_of_a_clock() -> None:
    berlin = spread("50 1 * * *", offset=20, at=from_iso("2026-03-28T12:00:00Z"), timezone="Europe/Berlin")
    occurrences = berlin.occurrences()
    at = occurrences.next(int(from_iso("2026-03-28T12:00:00Z")))
    assert at is not None
    # 02:00 is 03:00: the run is due at 03:10 on the clock.
    assert (to_iso(at), to_iso(occurrences.due(at))) == ("2026-03-29T00:50:00Z", "2026-03-29T01:10:00Z")


def test_spread_and_jitter_add_up_before_the_next_occurrence() -> None:
    shaped = spread("*/10 * * * *", offset=8, within=10, jitter_seconds=3600)
    occurrences = shaped.occurrences()
    for step in range(200):
        at = int(NOON) + 600 * step
        assert at + 480 <= occurrences.due(at) < at + 600


def test_spread_run_is_before_the_next_occurrence_even_if_a_clock_change_shortens_the_interval() -> None:
    # 02:30 does not exist on this day and moves to 03:00, five minutes before the next occurrence.
    berlin = spread(
        "30 2 * * *|5 3 * * *", offset=20, at=from_iso("2026-03-28T12:00:00Z"), timezone="Europe/Berlin"
    ).occurrences()
    at = int(from_iso("2026-03-29T01:00:00Z"))
    assert berlin.next(at - 1) == at
    assert to_iso(berlin.due(at)) == "2026-03-29T01:04:59Z"
    assert to_iso(berlin.due(at + 300)) == "2026-03-29T01:25:00Z"


def test_spread_missed_runs_are_found_by_their_due_time() -> None:
    once = spread("0 * * * *", offset=17, missed=MissedPolicy(MissedMode.RUN_ONCE))
    hour = int(NOON) + 3600
    on_time = plan(cursor(once), now=hour + 16 * 60, horizon=0)
    assert (on_time.firings, on_time.reason) == ((), "not due")
    late = plan(cursor(once), now=hour + 2 * 3600 + 20 * 60, horizon=0)
    assert [(each.occurrence, each.count) for each in late.firings] == [(hour, 3)]


def test_spread_chooses_the_quietest_minute() -> None:
    busy = dict.fromkeys(range(30), 5) | {0: 200, 11: 2, 12: 3}
    (place,) = placed([spread()], busy)
    assert place.offset_minutes == 11
    assert (to_iso(place.before.at), place.before.runs) == (TWO, 201)
    assert (to_iso(place.after.at), place.after.runs) == ("2026-11-22T02:11:00Z", 3)


def test_spread_of_equally_quiet_minutes_is_decided_by_the_id_alone() -> None:
    offsets = [placed([spread(id=f"job-{number}")])[0].offset_minutes for number in range(200)]
    assert offsets == [placed([spread(id=f"job-{number}")])[0].offset_minutes for number in range(200)]
    assert set(offsets) == set(range(30))


def test_spread_jobs_take_each_other_into_account() -> None:
    jobs = [spread(id=f"job-{number}") for number in range(300)]
    places = placed(jobs)
    assert set(Counter(place.offset_minutes for place in places).values()) == {10}
    assert {place.before.runs for place in places} == {300}
    assert {place.after.runs for place in places} == {10}


def test_spread_fills_quiet_minutes_up_to_the_others() -> None:
    places = placed([spread(id=f"job-{number}") for number in range(30)], dict.fromkeys(range(30), 4) | {7: 0, 8: 2})
    found = Counter(place.offset_minutes for place in places)
    # Six runs fill the two quiet minutes up to four; the other 24 are spread over all minutes.
    assert found[7] in (4, 5)
    assert found[8] in (2, 3)
    assert max(found[minute] for minute in range(30) if minute not in (7, 8)) == 1


def test_spread_plan_of_jobs_that_have_their_places_changes_nothing() -> None:
    jobs = [spread(id=f"job-{number}") for number in range(40)]
    first = [place.offset_minutes for place in placed(jobs)]
    again = [spread(id=of.id, offset=offset) for of, offset in zip(jobs, first, strict=True)]
    assert [place.offset_minutes for place in placed(again)] == first
    assert all(place.before == place.after for place in placed(again))


def test_spread_compares_the_fullest_of_several_occurrences() -> None:
    day = 24 * 60
    load = dict.fromkeys(range(30), 1) | {5: 0, 5 + day: 40, 6: 0, 6 + day: 2, 6 + 2 * day: 2}
    load |= {minute + step: 3 for minute in range(30) if minute not in (5, 6) for step in (0, day, 2 * day)}
    (place,) = placed([spread()], load)
    assert place.offset_minutes == 6


def test_spread_of_a_frequent_job_looks_at_an_hour() -> None:
    often = cursor(job("*/5 * * * *"))
    assert len(examined(often, NOON)) == 12
    assert len(examined(cursor(job("0 2 * * *")), NOON)) == 3
    assert len(examined(cursor(job("0 2 1 1 *")), NOON)) == 3


def test_spread_stays_within_the_interval_of_the_schedule() -> None:
    assert room(cursor(job("*/10 * * * *")), 30, NOON) == 10
    assert room(cursor(job("0,40,45 * * * *")), 30, NOON) == 5
    assert room(cursor(job("rate(90 seconds)")), 30, NOON) == 2
    assert room(cursor(job("0 * * * *")), 60, NOON) == 60
    quarterly = job("*/10 * * * *")
    assert {placed([job("*/10 * * * *", id=f"q-{n}")])[0].offset_minutes for n in range(100)} == set(range(10))
    check_offset(cursor(quarterly), 30, 9, NOON)
    with pytest.raises(ScheduleError, match="offset_minutes must be less than 10"):
        check_offset(cursor(quarterly), 30, 10, NOON)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("* * * * *", "needs intervals longer than a minute, but the schedule has occurrences 60 s apart"),
        ("*/10 * * * * *", "occurrences 10 s apart"),
        ("at(2026-12-24T18:00:00)", "is for recurring jobs"),
        ("", "requires a schedule"),
    ],
)
def test_spread_is_refused_for_other_schedules(expression: str, why: str) -> None:
    with pytest.raises(ScheduleError, match=why) as refused:
        room(cursor(job(expression)), 30, NOON)
    assert refused.value.pointer == "/spread"


def test_spread_without_a_complete_forecast_is_decided_by_the_id() -> None:
    jobs = [spread(id=f"job-{number}") for number in range(100)]
    wanted = [Wanted.of(cursor(each), 30, NOON) for each in jobs]
    places = place_all(wanted, None, windows_of(wanted, NOON), Budget(0))
    assert [place.offset_minutes for place in places] == [
        place_all([each], None, windows_of([each], NOON), Budget(0))[0].offset_minutes for each in wanted
    ]
    assert not any(place.known for place in places)


def test_spread_minutes_of_a_job_are_those_in_the_windows() -> None:
    windows = [Window(begin, begin + 600, MIN_STEP_SECONDS, int(NOON)) for begin in (int(NOON), int(NOON) + 3600)]
    found = minutes_of(cursor(job("*/4 * * * *")), windows, Budget(STEPS))
    first = int(NOON) // 60
    assert found == Counter([first, first + 4, first + 8, first + 60, first + 64, first + 68])
    assert minutes_of(cursor(job("30 * * * *")), windows, Budget(STEPS)) == Counter()


def test_spread_minutes_of_a_job_take_a_limited_number_of_steps() -> None:
    day = Window(int(NOON), int(NOON) + 86_400, MIN_STEP_SECONDS, int(NOON))
    with pytest.raises(TooManyRuns):
        minutes_of(cursor(job("* * * * * *")), [day], budget := Budget(1000))
    assert budget.steps == 0
    # A job that is seldom due is searched once for all windows.
    windows = [replace(day, begin=begin, end=begin + 60) for begin in range(day.begin, day.end, 120)]
    minutes_of(cursor(job("1 13 * * *")), windows, budget := Budget(1000))
    assert budget.steps == 1000 - 2 * SEARCH_STEPS
    costly = job("1 13 * * *", exclude=("* 3 * * *",), jitter_seconds=1)
    minutes_of(cursor(costly), windows, budget := Budget(1000))
    assert budget.steps == 1000 - 2 * SEARCH_STEPS * 3 * 2


def test_spread_looks_at_few_occurrences_of_a_job_with_many_recurring_exclusions() -> None:
    hours = tuple(f"{minute} 3 * * *" for minute in range(40))
    assert len(examined(cursor(job("*/5 * * * *", exclude=hours)), NOON)) == 3
    dates = tuple(f"2027-01-{day:02}" for day in range(1, 32))
    assert len(examined(cursor(job("*/5 * * * *", exclude=dates)), NOON)) == 12


def test_spread_load_includes_the_minutes_of_a_longer_offset_and_of_jitter() -> None:
    (longer,) = placed([spread(offset=59, within=60)])
    assert (to_iso(longer.before.at), longer.before.runs) == ("2026-11-22T02:59:00Z", 1)
    assert longer.after.runs == 1
    jobs = [spread(id=f"job-{number}", offset=29, jitter_seconds=1800) for number in range(20)]
    assert all(place.before.runs and place.after.runs for place in placed(jobs))


def test_spread_is_part_of_the_rules_of_a_catch_up() -> None:
    assert cursor(spread("0 * * * *", offset=17)).rules.offset_seconds == 17 * 60
