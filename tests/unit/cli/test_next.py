"""duecourse next, by its words and by its lines of JSON.

- `duecourse next`: what a person reads and what a program reads, and how wrong input is refused.
- `duecourse next --jsonl`: one line in, one line out, in order, whatever the line.
- Times as people say and read them.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from duecourse.cli.cases import MAX_LINE_BYTES, answer, answer_cases
from duecourse.cli.main import main
from duecourse.cli.when import instant_of, last_night, local_zone, moment, relative, zone_of
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.cli.served import duecourse, served

ROOT = Path(__file__).resolve().parents[3]
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


def test_next_shows_the_union_of_several_schedules() -> None:
    assert shown("0 9 * * 1-5", "0 11 * * 6", "--after", "2026-11-27T10:00:00Z", "--count", "2") == [
        "understood as  at 09:00 on Monday to Friday, UTC; at 11:00 on Saturday, UTC",
        "canonical      0 9 * * 1-5; 0 11 * * 6",
        "",
        "UTC",
        "2026-11-28 11:00:00Z",
        "2026-11-30 09:00:00Z",
    ]
    assert refused("0 9 * * 1", "0 25 * * 1").startswith('schedule[1]: hour "25": 25 is out of range')


@pytest.mark.parametrize("words", [("0", "9", "*", "*", "*"), ("0", "9", *map(str, range(20)))], ids=["equal", "many"])
def test_next_asks_for_quotes_if_the_shell_has_split_a_schedule(words: tuple[str, ...]) -> None:
    assert refused(*words).endswith('; put each schedule in quotes: duecourse next "0 9 * * 1"')


def test_next_accepts_the_name_of_the_jobs_field_for_the_zone() -> None:
    assert shown("@daily", "--timezone", "Asia/Tokyo", "--count", "1") == shown(
        "@daily", "--tz", "Asia/Tokyo", "--count", "1"
    )


def test_next_shows_the_interpretation_and_then_the_occurrences() -> None:
    assert shown("0 9 * * mon-mon", *NEW_YORK, "--after", "2026-01-01T00:00:00Z", "--count", "2") == [
        "understood as  at 09:00 on Monday, America/New_York",
        "canonical      0 9 * * 1",
        "",
        "UTC                   America/New_York",
        "2026-01-05 14:00:00Z  2026-01-05 09:00:00 -05:00",
        "2026-01-12 14:00:00Z  2026-01-12 09:00:00 -05:00",
    ]


def test_next_time_in_a_clock_gap_is_shown_as_moved() -> None:
    [line] = shown("30 2 * * *", *NEW_YORK, *SPRING, "--count", "1")[4:]
    assert line == "2026-03-08 07:00:00Z  2026-03-08 03:00:00 -04:00  moved from 02:30"


def test_next_further_times_in_the_same_gap_are_counted() -> None:
    [line] = shown("15,30,45 2 * * *", *NEW_YORK, *SPRING, "--count", "1")[4:]
    assert line.endswith("moved from 02:15 and 2 more")


def test_next_clock_gap_over_midnight_is_shown_with_its_date() -> None:
    [line] = shown("30 23 29 12 *", "--tz", "Pacific/Apia", "--after", "2011-12-30T09:00:00Z", "--count", "1")[4:]
    assert "moved" not in line
    [line] = shown("30 23 30 12 *", "--tz", "Pacific/Apia", "--after", "2011-12-30T09:00:00Z", "--count", "1")[4:]
    assert line == "2011-12-30 10:00:00Z  2011-12-31 00:00:00 +14:00  moved from 2011-12-30 23:30"


def test_next_dropped_time_is_shown_at_its_place_without_an_instant() -> None:
    rows = shown("30 2 * * *", *NEW_YORK, *SPRING, "--count", "1", "--dst-gap", "skip")[4:]
    assert rows == [
        "-                     2026-03-08 02:30:00         dropped",
        "2026-03-09 06:30:00Z  2026-03-09 02:30:00 -04:00",
    ]


def test_next_second_pass_of_a_fold_is_shown_as_repeated() -> None:
    rows = shown("30 1 * * *", *NEW_YORK, "--after", "2026-11-01T00:00:00Z", "--count", "2", "--dst-fold", "both")[4:]
    assert rows == [
        "2026-11-01 05:30:00Z  2026-11-01 01:30:00 -04:00  first of two",
        "2026-11-01 06:30:00Z  2026-11-01 01:30:00 -05:00  repeated",
    ]


@pytest.mark.parametrize(("fold", "row"), [("first", "-04:00  first of two"), ("second", "-05:00  second of two")])
def test_next_occurrence_at_an_ambiguous_time_shows_which_one_it_is(fold: str, row: str) -> None:
    rows = shown("30 1 * * *", *NEW_YORK, "--after", "2026-11-01T00:00:00Z", "--count", "2", "--dst-fold", fold)[4:]
    assert [line[42:] for line in rows] == [row, "-05:00"]


def test_next_historic_offsets_include_seconds() -> None:
    [line] = shown("0 12 1 1 *", *NEW_YORK, "--after", "1800-01-01T00:00:00Z", "--count", "1")[4:]
    assert line == "1800-01-01 16:56:02Z  1800-01-01 12:00:00 -04:56:02"


def test_next_excluded_days_are_shown_once_with_the_number_of_their_occurrences() -> None:
    days = ("--exclude", "2026-12-24/2027-01-01", "--exclude", "2027-01-03T09:00:00Z")
    lines = shown("0 */3 * * *", *days, "--after", "2026-12-23T18:00:00Z", "--count", "2")[4:]
    assert lines == [
        "2026-12-23 21:00:00Z",
        "2026-12-24 00:00:00Z  excluded and 71 more",
        "2027-01-02 00:00:00Z",
    ]


def test_next_excludes_the_days_of_a_calendar_of_the_api() -> None:
    days = {"id": "de", "exclude": ["2026-12-25"], "version": 1, "description": "", "jobs": []}
    calendar = {**days, "updated_at": "2026-11-21T09:30:00.000Z", "updated_by": "ann"}
    with served(lambda path, _query: calendar if path == "/v1/calendars/de" else {}) as api:
        result = duecourse(api, "next", "@daily", "--calendar", "de", "--after", "2026-12-24T12:00:00Z", "--count", "1")
    assert result.stdout.splitlines()[-2:] == [
        "2026-12-25 00:00:00Z  excluded",
        "2026-12-26 00:00:00Z",
    ]


def test_next_excludes_the_days_of_several_calendars() -> None:
    def calendar(path: str, _query: str) -> dict[str, object]:
        name, day = path.rpartition("/")[2], {"de": "2026-12-25", "erp": "2026-12-26"}
        shown = {"id": name, "exclude": [day[name]], "version": 1, "description": "", "jobs": []}
        return {**shown, "updated_at": "2026-11-21T09:30:00.000Z", "updated_by": "ann"}

    both = ("--calendar", "de", "--calendar", "erp")
    with served(calendar) as api:
        result = duecourse(api, "next", "@daily", *both, "--after", "2026-12-24T12:00:00Z", "--count", "1")
    assert result.stdout.splitlines()[-1].startswith("2026-12-27 00:00:00Z")


def test_next_occurrence_that_moved_off_an_excluded_day_says_from_where() -> None:
    days = ("--exclude", "* * * * SAT,SUN", "--on-excluded", "previous", "--after", "2026-01-30T00:00:00Z")
    lines = shown("0 18 L * *", *days, "--count", "2")
    assert lines[0] == "understood as  at 18:00 on the last day of the month, UTC, or on the day before excluded days"
    assert lines[4:] == [
        "2026-01-30 18:00:00Z  moved from 2026-01-31 18:00",
        "2026-02-27 18:00:00Z  moved from 2026-02-28 18:00",
    ]
    assert refused("rate(1 day)", *days).startswith("--on-excluded: previous and next cannot be used with intervals")


def test_next_excluded_time_in_a_clock_gap_is_shown_only_as_excluded() -> None:
    lines = shown("30 2 * * *", *NEW_YORK, *SPRING, "--exclude", "2026-03-08", "--count", "1")[4:]
    assert lines[0].endswith("03:00:00 -04:00  excluded")
    assert len(lines) == 2


def test_next_schedule_of_only_excluded_days_has_no_occurrence() -> None:
    lines = shown("2026-12-24T18:00:00Z", "--exclude", "2026-12-24", "--after", "2026-01-01T00:00:00Z")
    assert [line for line in lines if line][2:] == [
        "no occurrence after 2026-01-01T00:00:00Z",
        "UTC",
        "2026-12-24 18:00:00Z  excluded",
    ]


def test_next_shows_only_occurrences_within_the_window() -> None:
    window = ("--start", "2026-01-02T00:00:00Z", "--end", "2026-01-03T00:00:00Z")
    assert len(shown("0 0 * * *", "--after", "2020-01-01T00:00:00Z", *window)[4:]) == 1


def test_next_reports_no_remaining_occurrence_with_the_interpretation() -> None:
    assert shown("at(2020-01-01T09:00:00)", "--after", "2026-01-01T00:00:00Z") == [
        "understood as  once at 2020-01-01 09:00:00, UTC",
        "canonical      at(2020-01-01T09:00:00)",
        "",
        "no occurrence after 2026-01-01T00:00:00Z",
    ]


def test_next_times_always_in_a_gap_are_listed_as_dropped() -> None:
    lines = shown("30 2 * 3 SUN#2", *NEW_YORK, "--after", "2026-01-01T00:00:00Z", "--dst-gap", "skip")
    assert lines[3] == "no occurrence after 2026-01-01T00:00:00Z"
    assert lines[6].endswith("2026-03-08 02:30:00  dropped")


def test_next_rate_counts_from_after_unless_it_has_an_anchor_or_a_start() -> None:
    after = ("--after", "2026-01-01T00:00:30Z", "--count", "1")
    assert shown("rate(1 hour)", *after)[-1].startswith("2026-01-01 01:00:30Z")
    assert shown("rate(1 hour)", *after, "--anchor", "2026-01-01T00:00:00Z")[-1].startswith("2026-01-01 01:00:00Z")
    assert shown("rate(1 hour)", *after, "--start", "2025-12-31T23:59:00Z")[-1].startswith("2026-01-01 00:59:00Z")


def test_next_after_defaults_to_now() -> None:
    before = int(time.time())
    [occurrence] = json.loads(next_("* * * * * *", "--count", "1", "--json").stdout)["occurrences"]
    assert before < datetime.fromisoformat(occurrence["at"]).timestamp() <= time.time() + 1


def test_next_instants_may_have_an_offset() -> None:
    assert shown("0 * * * *", "--after", "2026-01-01T01:30:00+01:00", "--count", "1")[-1].startswith("2026-01-01 01:00")


def test_next_json_output_contains_the_same_data() -> None:
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
        (["0 0 30 2 *"], "schedule", "no year contains this day"),
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
        (["@daily", "--start", "2026-02-30T00:00:00Z"], "--start", "this day does not exist"),
        (["@daily", "--start", "2026-01-01T00:00:00Z", "--end", "2026-01-01T00:00:00Z"], "--end", "later than start"),
        (["rate(1 day)", "--anchor", "2026-01-01T00:00:00.5Z"], "--anchor", "whole seconds"),
        (["@daily", "--exclude", "2026-13-01"], "--exclude", "2026-13-01"),
        (["@daily", "--exclude", "Christmas"], "--exclude", "Christmas"),
        (["@daily", "--jsonl"], "--jsonl", "remove SCHEDULE"),
    ],
)
def test_next_reports_wrong_input_on_one_line_that_names_the_field(arguments: list[str], field: str, said: str) -> None:
    line = refused(*arguments)
    assert line.startswith(field)
    assert said in line


NEW_YEAR = "2026-01-01T00:00:00Z"


def asked(expr: Any, after: Any = NEW_YEAR, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(json.dumps({"expr": expr, "after": after, **more}).encode()))
    return found


def jsonl_next_(expr: str, after: str = NEW_YEAR, **more: Any) -> list[str]:
    found: list[str] = asked(expr, after, **more)["next"]
    return found


def error(expr: Any, after: Any = NEW_YEAR, **more: Any) -> str:
    document = asked(expr, after, **more)
    assert list(document) == ["error"]
    found: str = document["error"]
    return found


def stream(*lines: bytes) -> list[bytes]:
    answers = BytesIO()
    answer_cases(BytesIO(b"\n".join(lines)), answers)
    return answers.getvalue().splitlines()


def test_next_batch_returns_instants_in_utc() -> None:
    assert jsonl_next_("30 2 * * *", "2026-03-07T12:00:00Z", tz="America/New_York", count=2) == [
        "2026-03-08T07:00:00Z",
        "2026-03-09T06:30:00Z",
    ]


def test_next_batch_defaults_to_utc_and_ten_occurrences() -> None:
    assert jsonl_next_("@daily") == [f"2026-01-{day:02}T00:00:00Z" for day in range(2, 12)]


def test_next_batch_treats_null_as_an_omitted_field() -> None:
    nothing = dict.fromkeys(("tz", "count", "anchor", "start", "end", "dst_gap", "dst_fold"))
    assert jsonl_next_("@daily", **nothing) == jsonl_next_("@daily")


def test_next_batch_after_is_exclusive() -> None:
    assert jsonl_next_("0 * * * *", "2026-01-01T01:00:00Z", count=1) == ["2026-01-01T02:00:00Z"]


def test_next_batch_preserves_fractions_of_a_second() -> None:
    every_second = "* * * * * *"
    assert jsonl_next_(every_second, "2026-01-01T00:00:00.999Z", count=1) == ["2026-01-01T00:00:01Z"]
    assert jsonl_next_(every_second, start="2026-01-01T00:00:07.001Z", count=1) == ["2026-01-01T00:00:08Z"]
    assert jsonl_next_(every_second, end="2026-01-01T00:00:02.001Z") == ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"]
    assert jsonl_next_(every_second, end="2026-01-01T00:00:02.000Z") == ["2026-01-01T00:00:01Z"]


def test_next_batch_rate_counts_from_anchor_then_start_then_after() -> None:
    after = "2026-01-01T00:00:30Z"
    assert jsonl_next_("rate(1 minute)", after, count=1) == ["2026-01-01T00:01:30Z"]
    assert jsonl_next_("rate(1 minute)", after, count=1, start="2026-01-01T00:00:07Z") == ["2026-01-01T00:01:07Z"]
    both = {"start": "2026-01-01T00:05:07Z", "anchor": NEW_YEAR}
    assert jsonl_next_("rate(1 minute)", after, count=1, **both) == ["2026-01-01T00:06:00Z"]


def test_next_batch_dst_rules_are_those_of_a_job() -> None:
    gap = {"tz": "America/New_York", "count": 1}
    assert jsonl_next_("30 2 * * *", "2026-03-08T00:00:00Z", dst_gap="skip", **gap) == ["2026-03-09T06:30:00Z"]
    assert jsonl_next_("30 1 * * *", "2026-11-01T00:00:00Z", dst_fold="second", **gap) == ["2026-11-01T06:30:00Z"]


def test_next_batch_returns_an_empty_list_if_no_occurrences_remain() -> None:
    assert jsonl_next_("at(2020-01-01T00:00:00)") == []
    assert jsonl_next_("@daily", end="2026-01-01T12:00:00Z") == []
    assert jsonl_next_("30 2 * 3 SUN#2", tz="America/New_York", dst_gap="skip") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "the line is blank"),
        (b" \t", "the line is blank"),
        (b"x", "not JSON"),
        (b"{", "not JSON"),
        (b'"\xff"', "not JSON"),
        (b'{"expr":NaN}', "not JSON"),
        (b"[" * 5_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "expr: is missing"),
        (b'{"expr":"@daily"}', "after: is missing"),
        (b'{"after":"2026-01-01T00:00:00Z"}', "expr: is missing"),
    ],
)
def test_next_batch_answers_an_invalid_case_with_an_error(line: bytes, said: str) -> None:
    assert said in json.loads(answer(line))["error"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"expr": "0 0 30 2 *"}, "expr: no year contains this day"),
        ({"expr": "*" * 257}, "expr: is 257 characters long"),
        ({"expr": {}}, "expr: must be text"),
        ({"expr": ["@daily", 5]}, "expr[1]: must be text"),
        ({"expr": ["@daily", "0 0 30 2 *"]}, "expr[1]: no year contains this day"),
        ({"tz": "Mars/Phobos"}, 'tz: "Mars/Phobos" is not'),
        ({"tz": 1}, "tz: must be text"),
        ({"tz": ""}, "tz: "),
        ({"after": 1_767_225_600}, "after: must be an instant"),
        ({"after": "2026-01-01"}, "after: "),
        ({"after": "2026-01-01T00:00:00"}, "after: "),
        ({"after": "2026-01-01T25:00:00Z"}, "after: "),
        ({"after": "0000-01-01T00:00:00Z"}, "after: "),
        ({"after": "9999-12-31T23:59:59-12:00"}, "after: "),
        ({"after": "2" * 10_000}, "after: "),
        ({"anchor": "0001-01-01T00:00:00+14:00"}, "anchor: "),
        ({"count": 0}, "count: must be a whole number from 1 to 1000"),
        ({"count": 1_001}, "count: must be"),
        ({"count": 10**30}, "count: must be"),
        ({"count": 1.5}, "count: must be"),
        ({"count": "10"}, "count: must be"),
        ({"count": True}, "count: must be"),
        ({"start": 5}, "start: must be an instant"),
        ({"start": NEW_YEAR, "end": NEW_YEAR}, "end: must be later than start"),
        ({"dst_gap": "jump"}, "dst_gap: "),
        ({"dst_gap": {}}, "dst_gap: must be next or skip"),
        ({"dst_fold": False}, "dst_fold: must be first, second or both"),
        ({"expression": "@daily"}, '"expression": is not known'),
        ({"timezone": "UTC"}, '"timezone": is not known'),
        ({"": 1}, '"": is not known'),
    ],
)
def test_next_batch_names_a_bad_field(more: dict[str, Any], said: str) -> None:
    assert said in error(**({"expr": "@daily"} | more))


def test_next_batch_answers_every_case_in_order_and_continues_after_a_bad_one() -> None:
    good = b'{"expr":"@daily","after":"2026-01-01T00:00:00Z","count":1}'
    answers = [json.loads(line) for line in stream(good, b"", b"}", b"x" * (3 * MAX_LINE_BYTES), good)]
    assert [next(iter(line)) for line in answers] == ["next", "error", "error", "error", "next"]
    assert answers[3]["error"] == f"the line is longer than {MAX_LINE_BYTES} bytes"


def test_next_batch_reads_the_longest_case() -> None:
    case = b'{"expr":"@daily","after":"2026-01-01T00:00:00Z","count":1}'
    padded = case.ljust(MAX_LINE_BYTES - 1)
    assert stream(padded, case) == [b'{"next":["2026-01-02T00:00:00Z"]}'] * 2


def test_next_batch_ignores_a_trailing_carriage_return() -> None:
    assert stream(b'{"expr":"@daily","after":"2026-01-01T00:00:00Z","count":1}\r', b"") == [
        b'{"next":["2026-01-02T00:00:00Z"]}'
    ]


fields = st.sampled_from(["expr", "tz", "after", "count", "anchor", "start", "end", "dst_gap", "dst_fold", "x"])
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(["* * * * *", "rate(1 minute)", "UTC", NEW_YEAR, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]),
    st.sampled_from(["both", "skip", "@daily", "at(9999-12-31T23:59:59)", "R/0001-01-01T00:00:00Z/P1D"]),
)


@given(st.dictionaries(fields, values, max_size=6))
def test_next_batch_answers_any_object_on_one_line(case: dict[str, Any]) -> None:
    line = answer(json.dumps({"expr": "* * * * *", "after": NEW_YEAR} | case).encode())
    [(kind, found)] = json.loads(line).items()
    assert line.count(b"\n") == 1
    assert kind == "next" or (kind == "error" and not found.startswith("internal"))


@given(st.binary(max_size=80))
def test_next_batch_answers_any_bytes_on_one_line(line: bytes) -> None:
    assert answer(line).startswith(b'{"error":"')


@contextmanager
def command() -> Iterator[tuple[IO[bytes], IO[bytes], subprocess.Popen[bytes]]]:
    program = [sys.executable, "-c", "from duecourse.cli.main import main; main(['next', '--jsonl'])"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdin, process.stdout, process
        finally:
            process.kill()


def test_next_batch_answers_each_case_before_the_next_is_sent() -> None:
    with command() as (ask, answers, process):
        for day in range(1, 4):
            ask.write(b'{"expr":"@daily","after":"2026-01-0%dT00:00:00Z","count":1}\n' % day)
            ask.flush()
            assert json.loads(answers.readline()) == {"next": [f"2026-01-0{day + 1}T00:00:00Z"]}
        ask.close()
        assert process.wait(PATIENCE_SECONDS) == 0


def test_next_batch_ends_quietly_when_its_reader_closes() -> None:
    with command() as (ask, answers, process):
        ask.write(b'{"expr":"@daily","after":"2026-01-01T00:00:00Z"}\n')
        ask.flush()
        answers.readline()
        answers.close()
        ask.write(b"{}\n" * 2)
        ask.close()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_next_imports_neither_aws_nor_table_output() -> None:
    program = (
        "import sys\n"
        "from duecourse.cli.main import main\n"
        "main(['next', '--jsonl'], standalone_mode=False)\n"
        "print(sorted({'boto3', 'httpx', 'pydantic', 'rich', 'zoneinfo'} & set(sys.modules)), file=sys.stderr)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DUECOURSE_"))}
    done = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == (b"", b"[]\n")


BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)  # 10:30 in Berlin


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("now", NOW),
        ("today", datetime(2026, 11, 21, 23, tzinfo=UTC)),
        ("yesterday", datetime(2026, 11, 20, 23, tzinfo=UTC)),
        ("yesterday 9:00", datetime(2026, 11, 21, 8, tzinfo=UTC)),
        ("today 02:30:10", datetime(2026, 11, 22, 1, 30, 10, tzinfo=UTC)),
        ("3h", NOW - timedelta(hours=3)),
        ("15m", NOW - timedelta(minutes=15)),
        ("2d", NOW - timedelta(days=2)),
        ("02:30", datetime(2026, 11, 22, 1, 30, tzinfo=UTC)),
        ("2:30", datetime(2026, 11, 22, 1, 30, tzinfo=UTC)),
        ("22:00", datetime(2026, 11, 21, 21, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        ("2026-07-01 02:30", datetime(2026, 7, 1, 0, 30, tzinfo=UTC)),
        ("2026-07-01T02:30:00Z", datetime(2026, 7, 1, 2, 30, tzinfo=UTC)),
    ],
)
def test_next_time_arguments_are_on_the_clock_of_the_zone_and_in_the_past(text: str, meant: datetime) -> None:
    assert instant_of(text, BERLIN, NOW) == meant


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "3w", "99999999h"])
def test_next_invalid_time_argument_is_reported_with_the_valid_forms(text: str) -> None:
    with pytest.raises(ValueError, match="write today, yesterday 09:00"):
        instant_of(text, BERLIN, NOW)


NIGHTS = json.loads((ROOT / "tests" / "fixtures" / "nights.json").read_text())
"""The console passes the same cases (night.test.ts)."""


@pytest.mark.parametrize("case", NIGHTS, ids=lambda case: case["now"])
def test_next_last_night_is_the_one_that_ended_last_or_after_midnight_the_one_in_progress(case: dict[str, str]) -> None:
    begin, end = last_night(ZoneInfo(case["zone"]), datetime.fromisoformat(case["now"]))
    assert [begin, end] == [datetime.fromisoformat(case["from"]), datetime.fromisoformat(case["to"])]


def test_next_local_time_zone_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert local_zone() == BERLIN
    monkeypatch.setenv("TZ", ":Europe/Berlin")
    assert local_zone() == BERLIN
    monkeypatch.setenv("TZ", "CET-1CEST")
    assert isinstance(local_zone(), timezone), "the present offset of a zone that has no name"


def test_next_instant_is_read_in_utc_or_on_the_clock_of_a_zone() -> None:
    assert moment(NOW) == "2026-11-22 09:30:00Z"
    assert moment(NOW, BERLIN) == "2026-11-22 10:30:00+01:00"
    assert moment(None) == "-"


@pytest.mark.parametrize(
    ("away", "said"),
    [
        (timedelta(seconds=-40), "40 s ago"),
        (timedelta(seconds=-119), "119 s ago"),
        (timedelta(minutes=12), "in 12 min"),
        (timedelta(minutes=119), "in 119 min"),
        (timedelta(hours=-3), "3 h ago"),
        (timedelta(hours=2, minutes=29, seconds=50), "in 2 h 29 min"),
        (timedelta(days=2, hours=5), "in 2 d 5 h"),
        (timedelta(days=5), "in 5 d"),
    ],
)
def test_next_distance_to_an_instant_is_formatted(away: timedelta, said: str) -> None:
    assert relative(NOW + away, NOW) == said


def test_next_unknown_time_zone_is_treated_as_utc() -> None:
    assert zone_of("Mars/Olympus") is UTC
    assert zone_of(None) == ZoneInfo("UTC")
