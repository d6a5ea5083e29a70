"""Dataclasses as documents and back."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from duecourse.domain.documents import from_document, part_of, read_fields, to_document, without_defaults


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    words: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Outer:
    colour: Colour
    inner: Inner
    colours: tuple[Colour, ...] = ()
    number: int | None = None
    anything: Any = None


WHOLE = Outer(Colour.RED, Inner(("a", "b")), (Colour.RED,), 3, {"a": [1]})
DOCUMENT = {"colour": "red", "inner": {"words": ["a", "b"]}, "colours": ["red"], "number": 3, "anything": {"a": [1]}}


def test_document_contains_every_field_in_plain_json() -> None:
    document = to_document(WHOLE)
    assert json.loads(json.dumps(document)) == document == DOCUMENT
    assert type(document["colour"]) is str


def test_document_round_trips_through_its_reader() -> None:
    assert from_document(Outer, DOCUMENT) == WHOLE


def test_document_can_be_limited_to_some_fields() -> None:
    assert part_of(WHOLE, ("number", "colours")) == {"number": 3, "colours": ["red"]}


def test_document_uses_defaults_for_missing_fields_and_ignores_unknown_ones() -> None:
    assert from_document(Outer, {"colour": "red", "inner": {}, "later": 1}) == Outer(Colour.RED, Inner())


def test_document_without_defaults_keeps_other_fields_at_every_depth() -> None:
    assert without_defaults(Outer(Colour.RED, Inner())) == {"colour": "red", "inner": {}}
    assert without_defaults(WHOLE) == DOCUMENT
    assert without_defaults(WHOLE, ("inner", "number")) == {"inner": {"words": ["a", "b"]}, "number": 3}
    assert from_document(Outer, without_defaults(WHOLE)) == WHOLE


def test_document_keeps_null_values() -> None:
    assert from_document(Inner, {"words": None}) == Inner(None)
    assert to_document(Inner(None)) == {"words": None}


def test_document_reader_uses_given_values_unchanged() -> None:
    assert read_fields(Inner, {"words": ["a"]}, words=("b",)) == {"words": ("b",)}


def test_document_with_an_unknown_enum_value_is_rejected() -> None:
    with pytest.raises(ValueError, match="green"):
        from_document(Outer, DOCUMENT | {"colour": "green"})


def test_document_without_a_required_field_is_rejected() -> None:
    with pytest.raises(TypeError, match="colour"):
        from_document(Outer, {"inner": {}})
