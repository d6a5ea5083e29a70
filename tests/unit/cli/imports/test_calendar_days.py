"""Days of calendar files and of public holidays, and `duecourse calendars`."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from duecourse.cli.imports.calendar_days import country_days, file_days, with_weekends, years_of
from duecourse.cli.main import main
from duecourse.cli.terminal import CliError, UsageError
from duecourse.domain.schedules.exclusions import packed_days
from tests.unit.cli.served import told

FILE = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Example//Holidays//EN
{events}END:VCALENDAR
"""


def event(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ("BEGIN:VEVENT", "UID:1", *lines, "END:VEVENT"))


def days(*events: str) -> tuple[list[str], list[str]]:
    return file_days(FILE.format(events="".join(events)).replace("\n", "\r\n").encode())


def test_calendar_days_whole_days_of_a_file_end_before_their_end() -> None:
    assert days(
        event("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261227", "SUMMARY:Christmas"),
        event("DTSTART;VALUE=DATE:20270101", "SUMMARY:New Year"),
        event("DTSTART;VALUE=DATE:20270501", "DTEND;VALUE=DATE:20270502"),
        event("DTSTART;VALUE=DATE:20270510", "DURATION:P2D"),
    ) == (["2026-12-24/2026-12-26", "2027-01-01", "2027-05-01", "2027-05-10/2027-05-11"], [])


def test_calendar_days_event_with_times_takes_the_days_that_it_touches() -> None:
    assert days(
        event("DTSTART:20261224T090000Z", "DTEND:20261224T170000Z"),
        event("DTSTART;TZID=Europe/Berlin:20261231T220000", "DTEND;TZID=Europe/Berlin:20270101T000000"),
    ) == (["2026-12-24", "2026-12-31"], [])


def test_calendar_days_events_that_repeat_each_year_become_cron_and_others_are_named() -> None:
    assert days(
        event("DTSTART;VALUE=DATE:20201003", "RRULE:FREQ=YEARLY", "SUMMARY:Unity"),
        event("DTSTART;VALUE=DATE:20201224", "DTEND;VALUE=DATE:20201227", "RRULE:FREQ=YEARLY;INTERVAL=1"),
        event("DTSTART;VALUE=DATE:20200928", "RRULE:FREQ=YEARLY;BYDAY=4TH;BYMONTH=11", "SUMMARY:Thanksgiving"),
        event("DTSTART;VALUE=DATE:20200928", "RRULE:FREQ=WEEKLY", "SUMMARY:Standup"),
        event("DTSTART;VALUE=DATE:20261231", "STATUS:CANCELLED"),
    ) == (["* * 3 10 *", "* * 24 12 *", "* * 25 12 *", "* * 26 12 *"], ["Thanksgiving", "Standup"])


def test_calendar_days_what_is_no_calendar_file_is_refused() -> None:
    with pytest.raises(CliError, match="not a valid iCalendar file"):
        file_days(b"date,name\n2026-12-24,Christmas\n")


def test_calendar_days_public_holidays_of_a_country_and_of_a_part_of_it() -> None:
    assert "2026-03-08" not in country_days("DE", None, "2026")
    found = country_days("de", "BE", "2026-2027")
    assert {"2026-03-08", "2026-12-25", "2027-05-01"} <= set(found)
    assert found == sorted(found)
    assert packed_days(with_weekends(found)).endswith("|* * * * SAT,SUN")


@pytest.mark.parametrize("years", ["26", "2028-2026", "2000-2030", "next"])
def test_calendar_days_years_that_are_none_are_refused(years: str) -> None:
    with pytest.raises(UsageError, match="--years"):
        years_of(years)
    with pytest.raises(UsageError, match="--country"):
        country_days("XX", None, "2026")


def test_calendar_days_name_of_a_country_is_refused_with_its_code() -> None:
    for name, code in (("Germany", "DE"), ("united kingdom", "GB"), ("Atlantis", "two letters, such as DE")):
        with pytest.raises(UsageError, match=f"--country: '{name}' is not the code of a known country; write {code}"):
            country_days(name, None, "2026")
    with pytest.raises(UsageError, match="--subdivision"):
        country_days("DE", "XX", "2026")


CALENDAR: dict[str, Any] = {
    "id": "bank",
    "description": "",
    "exclude": ["2026-12-24"],
    "version": 2,
    "updated_at": "2026-11-21T09:30:00.000Z",
    "updated_by": "ann",
}
PUT = CALENDAR | {"changed": 2, "failed": ["a"], "next_cursor": None}


def test_calendar_days_import_writes_the_days_and_says_which_jobs_follow(tmp_path: Path) -> None:
    file = tmp_path / "holidays.ics"
    file.write_text(FILE.format(events=event("DTSTART;VALUE=DATE:20261224", "SUMMARY:Christmas Eve")))
    result = told(PUT, "calendars", "import", "bank", str(file), "--weekends")
    assert result.exit_code == 0, result.output
    assert "bank has version 2 with 1 entry, the last date is 2026-12-24; jobs changed: 2" in result.output
    assert "not changed: a" in result.output
    dry = CliRunner().invoke(main, ["calendars", "import", "bank", str(file), "--weekends", "--dry-run"])
    assert dry.stdout.splitlines() == ["2026-12-24", "* * * * SAT,SUN"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give either FILE or --country"),
        (["--country", "DE"], "--years is missing"),
        ([__file__, "--years", "2026"], "can be used only with --country"),
    ],
)
def test_calendar_days_import_that_is_not_clear_is_refused(arguments: list[str], problem: str) -> None:
    result = CliRunner().invoke(main, ["calendars", "import", "bank", *arguments])
    assert (result.exit_code, problem in result.output) == (2, True)


def test_calendar_days_calendars_are_listed_shown_and_deleted() -> None:
    listed = told({"items": [CALENDAR], "next_cursor": "x"}, "calendars", "list")
    assert "bank" in listed.output
    assert "duecourse calendars list --cursor x" in listed.output
    shown = told(CALENDAR | {"jobs": ["closing"]}, "calendars", "show", "bank")
    assert "    2026-12-24\njobs: closing\n" in shown.output
    assert told(PUT, "calendars", "put", "bank", "2026-12-24").exit_code == 0
