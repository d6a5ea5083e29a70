"""Previews of schedules, and windows of the history.

- POST /v1/schedules/preview: what a schedule was understood as and what comes next, without a job.
- Finding the newest occurrences of a schedule that only knows "next".
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.answers import job_document
from duecourse.usecases.jobs.view import JobView
from duecourse.usecases.runs.lists import newest, without
from duecourse_schedules import TZDATA_VERSION, ScheduleSpec
from tests.support.api import Answered, untouchable_client
from tests.support.jobs import job

PATH = "/v1/schedules/preview"


def ask(**body: Any) -> Answered:
    return untouchable_client().post(body, PATH)


def preview(**body: Any) -> Any:
    answer = ask(**body)
    assert answer.status == 200, answer.text
    return answer.json


def occurrences(**body: Any) -> list[tuple[str | None, str, str | None]]:
    return [(each["at"], each["wall"], each["mark"]) for each in preview(**body)["occurrences"]]


def errors(**body: Any) -> dict[str, str]:
    answer = ask(**body)
    assert (answer.status, answer.json["type"]) == (422, "/problems/invalid-preview")
    return answer.errors


def test_schedule_preview_shows_the_interpretation_and_the_next_occurrences() -> None:
    body = {"schedule": "0 9 * * mon-mon", "timezone": "America/New_York", "after": "2026-01-01T00:00:00Z", "count": 1}
    assert preview(**body) == {
        "understood_as": "at 09:00 on Monday, America/New_York",
        "canonical": "0 9 * * 1",
        "occurrences": [
            {"at": "2026-01-05T14:00:00Z", "wall": "2026-01-05T09:00:00-05:00", "mark": None, "named": None, "count": 1}
        ],
        "tzdata": TZDATA_VERSION,
    }


def test_schedule_preview_preview_shows_excluded_days_and_moves() -> None:
    days: dict[str, Any] = {"exclude": ["* * * * SAT,SUN", "2026-12-24/2027-01-01"], "after": "2026-12-01T00:00:00Z"}
    skipped, *_ = preview(schedule="0 18 L * *", **days, count=1)["occurrences"]
    assert (skipped["at"], skipped["mark"]) == ("2026-12-31T18:00:00Z", "excluded")
    [moved] = preview(schedule="0 18 L * *", **days, on_excluded="previous", count=1)["occurrences"]
    assert (moved["at"], moved["mark"], moved["named"]) == ("2026-12-23T18:00:00Z", "shifted", "2026-12-31T18:00:00")
    assert errors(schedule="0 18 * * *", exclude=["2026-12-24", "* * *"]).keys() == {"/exclude/1"}
    assert errors(schedule="rate(1 day)", on_excluded="next").keys() == {"/on_excluded"}


def test_schedule_preview_shows_the_union_of_several_schedules() -> None:
    body: dict[str, Any] = {"schedule": ["0 9 * * MON-FRI", "0 11 * * 6"], "timezone": "Europe/Berlin", "count": 3}
    found = preview(**body)
    assert found["understood_as"] == "at 09:00 on Monday to Friday, Europe/Berlin; at 11:00 on Saturday, Europe/Berlin"
    assert found["canonical"] == ["0 9 * * 1-5", "0 11 * * 6"]
    assert [each["at"] for each in found["occurrences"]] == [
        "2026-11-23T08:00:00Z",
        "2026-11-24T08:00:00Z",
        "2026-11-25T08:00:00Z",
    ]
    assert preview(schedule=["0 9 * * 1"])["canonical"] == "0 9 * * 1"
    assert errors(schedule=["0 9 * * 1", "0 25 * * 1"]).keys() == {"/schedule/1"}
    assert errors(schedule=["0 9 * * 1", "0 9 * * 1"]).keys() == {"/schedule/1"}


def test_schedule_preview_defaults_to_ten_occurrences_from_now_in_utc() -> None:
    found = occurrences(schedule="0 0 * * *")
    assert [at for at, _, _ in found[:2]] == ["2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z"]
    assert len(found) == 10


def test_schedule_preview_rate_counts_from_the_time_of_the_request_by_default() -> None:
    assert occurrences(schedule="rate(1 hour)", count=1)[0][0] == "2026-11-21T13:00:00Z"
    question: dict[str, Any] = {"schedule": "rate(1 hour)", "after": "2026-01-01T00:00:30Z", "count": 1}
    assert occurrences(**question)[0][0] == "2026-01-01T01:00:30Z"
    assert occurrences(**question, anchor="2026-01-01T00:00:00Z")[0][0] == "2026-01-01T01:00:00Z"


def test_schedule_preview_marks_times_moved_by_a_gap_with_the_intended_time() -> None:
    body = {"schedule": "30 2 * * *", "timezone": "America/New_York", "after": "2026-03-07T12:00:00Z", "count": 1}
    assert preview(**body)["occurrences"] == [
        {
            "at": "2026-03-08T07:00:00Z",
            "wall": "2026-03-08T03:00:00-04:00",
            "mark": "moved",
            "named": "2026-03-08T02:30:00",
            "count": 1,
        }
    ]
    assert occurrences(**body, dst_gap="skip") == [
        (None, "2026-03-08T02:30:00", "dropped"),
        ("2026-03-09T06:30:00Z", "2026-03-09T02:30:00-04:00", None),
    ]


def test_schedule_preview_marks_times_repeated_by_a_fold() -> None:
    body = {"schedule": "30 1 * * *", "timezone": "America/New_York", "after": "2026-11-01T00:00:00Z", "count": 2}
    assert occurrences(**body, dst_fold="both") == [
        ("2026-11-01T05:30:00Z", "2026-11-01T01:30:00-04:00", None),
        ("2026-11-01T06:30:00Z", "2026-11-01T01:30:00-05:00", "repeated"),
    ]


def test_schedule_preview_lists_only_occurrences_within_the_window() -> None:
    window = {"start": "2027-01-01T00:00:00Z", "end": "2027-01-02T00:00:01Z"}
    assert [at for at, _, _ in occurrences(schedule="@daily", **window)] == [
        "2027-01-01T00:00:00Z",
        "2027-01-02T00:00:00Z",
    ]


def test_schedule_preview_is_an_empty_list_if_no_occurrences_remain() -> None:
    assert occurrences(schedule="at(2020-01-01T00:00:00)") == []


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"schedule": "0 0 30 2 *"}, "/schedule", "no year contains this day"),
        ({"schedule": "61 * * * *"}, "/schedule", ""),
        ({"schedule": "*" * 257}, "/schedule", "at most 256"),
        ({"schedule": None}, "/schedule", "must be text"),
        ({"schedule": "\ud800"}, "/schedule", ""),
        ({"timezone": "Berlin"}, "/timezone", "Europe/Berlin"),
        ({"timezone": "\ud800"}, "/timezone", ""),
        ({"timezone": 1}, "/timezone", "must be text"),
        ({"dst_gap": "jump"}, "/dst_gap", "must be one of next, skip"),
        ({"dst_fold": None}, "/dst_fold", "must be one of first, second, both"),
        ({"count": 0}, "/count", "must be a number from 1 to 100"),
        ({"count": 101}, "/count", "must be a number from 1 to 100"),
        ({"count": "5"}, "/count", "whole number"),
        ({"after": "yesterday"}, "/after", "such as 2026-03-08T07:00:00Z"),
        ({"after": 1_767_225_600}, "/after", "such as 2026-03-08T07:00:00Z"),
        ({"after": "2026-01-01T00:00:00"}, "/after", "has no offset"),
        ({"start": "2026-02-30T00:00:00Z"}, "/start", "this day does not exist"),
        ({"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"}, "/end", "later than start"),
        ({"anchor": "2026-01-01T00:00:00.5Z"}, "/anchor", "whole seconds"),
        ({"dst_gaps": "skip"}, "/dst_gaps", "did you mean dst_gap?"),
        ({"payload": {}}, "/payload", "the fields are after, anchor, calendar, count"),
    ],
)
def test_schedule_preview_names_the_bad_field_and_the_remedy(change: dict[str, Any], place: str, said: str) -> None:
    found = errors(**({"schedule": "@daily"} | change))
    assert list(found) == [place]
    assert said in found[place]


def test_schedule_preview_reports_all_bad_fields_at_once() -> None:
    assert set(errors(timezone=5, count=0, after="x")) == {"/schedule", "/timezone", "/count", "/after"}


@pytest.mark.parametrize("value", [None, [], "x", 5])
def test_schedule_preview_rejects_a_body_that_is_not_an_object(value: Any) -> None:
    answer = untouchable_client().post(value, PATH)
    assert (answer.status, list(answer.errors)) == (422, [""])


def test_schedule_preview_logs_the_number_of_listed_occurrences() -> None:
    api = untouchable_client()
    api.post({"schedule": "@daily", "count": 3}, PATH)
    [line] = api.log_lines
    assert (line["action"], line["status"], line["items"]) == ("schedule_previewed", 200, 3)


def test_schedule_preview_interpretation_is_shown_with_the_job() -> None:
    document = job_document(JobView(job(schedule=ScheduleSpec("0 9 * * MON")), None))
    assert (document["understood_as"], document["schedule_canonical"]) == ("at 09:00 on Monday, UTC", "0 9 * * 1")


def test_schedule_preview_job_with_an_unknown_time_zone_is_still_shown() -> None:
    gone = JobView(job(schedule=ScheduleSpec("@daily", "Mars/Phobos")), None, 'timezone: "Mars/Phobos" is not known')
    document = job_document(gone)
    assert (document["understood_as"], document["schedule_canonical"]) == (None, None)
    assert document["error"]


names = st.sampled_from(["timezone", "after", "count", "start", "end", "dst_gap", "dst_fold", "anchor", "x"])
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(["UTC", "skip", "both", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00Z"]),
)


@given(st.sampled_from(["@daily", "rate(1 day)", "at(9999-12-31T23:59:59)", "x"]), st.dictionaries(names, values))
def test_schedule_preview_returns_occurrences_or_a_list_of_faults_for_any_body(
    schedule: str, more: dict[str, Any]
) -> None:
    assert ask(schedule=schedule, **more).status in (200, 422)


@dataclass
class Listed:
    """A schedule of given instants that counts how often it was asked."""

    instants: list[int]
    asked: int = field(default=0)

    def next(self, after: int) -> int | None:
        self.asked += 1
        return next((at for at in self.instants if at > after), None)


@dataclass
class EverySecond:
    """The densest schedule there is."""

    asked: int = field(default=0)

    def next(self, after: int) -> int | None:
        self.asked += 1
        return after + 1


@pytest.mark.parametrize(
    ("covered", "left"),
    [
        ([], [(0, 100)]),
        ([(9, 20)], [(0, 9), (20, 100)]),
        ([(0, 5), (95, 100)], [(5, 95)]),
        ([(-50, 200)], []),
        ([(30, 40), (10, 20)], [(0, 10), (20, 30), (40, 100)]),
        ([(10, 30), (20, 25)], [(0, 10), (30, 100)]),
        ([(200, 300)], [(0, 100)]),
        ([(-20, -10)], [(0, 100)]),
    ],
)
def test_schedule_preview_history_windows_exclude_the_spans_covered_by_records(
    covered: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    assert without((0, 100), covered) == left


def test_schedule_preview_empty_history_window_remains_empty() -> None:
    assert without((100, 100), [(3, 4)]) == []
    assert without((100, 50), []) == []


def test_schedule_preview_newest_occurrences_of_two_weeks_of_seconds_take_few_steps() -> None:
    schedule = EverySecond()
    fortnight = 14 * 86_400
    assert newest(schedule, [(0, fortnight)], 100) == list(range(fortnight, fortnight - 100, -1))
    assert schedule.asked < 25 * 102


spans = st.tuples(st.integers(-10, 500), st.integers(-10, 500)).map(lambda pair: (min(pair), max(pair)))


@given(st.sets(st.integers(1, 500)), st.integers(1, 20), st.lists(spans, max_size=3))
def test_schedule_preview_newest_occurrences_are_those_found_by_sorting(
    instants: set[int], count: int, covered: list[tuple[int, int]]
) -> None:
    windows = without((50, 450), covered)
    wanted = sorted((at for at in instants if any(low < at <= high for low, high in windows)), reverse=True)
    assert newest(Listed(sorted(instants)), windows, count) == wanted[:count]


@given(st.integers(0, 100), st.integers(0, 500), st.lists(spans, max_size=5))
def test_schedule_preview_every_instant_of_a_history_window_is_either_covered_or_remaining(
    low: int, high: int, covered: list[tuple[int, int]]
) -> None:
    left = without((low, high), covered)
    for at in range(low + 1, high + 1):
        is_covered = any(begin < at <= end for begin, end in covered)
        assert is_covered != any(begin < at <= end for begin, end in left)
