"""`duecourse next`: what a person reads and what a program reads, and how wrong input is refused."""

from __future__ import annotations

import json
import time
from datetime import datetime

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.main import main

NEW_YORK = ("--tz", "America/New_York")
SPRING = ("--after", "2026-03-07T12:00:00Z")


def next_(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["next", *arguments])


def shown(*arguments: str) -> list[str]:
    result = next_(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def refused(*arguments: str) -> str:
    result = next_(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("duecourse: ").rstrip("\n")


def test_next_says_what_was_understood_and_then_when_it_fires() -> None:
    assert shown("0 9 * * mon-mon", *NEW_YORK, "--after", "2026-01-01T00:00:00Z", "--count", "2") == [
        "understood as  at 09:00 on Monday, America/New_York",
        "canonical      0 9 * * 1",
        "",
        "UTC                   America/New_York",
        "2026-01-05 14:00:00Z  2026-01-05 09:00:00 -05:00",
        "2026-01-12 14:00:00Z  2026-01-12 09:00:00 -05:00",
    ]


def test_a_time_that_the_clock_jumps_over_is_shown_as_moved() -> None:
    [line] = shown("30 2 * * *", *NEW_YORK, *SPRING, "--count", "1")[4:]
    assert line == "2026-03-08 07:00:00Z  2026-03-08 03:00:00 -04:00  moved from 02:30"


def test_further_times_of_the_same_gap_are_counted() -> None:
    [line] = shown("15,30,45 2 * * *", *NEW_YORK, *SPRING, "--count", "1")[4:]
    assert line.endswith("moved from 02:15 and 2 more")


def test_a_jump_over_midnight_is_shown_with_its_date() -> None:
    [line] = shown("30 23 29 12 *", "--tz", "Pacific/Apia", "--after", "2011-12-30T09:00:00Z", "--count", "1")[4:]
    assert "moved" not in line
    [line] = shown("30 23 30 12 *", "--tz", "Pacific/Apia", "--after", "2011-12-30T09:00:00Z", "--count", "1")[4:]
    assert line == "2011-12-30 10:00:00Z  2011-12-31 00:00:00 +14:00  moved from 2011-12-30 23:30"


def test_a_dropped_time_stands_at_its_place_without_an_instant() -> None:
    rows = shown("30 2 * * *", *NEW_YORK, *SPRING, "--count", "1", "--dst-gap", "skip")[4:]
    assert rows == [
        "-                     2026-03-08 02:30:00         dropped",
        "2026-03-09 06:30:00Z  2026-03-09 02:30:00 -04:00",
    ]


def test_the_second_pass_of_a_fold_is_shown_as_repeated() -> None:
    rows = shown("30 1 * * *", *NEW_YORK, "--after", "2026-11-01T00:00:00Z", "--count", "2", "--dst-fold", "both")[4:]
    assert rows == [
        "2026-11-01 05:30:00Z  2026-11-01 01:30:00 -04:00",
        "2026-11-01 06:30:00Z  2026-11-01 01:30:00 -05:00  repeated",
    ]


def test_offsets_of_long_ago_have_seconds() -> None:
    [line] = shown("0 12 1 1 *", *NEW_YORK, "--after", "1800-01-01T00:00:00Z", "--count", "1")[4:]
    assert line == "1800-01-01 16:56:02Z  1800-01-01 12:00:00 -04:56:02"


def test_the_window_bounds_what_is_shown() -> None:
    window = ("--start", "2026-01-02T00:00:00Z", "--end", "2026-01-03T00:00:00Z")
    assert len(shown("0 0 * * *", "--after", "2020-01-01T00:00:00Z", *window)[4:]) == 1


def test_nothing_left_is_said_with_what_was_understood() -> None:
    assert shown("at(2020-01-01T09:00:00)", "--after", "2026-01-01T00:00:00Z") == [
        "understood as  once at 2020-01-01 09:00:00, UTC",
        "canonical      at(2020-01-01T09:00:00)",
        "",
        "no occurrence after 2026-01-01T00:00:00Z",
    ]


def test_times_that_are_always_in_a_gap_are_listed_as_dropped() -> None:
    lines = shown("30 2 * 3 SUN#2", *NEW_YORK, "--after", "2026-01-01T00:00:00Z", "--dst-gap", "skip")
    assert lines[3] == "no occurrence after 2026-01-01T00:00:00Z"
    assert lines[6].endswith("2026-03-08 02:30:00  dropped")


def test_a_rate_counts_from_after_unless_it_has_an_anchor_or_a_start() -> None:
    after = ("--after", "2026-01-01T00:00:30Z", "--count", "1")
    assert shown("rate(1 hour)", *after)[-1].startswith("2026-01-01 01:00:30Z")
    assert shown("rate(1 hour)", *after, "--anchor", "2026-01-01T00:00:00Z")[-1].startswith("2026-01-01 01:00:00Z")
    assert shown("rate(1 hour)", *after, "--start", "2025-12-31T23:59:00Z")[-1].startswith("2026-01-01 00:59:00Z")


def test_after_is_now_unless_given() -> None:
    before = int(time.time())
    [occurrence] = json.loads(next_("* * * * * *", "--count", "1", "--json").stdout)["occurrences"]
    assert before < datetime.fromisoformat(occurrence["at"]).timestamp() <= time.time() + 1


def test_instants_may_have_an_offset() -> None:
    assert shown("0 * * * *", "--after", "2026-01-01T01:30:00+01:00", "--count", "1")[-1].startswith("2026-01-01 01:00")


def test_json_holds_the_same_for_programs() -> None:
    document = json.loads(next_("30 2 * * *", *NEW_YORK, *SPRING, "--count", "1", "--json").stdout)
    assert document.pop("tzdata")
    assert document == {
        "understood_as": "at 02:30 every day, America/New_York",
        "canonical": "30 2 * * *",
        "occurrences": [
            {
                "at": "2026-03-08T07:00:00Z",
                "wall": "2026-03-08T03:00:00-04:00",
                "mark": "moved",
                "named": "2026-03-08T02:30:00",
                "count": 1,
            }
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "field", "said"),
    [
        (["0 0 30 2 *"], "schedule", "no year has such a day"),
        (["61 * * * *"], "schedule", "61"),
        (["*" * 257], "schedule", "at most 256"),
        ([""], "schedule", "is empty"),
        ([], "schedule", "is missing"),
        (["@daily", "--tz", "Berlin"], "--tz", "Europe/Berlin"),
        (["@daily", "--dst-gap", "jump"], "--dst-gap", "next"),
        (["@daily", "--dst-fold", "third"], "--dst-fold", "second"),
        (["@daily", "--count", "0"], "--count", "from 1 to 1000"),
        (["@daily", "--count", "1001"], "--count", "from 1 to 1000"),
        (["@daily", "--count", "many"], "--count", "from 1 to 1000"),
        (["@daily", "--after", "yesterday"], "--after", "2026-03-08T07:00:00Z"),
        (["@daily", "--after", "2026-01-01T00:00:00"], "--after", "Z at the end"),
        (["@daily", "--start", "2026-02-30T00:00:00Z"], "--start", "no such day"),
        (["@daily", "--start", "2026-01-01T00:00:00Z", "--end", "2026-01-01T00:00:00Z"], "--end", "later than start"),
        (["rate(1 day)", "--anchor", "2026-01-01T00:00:00.5Z"], "--anchor", "whole seconds"),
        (["@daily", "--jsonl"], "--jsonl", "leave the SCHEDULE out"),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(arguments: list[str], field: str, said: str) -> None:
    line = refused(*arguments)
    assert line.startswith(field)
    assert said in line
