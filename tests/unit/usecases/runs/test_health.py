"""Health is the age of the last tick."""

from duecourse.domain.instants import from_iso
from duecourse.testing.clock import SettableClock
from duecourse.usecases.runs.health import FRESH_SECONDS, Health, Status
from tests.support.limits import MemoryMark

NOON = from_iso("2026-11-21T12:00:00Z")


def test_a_stage_whose_tick_came_is_well_until_three_minutes_have_passed() -> None:
    clock = SettableClock(NOON)
    health = Health(MemoryMark(NOON), clock)
    clock.set(NOON + 180)
    assert health.pulse().status is Status.OK
    clock.set(NOON + 181)
    pulse = health.pulse()
    assert (pulse.status, pulse.last, pulse.age) == (Status.LATE, NOON, 181)


def test_a_tick_that_comes_again_makes_it_well() -> None:
    clock, mark = SettableClock(NOON + 500), MemoryMark(NOON)
    health = Health(mark, clock)
    assert health.pulse().status is Status.LATE
    mark.mark(NOON + 500)
    clock.advance(FRESH_SECONDS)
    assert health.pulse().status is Status.OK


def test_a_stage_that_has_never_ticked_is_given_three_minutes_from_the_first_question() -> None:
    clock = SettableClock(NOON)
    health = Health(MemoryMark(), clock)
    assert (health.pulse().status, health.pulse().age) == (Status.OK, None)
    clock.advance(181)
    assert health.pulse().status is Status.LATE


def test_many_questions_within_some_seconds_are_one_read() -> None:
    clock, mark = SettableClock(NOON), MemoryMark(NOON)
    health = Health(mark, clock)
    for _ in range(50):
        health.pulse()
        clock.advance(0.09)
    assert mark.asked == 1


def test_a_clock_that_is_behind_the_tick_shows_no_negative_age() -> None:
    assert Health(MemoryMark(NOON + 2), SettableClock(NOON)).pulse().age == 0


def test_each_shard_says_how_far_it_is_behind_where_it_could_stand() -> None:
    mark = MemoryMark(NOON, watermarks={0: "2026-11-21T10", 1: "2026-11-21T07", 2: None, 3: "2026-11-21T11"})
    dispatching = Health(mark, SettableClock(NOON + 59)).dispatching()
    assert dispatching.shards == 4
    assert dispatching.behind == {0: 0, 1: 10_800, 2: None, 3: 0}
