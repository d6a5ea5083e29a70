"""Days of calendar files and of public holidays, and `duecourse calendars`."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from duecourse.cli.imports.calendar_days import country_days, file_days, with_weekends, years_of
from duecourse.cli.main import main
from duecourse.cli.terminal import CliError, UsageError
from duecourse_schedules import ScheduleSpec
from duecourse_schedules.exclusions import packed_days
from duecourse_schedules.schedule import excluded_schedule
from tests.support.examples import examples
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
    return file_days(FILE.format(events="".join(events)).replace("\n", "\r\n").encode(), today=date(2026, 11, 28))


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
    found, left = days(
        event("DTSTART;VALUE=DATE:20201003", "RRULE:FREQ=YEARLY", "SUMMARY:Unity"),
        event("DTSTART;VALUE=DATE:20201224", "DTEND;VALUE=DATE:20201227", "RRULE:FREQ=YEARLY;INTERVAL=1"),
        event("DTSTART;VALUE=DATE:20201006", "RRULE:FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=6"),
        event("DTSTART;VALUE=DATE:20200928", "RRULE:FREQ=YEARLY;BYDAY=4TH;BYMONTH=11", "SUMMARY:Thanksgiving"),
        event("DTSTART;VALUE=DATE:20200928", "RRULE:FREQ=WEEKLY", "SUMMARY:Standup"),
        event("DTSTART;VALUE=DATE:20261231", "STATUS:CANCELLED"),
        event("DTSTART;VALUE=DATE:20261231", "STATUS:cancelled"),
    )
    assert found == ["* * 3 10 *", "* * 24-26 12 *", "* * 6 10 *"]
    assert left == [f"{name}: repeats in a way that is not supported" for name in ("Thanksgiving", "Standup")]


TODAY = date(2026, 11, 28)


@pytest.mark.parametrize(
    ("lines", "entries"),
    [
        (
            ["DTSTART;VALUE=DATE:20260101", "RDATE;VALUE=DATE:20260203,20260204"],
            ["2026-01-01", "2026-02-03", "2026-02-04"],
        ),
        (
            ["DTSTART;VALUE=DATE:20260101", "RDATE;VALUE=DATE:20260203", "RDATE;VALUE=DATE:20260301"],
            ["2026-01-01", "2026-02-03", "2026-03-01"],
        ),
        (
            ["DTSTART;VALUE=DATE:20260101", "DTEND;VALUE=DATE:20260103", "RDATE;VALUE=DATE:20260203"],
            ["2026-01-01/2026-01-02", "2026-02-03/2026-02-04"],
        ),
        (
            ["DTSTART:20260101T090000Z", "RDATE;VALUE=PERIOD:20260203T000000Z/P2D,20260301T230000Z/20260302T010000Z"],
            ["2026-01-01", "2026-02-03/2026-02-04", "2026-03-01/2026-03-02"],
        ),
        (["DTSTART;VALUE=DATE:20260101", "RDATE;VALUE=DATE:20260203", "EXDATE;VALUE=DATE:20260101"], ["2026-02-03"]),
        (
            [
                "DTSTART;TZID=Europe/Berlin:20260101T000000",
                "RDATE;TZID=Europe/Berlin:20260203T000000",
                "EXDATE:20260202T230000Z",
            ],
            ["2026-01-01"],
        ),
        (["DTSTART:20260101T090000Z", "RDATE:20260101T120000Z", "EXDATE:20260101T090000Z"], ["2026-01-01"]),
        (["DTSTART:20260101T090000Z", "RDATE:20260203T120000Z", "EXDATE;VALUE=DATE:20260101"], ["2026-02-03"]),
        (
            ["DTSTART;VALUE=DATE:20200101", "RRULE:FREQ=YEARLY", "EXDATE;VALUE=DATE:20270101"],
            ["0 * * 1 1 * 2020-2026,2028-2199"],
        ),
        (
            ["DTSTART;VALUE=DATE:20200101", "RRULE:FREQ=YEARLY", "RDATE;VALUE=DATE:20270203"],
            ["* * 1 1 *", "2027-02-03"],
        ),
        (["DTSTART;VALUE=DATE:20301003", "RRULE:FREQ=YEARLY"], ["0 * * 3 10 * 2030-2199"]),
        (["DTSTART;VALUE=DATE:20201003", "RRULE:FREQ=YEARLY;COUNT=3"], ["0 * * 3 10 * 2020-2022"]),
        (["DTSTART;VALUE=DATE:20201003", "RRULE:FREQ=YEARLY;UNTIL=20231003"], ["0 * * 3 10 * 2020-2023"]),
        (["DTSTART;VALUE=DATE:20201003", "RRULE:FREQ=YEARLY;UNTIL=20231002"], ["0 * * 3 10 * 2020-2022"]),
        (["DTSTART;VALUE=DATE:20201003", "RRULE:FREQ=YEARLY;INTERVAL=4"], ["0 * * 3 10 * 2020-2196/4"]),
        (
            ["DTSTART;VALUE=DATE:20201231", "DURATION:P2D", "RRULE:FREQ=YEARLY;COUNT=2"],
            ["0 * * 31 12 * 2020-2021", "0 * * 1 1 * 2021-2022"],
        ),
        (["DTSTART;VALUE=DATE:20200229", "RRULE:FREQ=YEARLY"], ["* * 29 2 *"]),
        (["DTSTART;VALUE=DATE:20200229", "RRULE:FREQ=YEARLY;COUNT=2"], ["0 * * 29 2 * 2020,2024"]),
        (["DTSTART:20261223T230000Z", "DTEND:20261224T230000Z"], ["2026-12-24"]),
        (["DTSTART:20261224T000000Z", "DTEND:20261225T000000Z"], ["2026-12-24"]),
        (["DTSTART:20261224T050000Z", "DTEND:20261226T050000Z"], ["2026-12-24/2026-12-25"]),
        (["DTSTART:20261024T220000Z", "DTEND:20261025T230000Z"], ["2026-10-25"]),
        (["DTSTART:20261224T220000Z", "DTEND:20261225T020000Z"], ["2026-12-24/2026-12-25"]),
        (["DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261224"], ["2026-12-24"]),
    ],
)
def test_calendar_days_every_date_of_an_event_counts_except_the_excluded_ones(
    lines: list[str], entries: list[str]
) -> None:
    assert days(event(*lines)) == (entries, [])
    assert packed_days(entries)


def test_calendar_days_yearly_entries_exclude_the_dates_of_the_event() -> None:
    (entry,), _ = days(event("DTSTART;VALUE=DATE:20200101", "RRULE:FREQ=YEARLY", "EXDATE;VALUE=DATE:20270101"))
    schedule, exclusions = excluded_schedule(ScheduleSpec("0 12 1 1 *", "UTC"), (entry,))
    assert exclusions is not None
    found = exclusions.first(schedule, int(datetime(2026, 6, 1, tzinfo=UTC).timestamp()))
    assert found == int(datetime(2027, 1, 1, 12, tzinfo=UTC).timestamp())


MASTER = ("UID:a", "DTSTART;VALUE=DATE:20260101", "RDATE;VALUE=DATE:20260201,20260301")


@pytest.mark.parametrize(
    ("override", "entries"),
    [
        (
            ["RECURRENCE-ID;VALUE=DATE:20260201", "DTSTART;VALUE=DATE:20260205"],
            ["2026-01-01", "2026-03-01", "2026-02-05"],
        ),
        (
            ["RECURRENCE-ID;VALUE=DATE:20260201", "DTSTART;VALUE=DATE:20260201", "STATUS:Cancelled"],
            ["2026-01-01", "2026-03-01"],
        ),
    ],
)
def test_calendar_days_changed_occurrence_replaces_that_of_its_event(override: list[str], entries: list[str]) -> None:
    def of(*parts: tuple[str, ...]) -> tuple[list[str], list[str]]:
        return days(*("".join(f"{line}\n" for line in ("BEGIN:VEVENT", *part, "END:VEVENT")) for part in parts))

    changed = ("UID:a", *override)
    assert of(MASTER, changed) == (entries, [])
    assert sorted(of(changed, MASTER)[0]) == sorted(entries)
    yearly = ("UID:a", "DTSTART;VALUE=DATE:20200201", "RRULE:FREQ=YEARLY")
    assert of(yearly, changed)[0][0] == "0 * * 1 2 * 2020-2025,2027-2199"
    assert of((*MASTER, "STATUS:CANCELLED"), changed) == ([], [])
    assert (
        "THISANDFUTURE"
        in of(MASTER, ("UID:a", f"{override[0]}".replace(";", ";RANGE=THISANDFUTURE;"), *override[1:]))[1][0]
    )


@pytest.mark.parametrize("header", ["X-WR-TIMEZONE:Asia/Tokyo\n", "X-WR-TIMEZONE:Mars/Olympus\n"])
def test_calendar_days_times_in_utc_are_read_in_the_time_zone_of_the_file(header: str) -> None:
    text = FILE.format(events=header + event("DTSTART:20261224T200000Z", "DTEND:20261224T210000Z")).encode()
    assert file_days(text)[0] == ["2026-12-25" if "Tokyo" in header else "2026-12-24"]
    assert file_days(text, zone="America/New_York")[0] == ["2026-12-24"]
    with pytest.raises(UsageError, match="--timezone"):
        file_days(text, zone="Mars/Olympus")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["DTSTART;VALUE=DATE:20261224", "DURATION:P99999999999999W"], "DURATION is invalid"),
        (["DTSTART:20261224T000000Z", "DURATION:P9999999D"], "is outside the years 1 to 9999"),
        (["DTSTART:99991231T000000Z", "DURATION:P9D"], "is outside the years 1 to 9999"),
        (
            ["DTSTART;VALUE=DATE:20261224", "DTEND:20261225T000000Z"],
            "mixes dates, times, and times without a time zone",
        ),
        (["DTSTART:20261224T000000", "DTEND:20261225T000000Z"], "mixes dates, times, and times without a time zone"),
        (["DTSTART:20261224T000000", "RDATE;VALUE=DATE:20270101"], "mixes dates, times, and times without a time zone"),
        (["DTSTART;VALUE=DATE:20200101", "DTEND;VALUE=DATE:99990101", "RRULE:FREQ=YEARLY"], "lasts a year or longer"),
        (["DTSTART;VALUE=DATE:20200227", "DTEND;VALUE=DATE:20200302", "RRULE:FREQ=YEARLY"], "end of February"),
        (["DTSTART;VALUE=DATE:20200101", "RRULE:FREQ=NEVER"], "RRULE is invalid"),
        (["DTSTART;VALUE=DATE:20200101", "RRULE:FREQ=YEARLY", "EXRULE:FREQ=YEARLY"], "not supported"),
        (["DTSTART;VALUE=DATE:20200101", "RRULE:FREQ=YEARLY", "RRULE:FREQ=DAILY"], "not supported"),
        (["DTSTART;VALUE=DATE:20200101", "RRULE:FREQ=YEARLY;BYMONTH=2"], "not supported"),
        (["DTSTART;VALUE=DATE:20200101", "EXDATE:nonsense"], "EXDATE is invalid"),
        (["DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261220"], "ends before it starts"),
        (["SUMMARY:x"], "has no DTSTART"),
        (["DTSTART;VALUE=DATE:20261332"], "DTSTART is invalid"),
    ],
)
def test_calendar_days_odd_event_is_named_with_its_reason_and_does_not_end_the_import(
    lines: list[str], reason: str
) -> None:
    found, (left,) = days(event(*lines), event("DTSTART;VALUE=DATE:20270101"))
    assert found == ["2027-01-01"]
    assert reason in left


def test_calendar_days_file_is_bounded_before_its_days_are_computed() -> None:
    dates = ",".join(f"{year}{month:02}01" for year in range(2000, 2100) for month in range(1, 13))
    with pytest.raises(CliError, match="more than 500 entries"):
        days(event("DTSTART;VALUE=DATE:20000101", f"RDATE;VALUE=DATE:{dates}"))
    dates = ",".join(["20270101"] * 5_002)
    for data, what in (
        (b"x" * 5_000_001, "5,000,000 bytes"),
        (b"X:y\n" * 20_001, "20,000 lines"),
        (b"begin:VEVENT\n" * 2_001, "2,000 events"),
        (f"EXDATE;VALUE=DATE:{dates}".encode(), "5,000 dates"),
        (f"RDATE:{dates}".replace("0101,2", "0101,\r\n 2").encode(), "5,000 dates"),
    ):
        with pytest.raises(CliError, match=f"more than {what}"):
            file_days(data)


_VALUES = st.one_of(
    st.text("0123456789TZ/P-WDH;:,=", max_size=24),
    st.sampled_from(
        [
            "20261224",
            "20261224T000000",
            "20261224T000000Z",
            "00010101",
            "99991231",
            "99991231T235959Z",
            "P1D",
            "P9999999D",
            "-P1D",
            "PT36H",
            "20260101T000000Z/P1D",
            "20260101T000000Z/20250101T000000Z",
            "20260101,20260102",
            "FREQ=YEARLY",
            "FREQ=SECONDLY",
            "FREQ=YEARLY;COUNT=99999999999",
            "FREQ=YEARLY;UNTIL=00010101",
            "FREQ=YEARLY;INTERVAL=0",
            "FREQ=YEARLY;INTERVAL=99999999",
            "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
            "cancelled",
            "a",
        ]
    ),
)
_LINES = st.lists(
    st.builds(
        "{}{}:{}".format,
        st.sampled_from(
            [
                "DTSTART",
                "DTSTART",
                "DTSTART",
                "DTEND",
                "DURATION",
                "RDATE",
                "EXDATE",
                "RRULE",
                "EXRULE",
                "RECURRENCE-ID",
                "STATUS",
                "UID",
                "SUMMARY",
            ]
        ),
        st.sampled_from(
            ["", ";VALUE=DATE", ";VALUE=PERIOD", ";TZID=Europe/Berlin", ";TZID=Nowhere", ";RANGE=THISANDFUTURE"]
        ),
        _VALUES,
    ),
    max_size=8,
)


@examples(400)
@given(st.lists(_LINES, min_size=1, max_size=3), st.booleans())
def test_calendar_days_any_file_has_days_or_a_clear_error(events: list[list[str]], broken: bool) -> None:
    texts = [event(*lines).replace("UID:1\n", "", broken) for lines in events]
    try:
        found, left = file_days(FILE.format(events="".join(texts)).replace("\n", "\r\n").encode(), today=TODAY)
    except CliError:
        return
    assert len(found) <= 500
    if found:
        packed_days(found)
    assert all(": " in each for each in left)


@examples(200)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from(
                [
                    b"BEGIN:VCALENDAR",
                    b"END:VCALENDAR",
                    b"BEGIN:VEVENT",
                    b"END:VEVENT",
                    b"BEGIN:VTIMEZONE",
                    b"END:VTIMEZONE",
                    b"BEGIN:STANDARD",
                    b"END:STANDARD",
                    b"TZID:Foo",
                    b"DTSTART;TZID=Foo:20261224T000000",
                    b"DTSTART:16010101T000000",
                    b"RRULE:FREQ=SECONDLY",
                    b"RRULE:FREQ=DAILY",
                    b"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
                    b"TZOFFSETFROM:+0100",
                    b"TZOFFSETTO:+9900",
                    b"TZOFFSETTO:+0200",
                    b" folded",
                    b"\xff",
                    b"",
                ]
            ),
            max_size=30,
        ).map(b"\r\n".join),
    )
)
def test_calendar_days_any_bytes_have_days_or_a_clear_error(data: bytes) -> None:
    try:
        file_days(data, today=TODAY)
    except CliError:
        return


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
    more = told(CALENDAR | {"jobs": ["closing"], "more_jobs": True}, "calendars", "show", "bank")
    assert "\njobs: closing and more\n" in more.output
    assert told(PUT, "calendars", "put", "bank", "2026-12-24").exit_code == 0


def test_calendar_days_import_that_leaves_an_event_out_has_its_own_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "holidays.ics"
    odd = event("DTSTART;VALUE=DATE:20261224", "DTEND:20261225T000000Z", "SUMMARY:Odd")
    file.write_text(FILE.format(events=event("DTSTART;VALUE=DATE:20261224") + odd))
    for arguments in ([], ["--dry-run"]):
        result = told(PUT, "calendars", "import", "bank", str(file), *arguments)
        assert result.exit_code == 3, result.output
        assert "not imported: Odd: mixes dates" in result.output
    refused = CliRunner().invoke(
        main, ["calendars", "import", "x", "--country", "DE", "--years", "2026", "--timezone", "UTC"]
    )
    assert (refused.exit_code, "--timezone can be used only with FILE" in refused.output) == (2, True)
