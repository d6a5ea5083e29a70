"""From a posted value to a draft of a job, or to everything that is wrong with it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.instants import from_iso
from duecourse.domain.job import Delivery, Job, Lane, MissedMode, MissedPolicy, Overlap, Precision
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.schedule import ScheduleSpec
from duecourse.domain.targets import HttpTarget, LambdaTarget
from duecourse.http.models import Rules
from duecourse.http.problems import MAX_FAULTS, Problem
from duecourse.http.validation import MAX_PAYLOAD_BYTES, read_job
from duecourse.usecases.jobs import Draft, anchored, first_occurrence
from tests.support.api import BODY, HTTP_TARGET

NOW = from_iso("2026-11-21T12:00:00Z")
RULES = Rules(private_targets=False, lambda_targets=("duecourse-target-*",), default_precision=Precision.EXACT)


def check(spec: ScheduleSpec) -> None:
    first_occurrence(anchored(spec, NOW), NOW)


def read(value: Any) -> Draft:
    return read_job(value, "default", RULES, check)


def errors(value: Any) -> dict[str, str]:
    with pytest.raises(Problem) as refused:
        read(value)
    assert refused.value.status == 422
    return {fault.pointer or "": fault.detail for fault in refused.value.faults}


def posted(**changes: Any) -> dict[str, Any]:
    return BODY | changes


def test_a_job_needs_a_schedule_and_a_target_only() -> None:
    draft = read(BODY)
    assert draft == Draft(
        tenant="default",
        schedule=ScheduleSpec("rate(10 seconds)"),
        target=HttpTarget("https://example.com/hook"),
        precision=Precision.EXACT,
    )


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
            "target": {"type": "lambda", "function": "duecourse-target-report"},
            "payload": {"a": [1, 2.5, None, "\x00"]},
            "priority": "high",
            "timeout_seconds": 840,
            "retry": {"max_attempts": 7, "backoff": "linear", "min_seconds": 0.5, "max_seconds": 60},
            "missed": {"policy": "run_all", "grace_seconds": 30, "max_missed": 100},
            "overlap": "allow",
            "precision": "second",
            "delivery": "at_most_once",
            "idempotency_key": "report-{{week}}",
            "tags": ["billing", "team:a/b"],
        }
    )
    assert draft == Draft(
        tenant="default",
        id="weekly-report",
        name="Weekly report \N{BAR CHART}",
        schedule=ScheduleSpec("0 9 * * 1", "America/New_York", "skip", "both"),
        target=LambdaTarget("duecourse-target-report"),
        payload={"a": [1, 2.5, None, "\x00"]},
        priority=Lane.HIGH,
        timeout_seconds=840,
        retry=RetryPolicy(7, Backoff.LINEAR, 0.5, 60),
        missed=MissedPolicy(MissedMode.RUN_ALL, 30, 100),
        overlap=Overlap.ALLOW,
        precision=Precision.SECOND,
        delivery=Delivery.AT_MOST_ONCE,
        idempotency_key="report-{{week}}",
        tags=("billing", "team:a/b"),
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


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"schedule": 5}, "/schedule", "must be text"),
        ({"schedule": ""}, "/schedule", "must not be empty"),
        ({"schedule": "*" * 257}, "/schedule", "at most 256 characters"),
        ({"schedule": "nonsense"}, "/schedule", ""),
        ({"schedule": "at(2026-11-21T12:00:00)"}, "/schedule", "no occurrence in the future"),
        ({"schedule": "at(2020-01-01T00:00:00)"}, "/schedule", "no occurrence in the future"),
        ({"schedule": "0 0 30 2 *"}, "/schedule", ""),
        ({"schedule": "\ud800"}, "/schedule", "half of a surrogate pair"),
        ({"timezone": "Berlin"}, "/timezone", "Europe/Berlin"),
        ({"timezone": None}, "/timezone", "must be text"),
        ({"timezone": "../../etc/passwd"}, "/timezone", "not the name"),
        ({"dst_gap": "first"}, "/dst_gap", "must be one of next, skip"),
        ({"dst_fold": "last"}, "/dst_fold", "must be one of first, second, both"),
        ({"id": ""}, "/id", "must be 1 to 64 letters"),
        ({"id": "a" * 65}, "/id", "must be 1 to 64 letters"),
        ({"id": "a\n"}, "/id", "must be 1 to 64 letters"),
        ({"id": "\uff41"}, "/id", "must be 1 to 64 letters"),
        ({"id": "a#b"}, "/id", "must be 1 to 64 letters"),
        ({"id": 7}, "/id", "must be text"),
        ({"name": "x" * 257}, "/name", "at most 256 characters"),
        ({"name": "a\nb"}, "/name", "control characters"),
        ({"name": "a\x00"}, "/name", "control characters"),
        ({"name": "\udfff"}, "/name", "half of a surrogate pair"),
        ({"target": None}, "/target", "must be an object"),
        ({"target": []}, "/target", "must be an object"),
        ({"target": {}}, "/target/type", "is required"),
        ({"target": {"type": "sqs"}}, "/target/type", "must be http or lambda"),
        ({"target": {"type": []}}, "/target/type", "must be http or lambda"),
        ({"target": {"type": "http"}}, "/target/url", "is required"),
        ({"target": {"type": "lambda"}}, "/target/function", "is required"),
        ({"target": {"type": "lambda", "function": "billing"}}, "/target/function", "duecourse-target-*"),
        ({"target": {"type": "lambda", "function": "duecourse-target-a", "url": "x"}}, "/target/url", "not known"),
        ({"target": HTTP_TARGET | {"url": "https://" + "a" * 2048}}, "/target/url", "at most 2048 characters"),
        ({"target": HTTP_TARGET | {"method": "TRACE"}}, "/target/method", "must be one of GET, POST"),
        ({"target": HTTP_TARGET | {"headers": []}}, "/target/headers", "must be an object of names"),
        ({"target": HTTP_TARGET | {"headers": {"a": 1}}}, "/target/headers/a", "must be text"),
        ({"target": HTTP_TARGET | {"headers": {"a": "b\r\nc: d"}}}, "/target/headers", "line breaks"),
        ({"target": HTTP_TARGET | {"headers": {"a b": "c"}}}, "/target/headers", "only letters"),
        ({"target": HTTP_TARGET | {"headers": {"": "c"}}}, "/target/headers", "only letters"),
        ({"target": HTTP_TARGET | {"headers": {"a": "\u20ac"}}}, "/target/headers", "Latin-1"),
        ({"target": HTTP_TARGET | {"headers": {"X-Duecourse-Run-Id": "c"}}}, "/target/headers", "set by Duecourse"),
        ({"target": HTTP_TARGET | {"headers": {"host": "c"}}}, "/target/headers", "set by Duecourse"),
        ({"target": HTTP_TARGET | {"headers": {"x-a": "1", "X-A": "2"}}}, "/target/headers", "given twice"),
        ({"target": HTTP_TARGET | {"headers": {"x": "v" * 4097}}}, "/target/headers", "at most 4096"),
        (
            {"target": HTTP_TARGET | {"headers": {f"x{n}": "v" for n in range(51)}}},
            "/target/headers",
            "at most 50 entries",
        ),
        ({"payload": "x" * (MAX_PAYLOAD_BYTES - 1)}, "/payload", "store it elsewhere"),
        ({"payload": {"a": 2**64}}, "/payload/a", "beyond 64 bits"),
        ({"priority": "long"}, "/priority", "must be one of high, normal, low"),
        ({"priority": "High"}, "/priority", "must be one of high, normal, low"),
        ({"priority": None}, "/priority", "must be one of high, normal, low"),
        ({"priority": {}}, "/priority", "must be one of high, normal, low"),
        ({"timeout_seconds": 0}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": 841}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": 10**300}, "/timeout_seconds", ""),
        ({"timeout_seconds": 1e300}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": True}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": "30"}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": 1.5}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": float("nan")}, "/timeout_seconds", ""),
        ({"retry": []}, "/retry", "must be an object"),
        ({"retry": {"max_attempts": 101}}, "/retry/max_attempts", "from 1 to 100"),
        ({"retry": {"backoff": "none"}}, "/retry/backoff", "exponential, linear, fixed"),
        ({"retry": {"min_seconds": -1}}, "/retry/min_seconds", "from 0 to 86400"),
        ({"retry": {"min_seconds": True}}, "/retry/min_seconds", "must be a number"),
        ({"retry": {"min_seconds": 10, "max_seconds": 5}}, "/retry/max_seconds", "not be less than min_seconds"),
        ({"retry": {"min_seconds": 4000}}, "/retry/max_seconds", "the default is 3600"),
        ({"retry": {"max_attempt": 3}}, "/retry/max_attempt", "did you mean max_attempts?"),
        ({"missed": {"policy": "none"}}, "/missed/policy", "skip, run_once, run_all"),
        ({"missed": {"grace_seconds": 0}}, "/missed/grace_seconds", "from 5 to 86400"),
        ({"missed": {"max_missed": 101}}, "/missed/max_missed", "from 1 to 100"),
        ({"overlap": "queue"}, "/overlap", "queue comes with a later version; use skip or allow"),
        ({"overlap": "replace"}, "/overlap", "replace comes with a later version; use skip or allow"),
        ({"overlap": "wait"}, "/overlap", "must be one of skip, allow"),
        ({"precision": "millisecond"}, "/precision", "must be one of second, exact"),
        ({"delivery": "exactly_once"}, "/delivery", "must be one of at_least_once, at_most_once"),
        ({"idempotency_key": ""}, "/idempotency_key", "must not be empty"),
        ({"idempotency_key": "{{weak}}"}, "/idempotency_key", "{{weak}} is unknown; known names: "),
        ({"idempotency_key": "{{attempt}}"}, "/idempotency_key", "may not be used here"),
        ({"idempotency_key": "a{{week"}, "/idempotency_key", "no partner"),
        ({"idempotency_key": "a\r\nb"}, "/idempotency_key", "printable ASCII"),
        ({"idempotency_key": "k" * 257}, "/idempotency_key", "at most 256 characters"),
        ({"tags": "billing"}, "/tags", "must be a list"),
        ({"tags": ["a", "b", "a"]}, "/tags", "names a more than once"),
        ({"tags": [str(n) for n in range(21)]}, "/tags", "at most 20 entries"),
        ({"tags": ["ok", "a b"]}, "/tags/1", "must be 1 to 64 letters"),
        ({"tags": ["a" * 65]}, "/tags/0", "must be 1 to 64 letters"),
        ({"tags": [{}]}, "/tags/0", "must be text"),
        ({"Schedule": "x"}, "/Schedule", "did you mean schedule?"),
        ({"depends_on": []}, "/depends_on", "the fields are "),
        ({"__class__": "x"}, "/__class__", "is not known here"),
    ],
)
def test_a_bad_field_is_named_with_the_remedy(change: dict[str, Any], place: str, said: str) -> None:
    found = errors(posted(**change))
    assert list(found) == [place]
    assert said in found[place]


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
    | st.sampled_from(["http", "lambda", "rate(1 minute)", "* * * * *", "https://example.com", "skip", "exact", "UTC"])
)
inner_names = st.sampled_from(["type", "url", "headers", "max_attempts", "policy", "\ud800", "a/b"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(inner_names, inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from([*(field.name for field in fields(Draft)), "timezone", "dst_gap", "dst_fold", "x", "\ud800"])


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
