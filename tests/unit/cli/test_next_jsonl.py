"""`duecourse next --jsonl`: one line in, one line out, in order, whatever the line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.cli.cases import MAX_LINE_BYTES, answer, answer_cases
from tests.support.waiting import PATIENCE_SECONDS

NEW_YEAR = "2026-01-01T00:00:00Z"


def asked(expr: Any, after: Any = NEW_YEAR, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(json.dumps({"expr": expr, "after": after, **more}).encode()))
    return found


def next_(expr: str, after: str = NEW_YEAR, **more: Any) -> list[str]:
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


def test_the_next_occurrences_are_instants_in_utc() -> None:
    assert next_("30 2 * * *", "2026-03-07T12:00:00Z", tz="America/New_York", count=2) == [
        "2026-03-08T07:00:00Z",
        "2026-03-09T06:30:00Z",
    ]


def test_the_zone_is_utc_and_the_count_ten_unless_given() -> None:
    assert next_("@daily") == [f"2026-01-{day:02}T00:00:00Z" for day in range(2, 12)]


def test_null_says_as_much_as_leaving_a_field_out() -> None:
    nothing = dict.fromkeys(("tz", "count", "anchor", "start", "end", "dst_gap", "dst_fold"))
    assert next_("@daily", **nothing) == next_("@daily")


def test_after_is_exclusive() -> None:
    assert next_("0 * * * *", "2026-01-01T01:00:00Z", count=1) == ["2026-01-01T02:00:00Z"]


def test_a_fraction_of_a_second_keeps_its_meaning() -> None:
    every_second = "* * * * * *"
    assert next_(every_second, "2026-01-01T00:00:00.999Z", count=1) == ["2026-01-01T00:00:01Z"]
    assert next_(every_second, start="2026-01-01T00:00:07.001Z", count=1) == ["2026-01-01T00:00:08Z"]
    assert next_(every_second, end="2026-01-01T00:00:02.001Z") == ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"]
    assert next_(every_second, end="2026-01-01T00:00:02.000Z") == ["2026-01-01T00:00:01Z"]


def test_a_rate_counts_from_anchor_else_start_else_after() -> None:
    after = "2026-01-01T00:00:30Z"
    assert next_("rate(1 minute)", after, count=1) == ["2026-01-01T00:01:30Z"]
    assert next_("rate(1 minute)", after, count=1, start="2026-01-01T00:00:07Z") == ["2026-01-01T00:01:07Z"]
    both = {"start": "2026-01-01T00:05:07Z", "anchor": NEW_YEAR}
    assert next_("rate(1 minute)", after, count=1, **both) == ["2026-01-01T00:06:00Z"]


def test_the_dst_rules_are_those_of_a_job() -> None:
    gap = {"tz": "America/New_York", "count": 1}
    assert next_("30 2 * * *", "2026-03-08T00:00:00Z", dst_gap="skip", **gap) == ["2026-03-09T06:30:00Z"]
    assert next_("30 1 * * *", "2026-11-01T00:00:00Z", dst_fold="second", **gap) == ["2026-11-01T06:30:00Z"]


def test_nothing_left_is_an_empty_list() -> None:
    assert next_("at(2020-01-01T00:00:00)") == []
    assert next_("@daily", end="2026-01-01T12:00:00Z") == []
    assert next_("30 2 * 3 SUN#2", tz="America/New_York", dst_gap="skip") == []


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
def test_a_line_that_is_no_case_is_answered_by_an_error(line: bytes, said: str) -> None:
    assert said in json.loads(answer(line))["error"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"expr": "0 0 30 2 *"}, "expr: no year has such a day"),
        ({"expr": "*" * 257}, "expr: is 257 characters long"),
        ({"expr": ["@daily"]}, "expr: must be text"),
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
def test_a_bad_field_is_named(more: dict[str, Any], said: str) -> None:
    assert said in error(**({"expr": "@daily"} | more))


def test_every_line_is_answered_in_order_and_a_bad_one_stops_nothing() -> None:
    good = b'{"expr":"@daily","after":"2026-01-01T00:00:00Z","count":1}'
    answers = [json.loads(line) for line in stream(good, b"", b"}", b"x" * (3 * MAX_LINE_BYTES), good)]
    assert [next(iter(line)) for line in answers] == ["next", "error", "error", "error", "next"]
    assert answers[3]["error"] == f"the line is longer than {MAX_LINE_BYTES} bytes"


def test_the_longest_line_is_still_read() -> None:
    case = b'{"expr":"@daily","after":"2026-01-01T00:00:00Z","count":1}'
    padded = case.ljust(MAX_LINE_BYTES - 1)
    assert stream(padded, case) == [b'{"next":["2026-01-02T00:00:00Z"]}'] * 2


def test_a_carriage_return_at_the_end_of_a_line_is_no_part_of_the_case() -> None:
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
def test_any_object_is_answered_by_one_line(case: dict[str, Any]) -> None:
    line = answer(json.dumps({"expr": "* * * * *", "after": NEW_YEAR} | case).encode())
    [(kind, found)] = json.loads(line).items()
    assert line.count(b"\n") == 1
    assert kind == "next" or (kind == "error" and not found.startswith("internal"))


@given(st.binary(max_size=80))
def test_any_bytes_are_answered_by_one_line(line: bytes) -> None:
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


def test_a_caller_may_wait_for_each_answer_before_it_asks_on() -> None:
    with command() as (ask, answers, process):
        for day in range(1, 4):
            ask.write(b'{"expr":"@daily","after":"2026-01-0%dT00:00:00Z","count":1}\n' % day)
            ask.flush()
            assert json.loads(answers.readline()) == {"next": [f"2026-01-0{day + 1}T00:00:00Z"]}
        ask.close()
        assert process.wait(PATIENCE_SECONDS) == 0


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
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


def test_next_imports_neither_aws_nor_the_drawing_of_tables() -> None:
    program = (
        "import sys\n"
        "from duecourse.cli.main import main\n"
        "main(['next', '--jsonl'], standalone_mode=False)\n"
        "print(sorted({'boto3', 'httpx', 'pydantic', 'rich', 'zoneinfo'} & set(sys.modules)), file=sys.stderr)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DUECOURSE_"))}
    done = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == (b"", b"[]\n")
