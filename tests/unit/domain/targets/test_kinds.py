"""The kinds of targets: each definition fits its model, the API, its caller and what else is made from it."""

from __future__ import annotations

from importlib import import_module
from typing import get_args, get_type_hints

import pytest
from botocore.session import get_session

from duecourse.api.bodies.target_bodies import TARGET_BODIES
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS
from duecourse.domain.targets.kinds import TARGETS, TargetKind, target_document
from duecourse.domain.targets.targets import CallableTarget, Target
from scripts.console_kinds import FILE, written

KINDS = pytest.mark.parametrize(("word", "kind"), TARGETS.items(), ids=list(TARGETS))
POSTED = {word: kind for word, kind in TARGETS.items() if kind.postable}


def test_kinds_are_one_for_each_model() -> None:
    models = {model for union in get_args(Target) for model in (get_args(union) or (union,))}
    assert {kind.model for kind in TARGETS.values()} == models


@KINDS
def test_kinds_have_the_fields_and_an_example_of_their_model(word: str, kind: TargetKind) -> None:
    assert set(kind.fields) == set(kind.example) == set(kind.model.__dataclass_fields__)
    assert target_document(kind.target(kind.example)) == {"type": word} | {
        name: tuple(value) if isinstance(value, list) else value for name, value in kind.example.items()
    }


@KINDS
def test_kinds_name_only_their_fields_in_their_lines(word: str, kind: TargetKind) -> None:
    values = dict.fromkeys(kind.fields, word)
    assert kind.text.format(**values)
    assert kind.short.format(**values)


def test_kinds_that_may_be_posted_have_a_body_with_their_fields() -> None:
    bodies = {word: set(model.model_fields) - {"type"} for word, model in TARGET_BODIES.items()}
    assert bodies == {word: set(kind.fields) for word, kind in POSTED.items()}


@pytest.mark.parametrize(("word", "kind"), POSTED.items(), ids=list(POSTED))
def test_kinds_say_what_to_write_into_each_field_that_must_be_posted(word: str, kind: TargetKind) -> None:
    required = {name for name, field in TARGET_BODIES[word].model_fields.items() if field.is_required()} - {"type"}
    assert {name for name, field in kind.fields.items() if field.wanted is not None} == required


@KINDS
def test_kinds_that_are_called_have_a_caller_for_their_model(word: str, kind: TargetKind) -> None:
    assert (kind.call is not None) == issubclass(kind.model, get_args(CallableTarget)), word
    if kind.call is not None:
        module, _, name = kind.call.partition(":")
        assert get_type_hints(getattr(import_module(module), name).call)["target"] is kind.model
    assert not kind.service or kind.service in get_session().get_available_services()


@KINDS
def test_kinds_permit_the_workers_what_a_stage_allows_jobs(word: str, kind: TargetKind) -> None:
    named = {each for each, _ in kind.named(kind.target(kind.example))}
    permitted = {name for each in kind.permissions for name in (each.of, *each.needs)}
    assert named <= set(ALLOW_LISTS)
    assert permitted <= {*ALLOW_LISTS, "task_roles"}
    assert named - permitted <= {"subnets", "security_groups"}, f"{word}: no role may use what jobs may name"


def test_kinds_in_the_console_are_these() -> None:
    assert FILE.read_text(encoding="utf-8") == written(), "run make openapi"
