"""What travels through the lanes is read as it was written, by older and newer versions too."""

from dataclasses import fields, replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.documents import LATEST
from duecourse.domain.ids import RunIdentity, RunName
from duecourse.domain.jobs.calendars import CalendarDays, PlannedPause
from duecourse.domain.jobs.job import Lane
from duecourse.messages import (
    MAX_REPLACED,
    Cancel,
    CheckDeadline,
    Complete,
    Evaluate,
    Fail,
    MessageError,
    MessageKind,
    OperationMessage,
    Redrive,
    RunMessage,
    StartAttempt,
    read_message,
    read_run_message,
)
from duecourse_schedules import ScheduleSpec
from duecourse_schedules.schedule import OccurrenceRules
from tests.support.jobs import NOON

BODY = {
    "tenant": "default",
    "job_id": "nightly",
    "occurrence": 1_795_243_620,
    "due": 1_795_243_625,
    "generation": 1_795_000_000_123,
    "lane": "low",
    "not_before": 1_795_243_625.0,
    "nonce": "n-1",
}

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
INSTANTS = st.integers(0, LATEST)
MOMENTS = st.floats(0, 4e9)
JSON = st.recursive(
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | MOMENTS
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    lambda inner: st.lists(st.none() | inner, max_size=3) | st.dictionaries(TEXTS, st.none() | inner, max_size=3),
    max_leaves=5,
)
IDENTITIES = st.builds(
    RunIdentity,
    tenant=TEXTS,
    job_id=TEXTS,
    occurrence=INSTANTS,
    due=INSTANTS,
    generation=st.integers(0, 2**53),
    suffix=st.text(st.sampled_from(".mb0aZ_-"), max_size=9),
    count=st.integers(1, 10_000),
    through=st.none() | INSTANTS,
    own_payload=st.booleans(),
    requested_by=st.none() | TEXTS,
    correlation_id=st.none() | TEXTS,
    wait_priority=st.integers(0, 9),
)
MESSAGES = st.builds(
    RunMessage,
    identity=IDENTITIES,
    lane=st.sampled_from(Lane),
    not_before=MOMENTS,
    nonce=TEXTS,
    attempt=st.integers(1, 1000),
    caught_up_at=st.none() | MOMENTS,
    final=st.booleans(),
    command=st.just(StartAttempt())
    | st.just(Evaluate())
    | st.builds(Redrive, st.booleans())
    | st.builds(CheckDeadline, st.none() | TEXTS, st.none() | MOMENTS, st.none() | st.integers(1, 9))
    | st.builds(Complete, st.none() | JSON)
    | st.builds(Fail, st.none() | TEXTS, st.none() | TEXTS, st.none() | st.booleans(), st.none() | MOMENTS)
    | st.builds(Cancel, st.none() | TEXTS),
    waited=st.booleans(),
)


def body(**changes: Any) -> str:
    return orjson.dumps(BODY | changes).decode()


def without(name: str) -> str:
    return orjson.dumps({key: value for key, value in BODY.items() if key != name}).decode()


@given(MESSAGES)
def test_message_round_trips_through_json(message: RunMessage) -> None:
    assert read_run_message(message.to_json()) == message


def test_message_of_an_older_version_is_a_first_attempt_of_one_occurrence() -> None:
    message = read_run_message(body())
    assert (message.attempt, message.suffix, message.count) == (1, "", 1)
    assert (message.through, message.caught_up_at) == (None, None)


def test_message_of_an_older_version_requests_a_start() -> None:
    assert read_run_message(body()).kind is MessageKind.START


def test_message_start_is_written_without_a_kind() -> None:
    assert "kind" not in orjson.loads(read_run_message(body(kind="start")).to_json())


@pytest.mark.parametrize("kind", [kind for kind in MessageKind if kind is not MessageKind.START])
def test_message_of_any_other_kind_contains_its_kind(kind: MessageKind) -> None:
    message = read_run_message(body(kind=kind.value, attempt=3))
    assert (message.kind, message.attempt) == (kind, 3)
    assert orjson.loads(message.to_json())["kind"] == kind.value


@pytest.mark.parametrize("result", [False, 0, "", [], {}, {"rows": 3}, [None], "text"])
def test_message_keeps_an_empty_result(result: object) -> None:
    read = read_run_message(read_run_message(body(kind="complete", result=result)).to_json()).command
    assert read == Complete(result)
    assert isinstance(read, Complete)
    assert type(read.result) is type(result)


def test_message_distinguishes_a_forbidden_retry_from_an_unspecified_one() -> None:
    said = read_run_message(body(kind="fail", retryable=False, error="no such invoice", retry_after=0))
    assert read_run_message(said.to_json()) == said
    assert said.command == Fail("no such invoice", retryable=False, retry_after=0)
    assert read_run_message(body(kind="fail")).command == Fail()


def test_message_ignores_a_field_of_a_newer_version() -> None:
    assert read_run_message(body(colour="blue", nested={"deep": [1]})) == read_run_message(body())


def test_message_accepts_null_for_optional_fields() -> None:
    assert read_run_message(body(through=None, caught_up_at=None, suffix=None)) == read_run_message(body())


def test_message_accepts_a_whole_number_for_a_fractional_instant() -> None:
    assert isinstance(read_run_message(body(not_before=1_795_243_625)).not_before, float)


def test_message_omits_empty_fields() -> None:
    assert orjson.loads(read_run_message(body()).to_json()) == BODY | {"attempt": 1, "count": 1}


@pytest.mark.parametrize("name", sorted(BODY))
def test_message_without_a_required_field_is_rejected_with_its_name(name: str) -> None:
    with pytest.raises(MessageError, match=f"{name} is missing"):
        read_run_message(without(name))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tenant", 7),
        ("job_id", ["nightly"]),
        ("occurrence", "soon"),
        ("occurrence", "1795243620"),
        ("occurrence", 1.5),
        ("occurrence", True),
        ("occurrence", -1),
        ("occurrence", LATEST + 1),
        ("due", 1e300),
        ("generation", "first"),
        ("lane", "fast"),
        ("lane", ["low"]),
        ("not_before", "now"),
        ("not_before", False),
        ("nonce", 1),
        ("attempt", 0),
        ("attempt", "2"),
        ("suffix", 1),
        ("count", 0),
        ("through", "2026-11-21"),
        ("caught_up_at", {}),
        ("final", 1),
        ("kind", "stop"),
        ("kind", ["start"]),
        ("error", 500),
        ("code", 503),
        ("retryable", "no"),
        ("retry_after", "soon"),
        ("retry_after", True),
        ("reason", {}),
    ],
)
def test_message_with_a_wrong_field_is_rejected_with_its_value_and_the_expected_one(name: str, value: object) -> None:
    with pytest.raises(MessageError) as caught:
        read_run_message(body(**{name: value}))
    said = str(caught.value)
    assert said.startswith(f"not a run message: {name} is ")
    assert "expected" in said


def test_message_error_truncates_a_long_value() -> None:
    with pytest.raises(MessageError) as caught:
        read_run_message(body(occurrence="9" * 100_000))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["", "{", "null", "7", '"text"', "[]", '[{"tenant":"default"}]', "NaN", "\ud800"])
def test_message_that_is_not_a_json_object_is_rejected(text: str) -> None:
    with pytest.raises(MessageError, match=r"not (a|valid) JSON"):
        read_run_message(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=2),
        max_leaves=3,
    ),
    st.sampled_from(
        [field.name for of in (RunIdentity, RunMessage) for field in fields(of) if field.name != "identity"]
    ),
)
def test_message_with_any_value_in_a_field_is_read_or_rejected_with_its_name(value: object, name: str) -> None:
    try:
        text = body(**{name: value})
    except TypeError:  # a lone surrogate cannot even be written
        return
    try:
        message = read_run_message(text)
    except MessageError as refused:
        assert name in str(refused)
    else:
        assert str(message.name)


def test_message_identifies_its_run() -> None:
    assert read_run_message(body(suffix=".m1")).name == RunName("nightly", 1_795_243_620, ".m1")


def test_message_copy_differs_only_in_its_nonce_and_the_requested_changes() -> None:
    message = read_run_message(body(attempt=2, count=3, through=1_795_243_800))
    assert message.again(nonce="n-2") == read_run_message(body(attempt=2, count=3, through=1_795_243_800, nonce="n-2"))
    moved = message.again(nonce="n-2", not_before=1_795_243_700.5)
    assert (moved.nonce, moved.not_before) == ("n-2", 1_795_243_700.5)
    assert message.nonce == "n-1"


def test_message_copy_lists_the_messages_that_it_replaces() -> None:
    copy = read_run_message(body()).again(nonce="n-2", instead_of="m-1").again(nonce="n-3", instead_of="m-2")
    assert copy.replaces == (("m-1", "n-1"), ("m-2", "n-2"))
    assert read_run_message(copy.to_json()) == copy
    many = copy
    for number in range(3, 40):
        many = many.again(nonce=f"n-{number + 1}", instead_of=f"m-{number}")
    assert len(many.replaces) == MAX_REPLACED
    assert many.replaces[-1] == ("m-39", "n-39")


def test_message_of_a_catch_up_contains_its_rules_and_ignores_unknown_ones() -> None:
    spec = ScheduleSpec("*/5 * * * *", "Europe/Berlin", dst_gap="skip", start=1_795_000_000)
    windows = ("2026-12-24", CalendarDays("bank", 2, "fcz"), PlannedPause(None, 1_795_243_900, 1_795_243_999))
    rules = OccurrenceRules(spec, windows, 30, 600)
    said = replace(read_run_message(body()), rules=rules, following=1_795_243_900)
    assert read_run_message(said.to_json()) == said
    raw = orjson.loads(said.to_json())
    raw["rules"]["schedule"]["moon"] = "full"
    raw["rules"]["tide"] = "low"
    assert read_run_message(orjson.dumps(raw).decode()).rules == rules


def test_message_copy_accepts_zero_as_its_time() -> None:
    assert read_run_message(body()).again(nonce="n-2", not_before=0.0).not_before == 0.0


@given(MESSAGES)
def test_message_of_any_kind_can_be_turned_into_the_start_of_an_attempt(message: RunMessage) -> None:
    start = message.to_start(7, nonce="n-2", not_before=1_795_243_700.5)
    assert (start.command, start.attempt, start.nonce, start.not_before) == (StartAttempt(), 7, "n-2", 1_795_243_700.5)
    whose = ("name", "tenant", "generation", "lane", "own_payload", "requested_by", "correlation_id")
    for kept in (*whose, "due", "count", "through", "caught_up_at", "final"):
        assert getattr(start, kept) == getattr(message, kept)
    assert not start.waited  # a later attempt is not the call of a wait queue


def test_message_copy_has_the_same_command() -> None:
    message = read_run_message(body(kind="complete", attempt=2, result=""))
    again = message.again(nonce="n-2")
    assert (again.command, again.attempt) == (Complete(""), 2)


def test_operation_message_is_read_as_it_was_written_and_ignores_later_fields() -> None:
    message = OperationMessage("acme", "op-1", 0, NOON + 0.5, "nonce-1")
    body = orjson.loads(message.to_json())
    assert read_message(orjson.dumps(body | {"later": 1}).decode()) == message
    assert read_message(message.again(nonce="nonce-2").to_json()) == replace(message, nonce="nonce-2")


@pytest.mark.parametrize("wrong", [{"page": "0"}, {"tenant": 1}, {"sent_at": None}, {"nonce": 1}])
def test_operation_message_that_cannot_be_read_is_rejected_with_its_field(wrong: dict[str, Any]) -> None:
    body = orjson.loads(OperationMessage("acme", "op-1", 0, NOON, "nonce-1").to_json())
    with pytest.raises(MessageError, match=f"not an operation message: {next(iter(wrong))} is "):
        read_message(orjson.dumps(body | wrong).decode())
