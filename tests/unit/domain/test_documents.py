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


def test_a_document_says_every_field_in_plain_json() -> None:
    document = to_document(WHOLE)
    assert json.loads(json.dumps(document)) == document == DOCUMENT
    assert type(document["colour"]) is str


def test_a_document_is_read_back_as_it_was() -> None:
    assert from_document(Outer, DOCUMENT) == WHOLE


def test_some_of_the_fields_can_be_asked_for() -> None:
    assert part_of(WHOLE, ("number", "colours")) == {"number": 3, "colours": ["red"]}


def test_what_an_earlier_release_left_out_has_its_default_and_what_a_later_one_adds_is_ignored() -> None:
    assert from_document(Outer, {"colour": "red", "inner": {}, "later": 1}) == Outer(Colour.RED, Inner())


def test_documents_without_defaults_have_the_other_fields_at_every_depth() -> None:
    assert without_defaults(Outer(Colour.RED, Inner())) == {"colour": "red", "inner": {}}
    assert without_defaults(WHOLE) == DOCUMENT
    assert without_defaults(WHOLE, ("inner", "number")) == {"inner": {"words": ["a", "b"]}, "number": 3}
    assert from_document(Outer, without_defaults(WHOLE)) == WHOLE


def test_null_stays_null() -> None:
    assert from_document(Inner, {"words": None}) == Inner(None)
    assert to_document(Inner(None)) == {"words": None}


def test_what_is_known_already_is_taken_as_it_is() -> None:
    assert read_fields(Inner, {"words": ["a"]}, words=("b",)) == {"words": ("b",)}


def test_a_word_that_is_none_of_the_enum_is_refused() -> None:
    with pytest.raises(ValueError, match="green"):
        from_document(Outer, DOCUMENT | {"colour": "green"})


def test_a_field_without_a_default_must_be_there() -> None:
    with pytest.raises(TypeError, match="colour"):
        from_document(Outer, {"inner": {}})
