"""Bodies of new jobs.

- From a posted value to a draft of a job, or to everything that is wrong with it.
- What a new job is made of: its id, its anchor, its first occurrence, what is sent at once.
- Jobs that name a task which the operator has registered (tests.support.posting.TASKS).
"""

import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.bodies.validation import postable
from duecourse.api.problems import MAX_FAULTS, Problem
from duecourse.domain.ids import is_id
from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.edit import resolve_anchor
from duecourse.domain.jobs.job import (
    AfterCompletion,
    Backoff,
    Completion,
    Delivery,
    EventKind,
    Job,
    JobState,
    Lane,
    MissedMode,
    MissedPolicy,
    Overlap,
    Precision,
    RetryPolicy,
)
from duecourse.domain.targets.targets import HttpTarget, LambdaTarget, TaskTarget
from duecourse.domain.tenants.quota import MAX_PAYLOAD_BYTES
from duecourse.usecases.jobs.change import Draft, made_up_id
from duecourse.usecases.jobs.view import at_once_until, view_of
from duecourse_schedules import ScheduleError, ScheduleSpec
from tests.support.api import BODY, HTTP_TARGET
from tests.support.jobs import NOON, cursor, job, moved
from tests.support.posting import errors, first_occurrence, posted, read


def test_posted_jobs_require_only_a_schedule_and_a_target() -> None:
    assert read(BODY) == Draft(
        tenant="default",
        schedule=ScheduleSpec("rate(10 seconds)"),
        target=HttpTarget("https://example.com/hook"),
        precision=Precision.EXACT,
    )


@pytest.mark.parametrize(
    "ending",
    [
        {"schedule": "at(2026-12-25T09:00:00)"},
        {"schedule": "2026-12-25T09:00:00Z"},
        {"schedule": "R3/2026-12-25T09:00:00Z/PT1H"},
        {"schedule": "cron(0 9 * * ? 2027)"},
        {"schedule": "* * * * *", "max_runs": 3},
        {"schedule": "* * * * *", "end": "2027-01-01T00:00:00Z"},
    ],
)
def test_posted_jobs_can_be_removed_after_their_end(ending: dict[str, Any]) -> None:
    draft = read(posted(**ending, after_completion={"delete_after_seconds": 3600}))
    assert draft.after_completion == AfterCompletion(3600)
    assert read(posted(**ending, after_completion=None)).after_completion is None


def test_posted_jobs_can_be_kept_after_their_end() -> None:
    for schedule in ("at(2026-12-25T09:00:00)", "* * * * *"):
        draft = read(posted(schedule=schedule, after_completion={"delete_after_seconds": None}))
        assert draft.after_completion == AfterCompletion(None)


def test_posted_jobs_accept_a_null_schedule_but_not_a_missing_or_empty_one() -> None:
    assert read(posted(schedule=None, timezone="Europe/Berlin")).schedule == ScheduleSpec("", "Europe/Berlin")
    assert "null for a job that runs only on demand" in errors({"target": HTTP_TARGET})["/schedule"]
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


def test_posted_jobs_without_a_schedule_reject_fields_of_a_schedule() -> None:
    said = "requires a schedule; set schedule, or remove this field"
    assert errors(posted(schedule=None, **OF_A_SCHEDULE)) == {f"/{field}": said for field in OF_A_SCHEDULE}


def test_posted_jobs_without_a_schedule_accept_the_default_values_of_schedule_fields() -> None:
    assert read(postable(read(posted(schedule=None)).new("x", 0.0))).schedule == ScheduleSpec("")


def test_posted_jobs_have_the_defaults_of_the_domain() -> None:
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


def test_posted_jobs_read_every_field() -> None:
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


def test_posted_jobs_preserve_the_order_of_headers() -> None:
    draft = read(posted(target=HTTP_TARGET | {"method": "PUT", "headers": {"X-B": "2", "X-A": "1"}}))
    assert draft.target == HttpTarget("https://example.com/hook", "PUT", (("X-B", "2"), ("X-A", "1")))


def test_posted_jobs_accept_integers_written_as_decimals() -> None:
    assert read(posted(timeout_seconds=30.0)).timeout_seconds == 30


def test_posted_jobs_report_all_bad_fields_at_once() -> None:
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
def test_posted_jobs_reject_a_body_that_is_not_an_object(value: Any) -> None:
    assert errors(value) == {"": 'must be an object, such as {"field": "value"}'}


def test_posted_jobs_report_missing_fields_with_an_example() -> None:
    found = errors({})
    assert set(found) == {"/schedule", "/target"}
    assert "rate(5 minutes)" in found["/schedule"]


@pytest.mark.parametrize("field", ["id", "payload", "precision", "idempotency_key"])
def test_posted_jobs_treat_null_as_the_default_of_optional_fields(field: str) -> None:
    assert read(posted(**{field: None})) == read(BODY)


@pytest.mark.parametrize("payload", ["x" * (MAX_PAYLOAD_BYTES - 2), "\u20ac" * 68_000])
def test_posted_jobs_measure_the_payload_in_utf_8_bytes(payload: str) -> None:
    assert read(posted(payload=payload)).payload == payload


def test_posted_jobs_report_at_most_fifty_errors_and_the_total_number() -> None:
    with pytest.raises(Problem) as refused:
        read(posted(**{f"x{number}": 1 for number in range(1000)}))
    document = refused.value.document("r-1")
    assert len(document["errors"]) == MAX_FAULTS
    assert "50 of 1000" in document["detail"]


def test_posted_jobs_truncate_a_huge_field_name_in_the_error() -> None:
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
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(inner_names, inner, max_size=4), max_leaves=12
)
names = st.sampled_from(
    [*(field.name for field in fields(Draft)), "task", "timezone", "dst_gap", "dst_fold", "x", "\ud800"]
)


@given(st.dictionaries(names, values, max_size=8), st.booleans())
def test_posted_jobs_are_read_or_rejected_with_a_list_of_faults_for_any_object(
    value: dict[str, Any], whole: bool
) -> None:
    try:
        read(BODY | value if whole else value)
    except Problem as problem:
        refused = problem
    else:
        return
    assert refused.status == 422
    assert refused.document("r-1")["errors"]


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("Weekly report", "weekly-report-nonce-1"),
        ("", "job-nonce-1"),
        ("\N{BAR CHART}", "job-nonce-1"),
        ("  --- ", "job-nonce-1"),
        ("x" * 100, "x" * 40 + "-nonce-1"),
    ],
)
def test_posted_jobs_generated_id_begins_with_the_name(name: str, id_: str) -> None:
    assert made_up_id(name, "nonce-1") == id_


@given(st.text(max_size=256), st.text(max_size=64).filter(lambda text: re.search("[A-Za-z0-9]", text) is not None))
def test_posted_jobs_generated_id_is_valid(name: str, nonce: str) -> None:
    assert is_id(made_up_id(name, nonce))


@pytest.mark.parametrize("expression", ["rate(10 seconds)", " RATE(1 minute)", "Rate(2 days)"])
def test_posted_jobs_rate_is_anchored_at_the_whole_second_of_its_creation(expression: str) -> None:
    assert resolve_anchor(ScheduleSpec(expression), None, NOON + 0.9).anchor == int(NOON)


@pytest.mark.parametrize(
    "spec",
    [
        ScheduleSpec("0 9 * * 1"),
        ScheduleSpec("at(2027-01-01T00:00:00)"),
        ScheduleSpec("R/2027-01-01T00:00:00Z/PT1H"),
        ScheduleSpec("rate(1 minute)", anchor=5),
        ScheduleSpec("rate(1 minute)", start=5),
    ],
)
def test_posted_jobs_schedules_with_fixed_times_have_no_anchor(spec: ScheduleSpec) -> None:
    assert resolve_anchor(spec, None, NOON) == spec


@pytest.mark.parametrize(
    ("expression", "now", "first"),
    [
        ("rate(10 seconds)", "2026-11-21T12:00:00.900Z", "2026-11-21T12:00:10Z"),
        ("* * * * *", "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z"),
        ("* * * * *", "2026-11-21T12:00:59.999Z", "2026-11-21T12:01:00Z"),
        ("at(2026-11-21T12:00:01)", "2026-11-21T12:00:00.999Z", "2026-11-21T12:00:01Z"),
    ],
)
def test_posted_jobs_first_occurrence_is_strictly_after_the_creation(expression: str, now: str, first: str) -> None:
    at = from_iso(now)
    assert first_occurrence(resolve_anchor(ScheduleSpec(expression), None, at), at) == from_iso(first)


@pytest.mark.parametrize(
    "expression", ["at(2026-11-21T12:00:00)", "at(2020-01-01T00:00:00)", "R1/2026-11-21T11:00:00Z/PT1H"]
)
def test_posted_jobs_reject_a_schedule_without_future_occurrences(expression: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        first_occurrence(ScheduleSpec(expression), NOON)
    assert refused.value.field == "schedule"


@pytest.mark.parametrize(
    ("expression", "horizon", "until"),
    [
        ("* * * * *", 840, 120),
        ("* * * * *", 60, 60),
        ("at(2026-11-21T13:00:00)", 840, 120),
        ("rate(2 seconds)", 840, 120),
        ("rate(1 second)", 840, 100),
    ],
)
def test_posted_jobs_immediately_enqueue_up_to_two_minutes_or_a_hundred_firings(
    expression: str, horizon: int, until: int
) -> None:
    new = job(expression)
    assert at_once_until(new, new.occurrences(), horizon) == NOON + until


def test_posted_jobs_next_occurrence_is_the_next_one_due_and_not_the_next_one_to_enqueue() -> None:
    minutely = job("* * * * *")
    assert view_of(minutely, cursor(minutely, NOON + 840), now=NOON + 0.5).next_occurrence == NOON + 60


def test_posted_jobs_last_occurrence_is_still_shown_when_overdue() -> None:
    once = job("at(2026-11-21T12:00:30)")
    assert view_of(once, cursor(once), now=NOON + 300).next_occurrence == NOON + 30
    assert view_of(once, moved(cursor(once), None), now=NOON + 300).next_occurrence is None


def test_posted_jobs_inactive_job_has_no_next_occurrence() -> None:
    paused = job("* * * * *", state=JobState.PAUSED)
    assert view_of(paused, cursor(paused), now=NOON).next_occurrence is None


def test_posted_jobs_job_with_unreadable_cursor_shows_an_error() -> None:
    assert view_of(job(), None, now=NOON).error == "its cursor cannot be read"


SCHEDULE = {"schedule": "0 9 * * 1"}


def short(task: Any = "send-invoice", **changes: Any) -> dict[str, Any]:
    return SCHEDULE | {"task": task} | changes


def test_posted_jobs_short_form_and_target_are_equivalent() -> None:
    assert read(short()) == read(SCHEDULE | {"target": {"type": "task", "name": "send-invoice"}})


def test_posted_jobs_take_missing_fields_from_the_task() -> None:
    draft = read(short())
    assert draft.target == TaskTarget("send-invoice")
    assert (draft.timeout_seconds, draft.completion_seconds, draft.heartbeat_seconds) == (45, 7200, 60)
    assert draft.completion is Completion.CALLBACK
    assert draft.retry == RetryPolicy(max_attempts=2, backoff=Backoff.FIXED)
    assert draft.payload == {"token": "{{callback_token}}"}
    assert draft.events == (EventKind.DEATHS,)


def test_posted_jobs_override_defaults_of_the_task_and_each_field_of_retry_separately() -> None:
    draft = read(short(timeout_seconds=5, payload=None, retry={"max_attempts": 9}, events=[]))
    assert (draft.timeout_seconds, draft.payload, draft.events) == (5, None, ())
    assert draft.retry == RetryPolicy(max_attempts=9, backoff=Backoff.FIXED)


def test_posted_jobs_without_callback_do_not_inherit_completion_time_from_their_task() -> None:
    draft = read(short(completion="response", payload={}))
    assert (draft.completion, draft.heartbeat_seconds) == (Completion.RESPONSE, None)


def test_posted_jobs_without_a_schedule_do_not_inherit_missed_occurrence_policies_from_their_task() -> None:
    assert read(short()).missed == MissedPolicy(MissedMode.SKIP)
    assert read(short(schedule=None)).missed == MissedPolicy()
    said = errors(short(schedule=None, missed={"grace_seconds": 5}))
    assert said == {"/missed": "requires a schedule; set schedule, or remove this field"}


def test_posted_jobs_have_the_usual_defaults_if_the_task_has_none() -> None:
    draft = read(short("plain"))
    assert draft == Draft(
        tenant="default", schedule=draft.schedule, target=TaskTarget("plain"), precision=draft.precision
    )


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("send-invoise", "send-invoise is not registered"),
        ("", "1 to 64 letters"),
        ("a/b", "1 to 64 letters"),
        (5, "must be text"),
        ({}, "must be text"),
        ("\ud800", "unpaired surrogate"),
    ],
)
def test_posted_jobs_reject_an_unknown_task_at_the_field_that_names_it(task: Any, said: str) -> None:
    found = errors(short(task))
    assert list(found) == ["/task"]
    assert said in found["/task"]


def test_posted_jobs_accept_a_task_instead_of_a_target() -> None:
    assert errors(short(target=HTTP_TARGET)) == {"/task": "cannot be combined with target; keep one of the two"}


def test_posted_jobs_without_task_and_target_are_rejected_with_both_alternatives() -> None:
    said = errors(SCHEDULE)["/target"]
    assert "https://" in said
    assert '"task"' in said


def test_posted_jobs_suggest_the_task_for_a_misspelled_name() -> None:
    assert "did you mean task?" in errors(short(taks="x"))["/taks"]


def test_posted_jobs_validate_defaults_of_the_task_like_posted_fields() -> None:
    found = errors(short("broken"))
    assert set(found) == {"/timeout_seconds", "/retry/on"}
    for said in found.values():
        assert "this is a default of the task broken" in said


def test_posted_jobs_own_value_overrides_an_invalid_default() -> None:
    assert read(short("broken", timeout_seconds=3, retry={"on": None})).timeout_seconds == 3


def test_posted_jobs_reject_a_field_that_conflicts_with_a_default() -> None:
    found = errors(short(timeout_seconds=800, completion_seconds=700))
    assert list(found) == ["/completion_seconds"]
    assert "default of the task" not in found["/completion_seconds"]


def test_posted_jobs_reject_a_task_with_defaults_for_fields_that_tasks_may_not_set() -> None:
    assert "its defaults contain schedule, tags" in errors(short("foreign"))["/task"]
    assert list(errors(SCHEDULE | {"target": {"type": "task", "name": "foreign"}})) == ["/target/name"]
