"""Merge patches as RFC 7396 has them, and as jobs need them."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.api.bodies.patch import merged, patched, postable
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.targets.targets import HttpTarget, SqsTarget
from tests.support.every_target import EVERY_TARGET
from tests.support.jobs import job
from tests.support.posting import read


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_rfc_7396_hold(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result


@pytest.mark.parametrize("target", EVERY_TARGET)
def test_an_empty_patch_of_any_job_is_that_job(target: Any) -> None:
    of = job(target=target, completion_seconds=86_400)
    assert patched(of, {}) == postable(of)
    assert read(postable(of) | {"target": {"type": "sqs", "queue": "duecourse-target-a"}}).id == of.id


def test_a_target_of_another_type_takes_nothing_over() -> None:
    of = job(target=HttpTarget("https://example.com/a", headers=(("X", "1"),)))
    queue = {"type": "sqs", "queue": "duecourse-target-a"}
    assert patched(of, {"target": queue})["target"] == queue
    assert patched(of, {"target": {"type": "http", "method": "PUT"}})["target"]["headers"] == {"X": "1"}
    assert patched(of, {"task": "x"}).keys() >= {"task"}
    assert "target" not in patched(of, {"task": "x"})
    assert patched(job(target=SqsTarget("q", "g")), {"target": {"group": None}})["target"] == {
        "type": "sqs",
        "queue": "q",
    }


def test_null_takes_the_schedule_away_and_with_it_where_a_rate_counts_from() -> None:
    rated = job("rate(10 minutes)", target=SqsTarget("duecourse-target-a"))
    patch = patched(rated, {"schedule": None})
    assert (patch["schedule"], patch["anchor"]) == (None, None)
    assert read(patch).schedule == ScheduleSpec("")
    assert patched(rated, {"schedule": None, "anchor": "2027-01-01T00:00:00Z"})["anchor"] == "2027-01-01T00:00:00Z"
    assert patched(rated, {"name": "x"})["schedule"] == "rate(10 minutes)"


def test_a_job_without_a_schedule_is_given_one() -> None:
    asked = job("", target=SqsTarget("duecourse-target-a"))
    assert patched(asked, {"name": "x"})["schedule"] is None
    assert read(patched(asked, {"schedule": "0 9 * * 1", "anchor": None})).schedule == ScheduleSpec("0 9 * * 1")
