"""Jobs that name a task which the operator has registered (tests.support.posting.TASKS)."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, EventKind, MissedMode, MissedPolicy, RetryPolicy
from duecourse.domain.targets.targets import TaskTarget
from duecourse.usecases.jobs.change import Draft
from tests.support.api import HTTP_TARGET
from tests.support.posting import errors, read

SCHEDULE = {"schedule": "0 9 * * 1"}


def short(task: Any = "send-invoice", **changes: Any) -> dict[str, Any]:
    return SCHEDULE | {"task": task} | changes


def test_the_short_form_and_the_target_are_one_and_the_same() -> None:
    assert read(short()) == read(SCHEDULE | {"target": {"type": "task", "name": "send-invoice"}})


def test_what_is_left_out_comes_from_the_task() -> None:
    draft = read(short())
    assert draft.target == TaskTarget("send-invoice")
    assert (draft.timeout_seconds, draft.completion_seconds, draft.heartbeat_seconds) == (45, 7200, 60)
    assert draft.completion is Completion.CALLBACK
    assert draft.retry == RetryPolicy(max_attempts=2, backoff=Backoff.FIXED)
    assert draft.payload == {"token": "{{callback_token}}"}
    assert draft.events == (EventKind.DEATHS,)


def test_what_is_given_stands_and_inside_retry_field_by_field() -> None:
    draft = read(short(timeout_seconds=5, payload=None, retry={"max_attempts": 9}, events=[]))
    assert (draft.timeout_seconds, draft.payload, draft.events) == (5, None, ())
    assert draft.retry == RetryPolicy(max_attempts=9, backoff=Backoff.FIXED)


def test_a_job_that_waits_for_no_callback_takes_no_time_for_one_from_its_task() -> None:
    draft = read(short(completion="response", payload={}))
    assert (draft.completion, draft.heartbeat_seconds) == (Completion.RESPONSE, None)


def test_a_job_without_a_schedule_takes_nothing_about_missed_occurrences_from_its_task() -> None:
    assert read(short()).missed == MissedPolicy(MissedMode.SKIP)
    assert read(short(schedule=None)).missed == MissedPolicy()
    said = errors(short(schedule=None, missed={"grace_seconds": 5}))
    assert said == {"/missed": "belongs to a schedule; name a schedule, or leave it out"}


def test_a_task_without_defaults_leaves_the_usual_ones() -> None:
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
        ("\ud800", "half of a surrogate pair"),
    ],
)
def test_what_is_no_task_is_refused_where_it_was_written(task: Any, said: str) -> None:
    found = errors(short(task))
    assert list(found) == ["/task"]
    assert said in found["/task"]


def test_a_task_stands_instead_of_a_target() -> None:
    assert errors(short(target=HTTP_TARGET)) == {"/task": "stands beside target; keep one of the two"}


def test_a_body_without_task_and_target_is_refused_with_both_ways() -> None:
    said = errors(SCHEDULE)["/target"]
    assert "https://" in said
    assert '"task"' in said


def test_a_misspelt_task_is_guessed() -> None:
    assert "did you mean task?" in errors(short(taks="x"))["/taks"]


def test_what_the_task_filled_in_is_validated_as_if_posted() -> None:
    found = errors(short("broken"))
    assert set(found) == {"/timeout_seconds", "/retry/on"}
    for said in found.values():
        assert "this is a default of the task broken" in said


def test_a_value_of_ones_own_mends_a_broken_default() -> None:
    assert read(short("broken", timeout_seconds=3, retry={"on": None})).timeout_seconds == 3


def test_a_posted_field_that_does_not_go_with_a_default_is_refused() -> None:
    found = errors(short(timeout_seconds=800, completion_seconds=700))
    assert list(found) == ["/completion_seconds"]
    assert "default of the task" not in found["/completion_seconds"]


def test_a_default_for_a_field_that_is_not_the_tasks_makes_it_unusable() -> None:
    assert "its defaults hold schedule, tags" in errors(short("foreign"))["/task"]
    found = errors(SCHEDULE | {"target": {"type": "task", "name": "foreign"}})
    assert list(found) == ["/target/name"]
