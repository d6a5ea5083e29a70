"""A target as a JSON document, the same in requests, answers and the table."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.targets.kinds import target_document, target_of, type_of
from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaMode,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TaskTarget,
    WorkflowTarget,
)
from tests.support.every_target import EVERY_TARGET

texts = st.text(max_size=20)
few = st.lists(texts, max_size=3).map(tuple)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
targets = st.one_of(
    st.builds(
        HttpTarget,
        texts,
        texts,
        st.dictionaries(texts, texts).map(lambda pairs: tuple(pairs.items())),
        few,
        st.none() | texts,
    ),
    st.builds(LambdaTarget, texts, st.sampled_from(LambdaMode)),
    st.builds(SqsTarget, texts, st.none() | texts),
    st.builds(SnsTarget, texts, st.none() | texts, st.none() | texts),
    st.builds(EventBridgeTarget, texts, texts, texts),
    st.builds(StepFunctionsTarget, texts),
    st.builds(EcsTarget, texts, texts, texts, few, few, st.booleans()),
    st.builds(AwsTarget, texts, texts, values, texts),
    st.builds(TaskTarget, texts),
    st.builds(WorkflowTarget, texts),
)
KINDS = (*EVERY_TARGET, WorkflowTarget("3f2a"))
"""Those that can be posted, and the one that cannot."""


def over_the_wire(document: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(document))
    return read


@given(targets)
def test_any_target_survives_being_written_and_read(target: Target) -> None:
    assert target_of(over_the_wire(target_document(target))) == target
    assert target_of(target_document(target)) == target


def test_every_kind_of_target_has_an_example() -> None:
    kinds = {kind for union in get_args(Target) for kind in (get_args(union) or (union,))}
    assert {type(target) for target in KINDS} == kinds
    assert len({type_of(target) for target in KINDS}) == len(kinds)


@pytest.mark.parametrize("target", KINDS, ids=type_of)
def test_a_document_names_its_type_and_every_field(target: Target) -> None:
    document = target_document(target)
    assert document["type"] == type_of(target)
    assert set(document) == {"type", *type(target).__dataclass_fields__}


@pytest.mark.parametrize(
    ("document", "target"),
    [
        (
            {"type": "http", "url": "https://a.example/", "method": "GET", "headers": {"X-A": "1", "X-B": "2"}},
            HttpTarget("https://a.example/", "GET", (("X-A", "1"), ("X-B", "2"))),
        ),
        ({"type": "lambda", "function": "duecourse-target-a"}, LambdaTarget("duecourse-target-a")),
    ],
)
def test_a_document_of_the_first_release_reads_with_the_defaults(document: dict[str, Any], target: Target) -> None:
    assert target_of(document) == target


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown target type 'carrier-pigeon'"):
        target_of({"type": "carrier-pigeon"})
