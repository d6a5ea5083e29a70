"""From a posted value to a draft of a job, or to everything that is wrong with it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.bodies.definition_body import MAX_PAYLOAD_BYTES
from duecourse.api.bodies.patch import postable
from duecourse.api.problems import MAX_FAULTS, Problem
from duecourse.domain.jobs.job import (
    Backoff,
    Completion,
    Delivery,
    EventKind,
    Job,
    Lane,
    MissedMode,
    MissedPolicy,
    Overlap,
    Precision,
    RetryPolicy,
)
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.targets.targets import HttpTarget, LambdaTarget
from duecourse.usecases.jobs.change import Draft
from tests.support.api import BODY, HTTP_TARGET
from tests.support.posting import errors, posted, read


def test_a_job_needs_a_schedule_and_a_target_only() -> None:
    draft = read(BODY)
    assert draft == Draft(
        tenant="default",
        schedule=ScheduleSpec("rate(10 seconds)"),
        target=HttpTarget("https://example.com/hook"),
        precision=Precision.EXACT,
    )


def test_a_job_without_a_schedule_says_so() -> None:
    draft = read(posted(schedule=None, timezone="Europe/Berlin"))
    assert draft.schedule == ScheduleSpec("", "Europe/Berlin")
    assert "null for a job that runs only when it is asked to" in errors({"target": HTTP_TARGET})["/schedule"]
    assert errors(posted(schedule=""))["/schedule"] == "must not be empty"
    assert list(errors(posted(schedule=None, timezone="No/Where"))) == ["/timezone"]


OF_A_SCHEDULE = {
    "dst_gap": "skip",
    "dst_fold": "both",
    "anchor": "2027-01-01T00:00:00Z",
    "start": "2027-01-01T00:00:00Z",
    "end": "2026-01-01T00:00:00Z",
    "exclude": ["2027-12-24", "nonsense"],
    "jitter_seconds": 90,
    "max_runs": 40,
    "missed": {"policy": "skip"},
}


def test_what_shapes_a_schedule_is_refused_where_there_is_none() -> None:
    said = "belongs to a schedule; name a schedule, or leave it out"
    assert errors(posted(schedule=None, **OF_A_SCHEDULE)) == {f"/{field}": said for field in OF_A_SCHEDULE}


def test_what_shapes_a_schedule_may_be_said_where_it_says_no_more_than_the_default() -> None:
    written = read(posted(schedule=None)).new("x", 0.0)
    assert read(postable(written)).schedule == ScheduleSpec("")


def test_the_defaults_of_a_posted_job_are_those_of_the_domain() -> None:
    draft = read(BODY)
    plain = Job(
        tenant="default",
        id="x",
        schedule=draft.schedule,
        target=draft.target,
        generation=1,
        created_at=0,
        updated_at=0,
        changed_at=0,
        created_generation=1,
        seated=False,
    )
    same = {field.name for field in fields(Draft)} - {"tenant", "id", "schedule", "target", "precision"}
    assert {name: getattr(draft, name) for name in same} == {name: getattr(plain, name) for name in same}


def test_every_field_is_taken_over() -> None:
    draft = read(
        {
            "id": "weekly-report",
            "name": "Weekly report \N{BAR CHART}",
            "schedule": "0 9 * * 1",
            "timezone": "America/New_York",
            "dst_gap": "skip",
            "dst_fold": "both",
            "start": "2027-01-01T00:00:00Z",
            "end": "2028-01-01T00:00:00Z",
            "anchor": None,
            "exclude": ["2027-12-24/2028-01-02", "2027-03-08T09:00:00-05:00"],
            "jitter_seconds": 90,
            "max_runs": 40,
            "target": {"type": "lambda", "function": "duecourse-target-report"},
            "payload": {"a": [1, 2.5, None, "\x00"]},
            "priority": "high",
            "timeout_seconds": 840,
            "estimated_seconds": 900,
            "start_deadline_seconds": 3600,
            "completion": "callback",
            "completion_seconds": 7200,
            "heartbeat_seconds": 60,
            "retry": {
                "max_attempts": 7,
                "backoff": "linear",
                "min_seconds": 0.5,
                "max_seconds": 60,
                "on": ["5xx", "timeout"],
                "never": ["501"],
                "max_age_seconds": 86_400,
            },
            "pause_on_failure": 3,
            "events": ["deaths", "late"],
            "missed": {"policy": "run_all", "grace_seconds": 30, "max_missed": 100},
            "overlap": "allow",
            "precision": "second",
            "delivery": "at_most_once",
            "idempotency_key": "report-{{week}}",
            "tags": ["billing", "team:a/b"],
            "owner": "team billing",
            "description": "What it is for \N{BAR CHART}",
            "runbook_url": "https://wiki.example.com/report#failed",
        }
    )
    assert draft == Draft(
        tenant="default",
        id="weekly-report",
        name="Weekly report \N{BAR CHART}",
        schedule=ScheduleSpec("0 9 * * 1", "America/New_York", "skip", "both", start=1_798_761_600, end=1_830_297_600),
        exclude=("2027-12-24/2028-01-02", "2027-03-08T14:00:00Z"),
        jitter_seconds=90,
        max_runs=40,
        target=LambdaTarget("duecourse-target-report"),
        payload={"a": [1, 2.5, None, "\x00"]},
        priority=Lane.HIGH,
        timeout_seconds=840,
        estimated_seconds=900,
        start_deadline_seconds=3600,
        completion=Completion.CALLBACK,
        completion_seconds=7200,
        heartbeat_seconds=60,
        retry=RetryPolicy(7, Backoff.LINEAR, 0.5, 60, ("5xx", "timeout"), ("501",), 86_400),
        pause_on_failure=3,
        events=(EventKind.DEATHS, EventKind.LATE),
        missed=MissedPolicy(MissedMode.RUN_ALL, 30, 100),
        overlap=Overlap.ALLOW,
        precision=Precision.SECOND,
        delivery=Delivery.AT_MOST_ONCE,
        idempotency_key="report-{{week}}",
        tags=("billing", "team:a/b"),
        owner="team billing",
        description="What it is for \N{BAR CHART}",
        runbook_url="https://wiki.example.com/report#failed",
    )


def test_headers_keep_their_order() -> None:
    draft = read(posted(target=HTTP_TARGET | {"method": "PUT", "headers": {"X-B": "2", "X-A": "1"}}))
    assert draft.target == HttpTarget("https://example.com/hook", "PUT", (("X-B", "2"), ("X-A", "1")))


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert read(posted(timeout_seconds=30.0)).timeout_seconds == 30


def test_all_bad_fields_are_named_at_once() -> None:
    found = errors(
        {
            "id": "a b",
            "schedule": "61 * * * *",
            "timezone": "Berlin",
            "target": {"type": "http", "url": "http://example.com", "verb": "GET"},
            "retry": {"max_attempts": 0},
            "nmae": "x",
            "payload": float("inf"),
        }
    )
    assert set(found) == {
        "/id",
        "/schedule",
        "/timezone",
        "/target/url",
        "/target/verb",
        "/retry/max_attempts",
        "/nmae",
        "/payload",
    }


@pytest.mark.parametrize("value", [None, [], "x", 5, True, [BODY]])
def test_a_body_that_is_no_object_is_refused_as_a_whole(value: Any) -> None:
    assert errors(value) == {"": 'must be an object, such as {"field": "value"}'}


def test_missing_fields_come_with_an_example() -> None:
    found = errors({})
    assert set(found) == {"/schedule", "/target"}
    assert "rate(5 minutes)" in found["/schedule"]


@pytest.mark.parametrize("field", ["id", "payload", "precision", "idempotency_key"])
def test_null_means_the_default_where_the_default_is_nothing(field: str) -> None:
    assert read(posted(**{field: None})) == read(BODY)


@pytest.mark.parametrize("payload", ["x" * (MAX_PAYLOAD_BYTES - 2), "\u20ac" * 68_000])
def test_a_payload_is_measured_in_bytes_of_utf_8(payload: str) -> None:
    assert read(posted(payload=payload)).payload == payload


def test_at_most_fifty_errors_are_told_with_the_number_of_all() -> None:
    with pytest.raises(Problem) as refused:
        read(posted(**{f"x{number}": 1 for number in range(1000)}))
    document = refused.value.document("r-1")
    assert len(document["errors"]) == MAX_FAULTS
    assert "50 of 1000" in document["detail"]


def test_a_huge_field_name_is_not_echoed_whole() -> None:
    with pytest.raises(Problem) as refused:
        read(posted(**{"x" * 100_000: 1}))
    assert len(refused.value.document("r-1")["errors"][0]["pointer"]) == 200


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20)
    | st.sampled_from(
        [
            "http",
            "lambda",
            "rate(1 minute)",
            "* * * * *",
            "https://example.com",
            "skip",
            "exact",
            "UTC",
            "sqs",
            "ecs",
            "aws",
            "task",
        ]
    )
    | st.sampled_from(["send-invoice", "broken", "{{", "{{week}}", "callback", "duecourse-target-x"])
)
inner_names = st.sampled_from(
    ["type", "url", "headers", "name", "queue", "parameters", "expect", "on", "max_attempts", "policy", "\ud800", "a/b"]
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(inner_names, inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(
    [*(field.name for field in fields(Draft)), "task", "timezone", "dst_gap", "dst_fold", "x", "\ud800"]
)


@given(st.dictionaries(names, values, max_size=8), st.booleans())
def test_any_object_is_a_draft_or_a_list_of_faults(value: dict[str, Any], whole: bool) -> None:
    try:
        read(BODY | value if whole else value)
    except Problem as problem:
        refused = problem
    else:
        return
    assert refused.status == 422
    assert refused.document("r-1")["errors"]
