"""How close together a schedule's times come, seen from its first thousand."""

import pytest

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.schedule import check_interval, closest

AFTER = 1_795_262_400  # 2026-11-21T12:00:00Z


def schedule(expression: str, **changes: object):  # type: ignore[no-untyped-def]
    return compile_schedule(ScheduleSpec(expression, anchor=AFTER, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expression", "smallest", "distance"),
    [
        ("rate(10 seconds)", 60, 10),
        ("* * * * * *", 60, 1),
        ("* * * * *", 300, 60),
        ("0 0 9,10 * * *", 86_400, 3_600),
        ("59 0 0 * * *", 86_400, None),
        ("0 0,1 3 29 2 *", 300, 60),  # the next 29 February is years away, and its times are close
        ("rate(1 minute)", 60, None),
        ("R2/2027-01-01T00:00:00Z/PT5S", 60, 5),
        ("R1/2027-01-01T00:00:00Z/PT5S", 60, None),
        ("at(2027-01-01T00:00:00)", 86_400, None),
    ],
)
def test_interval_between_times_that_are_too_close_is_found(
    expression: str, smallest: int, distance: int | None
) -> None:
    found = closest(schedule(expression), AFTER, limit=smallest)
    assert (None if found is None else found[1]) == distance


def test_interval_below_the_limit_is_rejected_with_field_and_limit() -> None:
    with pytest.raises(ScheduleError, match=r"10 s apart .*2026-11-21T12:00:20Z.* requires at least 60 s") as refused:
        check_interval(schedule("rate(10 seconds)"), AFTER, 60)
    assert refused.value.field == "schedule"


def test_interval_of_any_length_is_accepted_where_every_second_is_allowed() -> None:
    check_interval(schedule("* * * * * *"), AFTER, 1)


def test_interval_search_stops_after_one_thousand_steps() -> None:
    class Counted:
        def __init__(self) -> None:
            self.steps = 0

        def next(self, after: int) -> int:
            self.steps += 1
            return after + 60

    counted = Counted()
    assert closest(counted, AFTER, limit=60) is None  # type: ignore[arg-type]
    assert counted.steps == 1_001
