"""What a record of a change says, and what it never says."""

from dataclasses import replace
from typing import Any

from duecourse.domain.jobs.document import (
    DUECOURSE,
    TOTAL_CHARACTERS,
    VALUE_CHARACTERS,
    ChangeAction,
    changed,
    created,
    definition_document,
    deleted,
)
from duecourse.domain.jobs.job import Job, JobState, RetryPolicy
from duecourse.domain.targets.targets import AwsTarget, HttpTarget
from tests.support.jobs import NOON, job


def edited(before: Job, **changes: Any) -> list[dict[str, Any]]:
    after = replace(before, revision=before.revision + 1, updated_at=NOON + 5, **changes)
    return list(changed(ChangeAction.EDITED, before, after, "anna").changes)


def test_change_record_of_an_edit_contains_changed_fields_with_values_before_and_after() -> None:
    before = job("* * * * *")
    assert edited(before, timeout_seconds=60) == [{"field": "timeout_seconds", "before": 30, "after": 60}]
    (retry,) = edited(before, retry=RetryPolicy(max_attempts=9))
    assert (retry["field"], retry["after"]["max_attempts"]) == ("retry", 9)
    (url,) = edited(before, target=replace(before.target, url="https://example.com/other"))
    assert (url["field"], url["after"]) == ("target.url", "https://example.com/other")


def test_change_record_contains_only_the_names_of_payload_headers_and_parameters() -> None:
    secret = "hunter2"
    before = job("* * * * *")
    http = edited(
        before, payload={"password": secret}, target=HttpTarget("https://e.com", headers=(("X-Key", secret),))
    )
    aws = edited(before, target=AwsTarget("sqs", "SendMessage", {"MessageBody": secret}, "role"))
    assert {"field": "payload"} in http
    assert {"field": "target.headers"} in http
    assert {"field": "target.parameters"} in aws
    assert secret not in repr((http, aws))


def test_change_record_omits_long_values_and_values_beyond_the_total_size() -> None:
    before = job("* * * * *")
    assert edited(before, name="x" * VALUE_CHARACTERS) == [{"field": "name"}]

    def long(letter: str) -> dict[str, Any]:
        url, words = f"https://example.com/{letter * 170}", (letter * 90, f"{letter}x" * 45)
        return {
            "name": letter * 190,
            "idempotency_key": letter * 190,
            "target": HttpTarget(url),
            "tags": words,
            "paused_because": letter * 190,
        }

    many = edited(replace(before, **long("a")), **long("b"))
    assert [change["field"] for change in many if "after" in change] == [
        "name",
        "tags",
        "idempotency_key",
        "target.url",
    ]
    assert len(many) == 5
    assert len(repr(many)) < TOTAL_CHARACTERS


def test_change_record_distinguishes_true_from_one_and_ignores_key_order() -> None:
    before = job("* * * * *", payload={"a": 1, "b": 2})
    assert edited(before, payload={"b": 2, "a": 1}) == []
    assert edited(before, payload={"a": True, "b": 2}) == [{"field": "payload"}]


def test_change_record_of_a_pause_contains_state_and_note() -> None:
    before = job("* * * * *")
    assert edited(before, state=JobState.PAUSED, paused_because="broken") == [
        {"field": "state", "before": "ACTIVE", "after": "PAUSED"},
        {"field": "paused_because", "before": None, "after": "broken"},
    ]


def test_change_record_of_creation_and_deletion_contains_schedule_and_target() -> None:
    made = job("0 3 * * *", payload="hidden")
    born, gone = created(replace(made, created_by="anna")), deleted(made, None, NOON + 9)
    assert {"field": "schedule", "before": None, "after": "0 3 * * *"} in born.changes
    assert {"field": "schedule", "before": "0 3 * * *", "after": None} in gone.changes
    assert "target.url" in born.fields
    assert "hidden" not in repr((born, gone))
    assert (born.principal, gone.principal, gone.at) == ("anna", DUECOURSE, NOON + 9)


def test_change_record_of_creation_omits_fields_without_a_value() -> None:
    record = created(replace(job("* * * * *"), target=HttpTarget("https://e.com")))
    assert "target.sign" not in record.fields
    assert all(change.get("after", "") is not None for change in record.changes)


def test_change_record_key_is_the_job_revision_so_that_a_repeated_write_is_the_same_record() -> None:
    before = job("* * * * *")
    after = replace(before, revision=7, updated_at=NOON + 5)
    one, two = (changed(ChangeAction.EDITED, before, after, "anna") for _ in range(2))
    assert one == two
    assert one.key == "000007-edited"


def test_change_record_document_contains_every_field_of_a_posted_job() -> None:
    kept = {"tenant", "id", "generation", "revision", "created_at", "updated_at", "changed_at", "created_generation",
            "state", "paused_at", "paused_because", "paused_by", "paused_with", "paused_until", "resumed_at",
            "earlier", "seated", "workflow", "claimed_at", "reserved", "expires_at", "created_by",
            "suspended_at", "failing", "waits", "shadow_since"}  # fmt: skip
    shown = set(definition_document(job("* * * * *")))
    assert (
        set(Job.__dataclass_fields__) - kept - {"queue_limit", "active_limit"} <= shown
    )  # which are parts of `overlap` there
