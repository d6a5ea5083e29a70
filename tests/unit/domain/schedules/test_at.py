"""One-off times: at(...) and ISO-8601 instants."""

import pytest

from tests.support.schedules import instants, local, refusal, schedule

NEW_YORK = "America/New_York"
NEW_YEAR = "2026-01-01 00:00"


class TestAt:
    def test_is_a_time_on_the_clock_of_the_zone(self):
        assert instants("at(2026-07-01T09:00:00)", NEW_YORK, after=NEW_YEAR) == ["2026-07-01 13:00"]
        assert instants("AT(2026-07-01t09:00:00)", after=NEW_YEAR) == ["2026-07-01 09:00"]

    def test_is_over_once_it_has_passed(self):
        assert instants("at(2026-07-01T09:00:00)", after="2026-07-01 08:59:59") == ["2026-07-01 09:00"]
        assert instants("at(2026-07-01T09:00:00)", after="2026-07-01 09:00") == []

    def test_in_a_gap_it_follows_the_rule_of_the_job(self):
        expression = "at(2026-03-08T02:30:00)"
        assert local(expression, NEW_YORK, after=NEW_YEAR) == ["2026-03-08 03:00"]
        assert local(expression, NEW_YORK, after=NEW_YEAR, dst_gap="skip") == []
        assert local("at(2011-12-30T12:00:00)", "Pacific/Apia", after="2011-01-01 00:00") == ["2011-12-31 00:00"]

    def test_in_a_fold_it_follows_the_rule_of_the_job(self):
        expression = "at(2026-11-01T01:30:00)"
        assert local(expression, NEW_YORK, after=NEW_YEAR) == ["2026-11-01 01:30"]
        assert local(expression, NEW_YORK, after=NEW_YEAR, dst_fold="second") == ["2026-11-01 01:30b"]
        assert local(expression, NEW_YORK, after=NEW_YEAR, dst_fold="both") == ["2026-11-01 01:30", "2026-11-01 01:30b"]

    def test_is_not_recurring_even_when_it_fires_in_both_passes(self):
        at = schedule("at(2026-11-01T01:30:00)", NEW_YORK, dst_fold="both")
        assert (at.kind, at.recurring) == ("at", False)

    def test_works_far_ahead(self):
        assert instants("at(2600-07-01T12:00:00)", NEW_YORK, after=NEW_YEAR) == ["2600-07-01 16:00"]

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("at(2026-02-30T09:00:00)", "there is no such day"),
            ("at(2026-13-01T09:00:00)", "there is no such day"),
            ("at(0000-01-01T09:00:00)", "there is no such day"),
            ("at(2026-01-01T24:00:00)", "there is no such time of day"),
            ("at(2026-01-01T09:60:00)", "there is no such time of day"),
            ("at(2026-12-31T23:59:60)", "there is no such time of day"),
            ("at(2026-01-01T09:00)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-01-01)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(20260101T090000)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-1-1T9:00:00)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-01-01 09:00:00)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at()", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(tomorrow)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-01-01T09:00:00Z)", "for an instant write 2026-01-01T09:00:00Z alone"),
            ("at(2026-01-01T09:00:00+01:00)", "for an instant write 2026-01-01T09:00:00+01:00 alone"),
            ("at(2026-01-01T09:00:00.0)", "without a fraction"),
        ],
    )
    def test_anything_else_in_the_brackets_is_refused(self, expression, reason):
        assert reason in refusal(expression).detail


class TestInstant:
    @pytest.mark.parametrize(
        "expression",
        [
            *("2026-07-01T09:00:00Z", "2026-07-01T09:00Z", "2026-07-01t09:00:00z", "2026-07-01T09:00:00.000Z"),
            *(
                "2026-07-01T11:00:00+02:00",
                "2026-07-01T11:00+02",
                "2026-07-01T05:00:00-0400",
                "2026-07-01T09:00:00-00:00",
            ),
            *("20260701T090000Z", "20260701T0900Z", "20260701T110000+0200", "2026-07-01T14:45:00+05:45"),
        ],
    )
    def test_with_its_offset_it_does_not_depend_on_the_zone(self, expression):
        assert instants(expression, "Asia/Tokyo", after=NEW_YEAR) == ["2026-07-01 09:00"]
        assert schedule(expression, "Asia/Tokyo").canonical == "2026-07-01T09:00:00Z"

    def test_without_an_offset_it_is_a_time_of_the_zone_as_with_at(self):
        assert instants("2026-07-01T09:00:00", NEW_YORK, after=NEW_YEAR) == ["2026-07-01 13:00"]
        assert schedule("2026-07-01T09:00").canonical == "at(2026-07-01T09:00:00)"
        assert local("2026-03-08T02:30:00", NEW_YORK, after=NEW_YEAR) == ["2026-03-08 03:00"]

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("2026-02-29T00:00:00Z", "there is no such day"),
            ("2026-01-01T25:00:00Z", "there is no such time of day"),
            ("2026-01-01T09:00:00.5Z", "times are whole seconds"),
            ("2026-01-01T09:00:00+24:00", "there is no such offset"),
            ("2026-01-01T09:00:00+01:60", "there is no such offset"),
            ("2026-01-01", "has 1 field"),
            ("2026-01-01T09Z", "has 1 field"),
            ("2026-W01-1T09:00:00Z", "has 1 field"),
            ("20260101T09:00:00Z", "has 1 field"),
            ("2026-01-01 09:00:00", "has 2 fields"),
            ("1767258000", "has 1 field"),
        ],
    )
    def test_what_is_no_whole_second_of_the_calendar_is_refused(self, expression, reason):
        assert reason in refusal(expression).detail
