"""Health is the age of the last tick."""

from duecourse.domain.instants import from_iso
from duecourse.testing.clock import SettableClock
from duecourse.usecases.runs.health import FRESH_SECONDS, Health, Status
from tests.support.limits import MemoryMark

NOON = from_iso("2026-11-21T12:00:00Z")


def test_health_is_ok_until_three_minutes_after_the_last_tick() -> None:
    clock = SettableClock(NOON)
    health = Health(MemoryMark(NOON), clock)
    clock.set(NOON + 180)
    assert health.pulse().status is Status.OK
    clock.set(NOON + 181)
    pulse = health.pulse()
    assert (pulse.status, pulse.last, pulse.age) == (Status.LATE, NOON, 181)


def test_health_is_ok_again_after_another_tick() -> None:
    clock, mark = SettableClock(NOON + 500), MemoryMark(NOON)
    health = Health(mark, clock)
    assert health.pulse().status is Status.LATE
    mark.mark(NOON + 500)
    clock.advance(FRESH_SECONDS)
    assert health.pulse().status is Status.OK


def test_health_without_any_tick_is_ok_for_three_minutes_after_the_first_request() -> None:
    clock = SettableClock(NOON)
    health = Health(MemoryMark(), clock)
    assert (health.pulse().status, health.pulse().age) == (Status.OK, None)
    clock.advance(181)
    assert health.pulse().status is Status.LATE


def test_health_requests_within_a_few_seconds_share_one_read() -> None:
    clock, mark = SettableClock(NOON), MemoryMark(NOON)
    health = Health(mark, clock)
    for _ in range(50):
        health.pulse()
        clock.advance(0.09)
    assert mark.asked == 1


def test_health_age_is_not_negative_for_a_clock_behind_the_tick() -> None:
    assert Health(MemoryMark(NOON + 2), SettableClock(NOON)).pulse().age == 0


def test_health_shows_how_far_each_shard_is_behind() -> None:
    mark = MemoryMark(NOON, watermarks={0: "2026-11-21T10", 1: "2026-11-21T07", 2: None, 3: "2026-11-21T11"})
    dispatching = Health(mark, SettableClock(NOON + 59)).dispatching()
    assert dispatching.shards == 4
    assert dispatching.behind == {0: 0, 1: 10_800, 2: None, 3: 0}
