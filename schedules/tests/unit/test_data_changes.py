"""Changes of zone data: only the occurrences at times at which the old and the new clock differ are compared, with the
same result as comparing all of them.
"""

from random import Random

import pytest

from duecourse_schedules import ScheduleError, ScheduleSpec, load_zone
from duecourse_schedules.cron.cron import DAY
from duecourse_schedules.schedule import Occurrences, excluded_schedule
from duecourse_schedules.zones.data_changes import MAX_COMPARED, ChangedOccurrences, changed_occurrences
from duecourse_schedules.zones.zone import ZoneSource
from schedules.tests.support.schedules import utc
from schedules.tests.support.zone_data import with_zones

NOW, YEAR = utc("2026-11-27 00:00"), 365 * DAY
BERLIN = "Europe/Berlin"
WITHOUT_SUMMER = with_zones(Berlin="Africa/Algiers")
"""From now on, Berlin's clock shows UTC+1 all year."""


def changed(spec: ScheduleSpec, new: ZoneSource, *exclude: str) -> ChangedOccurrences:
    return changed_occurrences(spec, exclude, load_zone, new, after=NOW, until=NOW + YEAR)


def test_a_daily_job_changes_in_the_months_in_which_the_clocks_differ():
    found = changed(ScheduleSpec("30 12 * * *", BERLIN), WITHOUT_SUMMER)
    assert found == ChangedOccurrences(utc("2027-03-28 10:30"), utc("2027-03-28 11:30"), 217, complete=True)


def test_a_zone_with_the_same_data_changes_nothing():
    assert changed(ScheduleSpec("30 12 * * *", "Asia/Tokyo"), WITHOUT_SUMMER) == ChangedOccurrences(None, None, 0, True)
    assert changed(ScheduleSpec("30 12 * 12 *", BERLIN), WITHOUT_SUMMER).count == 0


def test_a_time_in_a_gap_that_no_longer_exists_is_added():
    found = changed(ScheduleSpec("30 2 28 3 *", BERLIN, dst_gap="skip"), WITHOUT_SUMMER)
    assert (found.old, found.new, found.count) == (None, utc("2027-03-28 01:30"), 1)


def test_a_repeated_time_that_no_longer_exists_is_removed():
    found = changed(ScheduleSpec("30 2 31 10 *", BERLIN, dst_fold="both"), WITHOUT_SUMMER)
    assert (found.old, found.new, found.count) == (utc("2027-10-31 00:30"), None, 1)


def test_a_rate_in_elapsed_time_changes_only_with_its_local_start():
    assert changed(ScheduleSpec("rate(1 hour)", BERLIN, anchor=NOW), WITHOUT_SUMMER).count == 0
    found = changed(ScheduleSpec("R/2026-07-01T00:00:00/PT7H", BERLIN), WITHOUT_SUMMER)
    assert found.new is not None
    assert found.count > 1000


def test_an_interval_of_minutes_is_the_same_after_a_shift_by_an_hour():
    found = changed(ScheduleSpec("*/30 * * * *", BERLIN), WITHOUT_SUMMER)
    assert (found.count, found.complete) == (0, False)
    assert changed(ScheduleSpec("* * * * *", BERLIN), with_zones(Berlin="Asia/Kolkata")).complete is False


def test_excluded_days_are_those_of_each_clock():
    found = changed(ScheduleSpec("30 12 * * *", BERLIN), WITHOUT_SUMMER, "2027-03-01/2027-05-31")
    assert found.old == utc("2027-06-01 10:30")


def test_a_zone_that_is_missing_is_an_error():
    with pytest.raises(ScheduleError, match="Berlin"):
        changed(ScheduleSpec("30 12 * * *", BERLIN), with_zones(Berlin=None))


EXPRESSIONS = (
    "30 2 * * *",
    "15 0 * * 1-5",
    "0 */4 * * *",
    "45 2 28-31 3,10 *",
    "0 12 L * *",
    "R/2026-05-01T02:30:00/P3D",
)


@pytest.mark.parametrize("seed", range(40))
def test_the_result_is_that_of_a_comparison_of_all_occurrences(seed):
    random = Random(seed)
    expression = random.choice(EXPRESSIONS)
    spec = ScheduleSpec(
        expression,
        BERLIN,
        random.choice(("next", "skip")),
        random.choice(("first", "second", "both")),
        on_excluded="skip" if "/4" in expression else random.choice(("skip", "previous", "next")),
    )
    new = with_zones(Berlin=random.choice(["Africa/Algiers", "Europe/London", "Africa/Casablanca", "Asia/Kathmandu"]))
    exclude = random.choice([(), ("* * * * SAT,SUN",), ("2027-03-28", "2027-10-30/2027-11-02")])

    def every(zones: ZoneSource) -> set[int]:
        schedule, exclusions = excluded_schedule(spec, exclude, zones)
        occurrences, at, found = Occurrences(schedule, "", 0, exclusions), NOW, set()
        while (at := occurrences.next(at)) is not None and at < NOW + YEAR:
            found.add(at)
        return found

    olds, news = every(load_zone), every(new)
    found = changed(spec, new, *exclude)
    assert len(olds) < MAX_COMPARED
    assert found.count == max(len(olds - news), len(news - olds))
    assert found.complete
    assert {found.old, found.new} - {None} <= olds ^ news
    if olds ^ news:
        assert min(olds ^ news) in (found.old, found.new)
