"""Conversion between frozen dataclasses and JSON documents, by the types of the fields.

The module also has checks of values that were read from JSON: one for each type, with a description of the expected
value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

LATEST = 253_402_300_799
"""The last second that can be formatted (9999-12-31T23:59:59Z)."""


def _are_pairs(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, list) and [type(part) for part in each] == [str, str] for each in value
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_whole(value) and cast(int, value) >= 1


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_instant(value: object) -> bool:
    """Return whether the value is an instant. Instants out of range cannot be formatted, even for a log line."""
    return _is_whole(value) and 0 <= cast(int, value) <= LATEST


def _is_anything(_value: object) -> bool:
    return True


TEXT = (_is_text, "text")
COUNT = (_is_count, "a whole number from 1")
INSTANT = (_is_instant, "whole UTC seconds")
NUMBER = (_is_number, "UTC seconds")
WHOLE = (_is_whole, "a whole number")
FLAG = (_is_flag, "true or false")
SECONDS = (_is_number, "seconds")
ANYTHING = (_is_anything, "any JSON value")
PAIRS = (_are_pairs, "pairs of a message id and a nonce")


T = TypeVar("T")
Convert = Callable[[Any], Any]


def to_document(value: Any) -> dict[str, Any]:
    """Return a dataclass as a JSON object. Enums become their values, tuples become lists, and dataclasses become
    objects. Other values are unchanged.
    """
    return part_of(value, tuple(_fields(value.__class__)))


def part_of(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the named fields of a dataclass, converted as by `to_document`."""
    converts = _fields(value.__class__)
    document = {}
    for name in names:
        found, write = getattr(value, name), converts[name][1]
        document[name] = found if write is None or found is None else write(found)
    return document


def without_defaults(value: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the (named) fields of a dataclass that do not have their default, converted as by `part_of`. The same
    applies to nested dataclasses.

    `read_fields` and `from_document` fill in the other fields, so a default of a stored dataclass must never change.
    """
    defaults = _defaults(value.__class__)
    document: dict[str, Any] = {}
    for name in _fields(value.__class__) if names is None else names:
        found = getattr(value, name)
        inner = without_defaults(found) if is_dataclass(found) else None
        if name in defaults and found == defaults[name] and type(found) is type(defaults[name]) and not inner:
            continue  # 2.0 does not count as the default 2: it is shown as it was posted
        document |= part_of(value, (name,)) if inner is None else {name: inner}
    return document


def from_document(kind: type[T], document: Mapping[str, Any]) -> T:
    """Return the dataclass that a document represents. Raises the exceptions of `read_fields`, and TypeError for a
    missing field without a default.
    """
    return kind(**read_fields(kind, document))


def read_fields(kind: type, document: Mapping[str, Any], **known: Any) -> dict[str, Any]:
    """Return the fields of a dataclass from a document, in addition to those that are `known`. Missing fields keep
    their defaults; unknown names are ignored.

    Raises ValueError for an invalid value of an enum.
    """
    for name, (read, _) in _fields(kind).items():
        if name not in known and name in document:
            value = document[name]
            known[name] = value if read is None or value is None else read(value)
    return known


@cache
def _fields(kind: type) -> Mapping[str, tuple[Convert | None, Convert | None]]:
    """Return the conversions from JSON and to JSON of each field. None if the value is the same in both."""
    types = types_of(kind)
    return {field.name: _converts(types[field.name]) for field in fields(kind)}


@cache
def types_of(kind: type) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields, without what `Annotated` declares (domain.declared)."""
    base: type = kind.__mro__[1]
    types = dict(types_of(base)) if is_dataclass(base) else {}
    texts = {each.name: _plain(each.type) for each in fields(kind) if each.name not in types}
    return types | get_type_hints(SimpleNamespace(__annotations__=texts), vars(sys.modules[kind.__module__]))


def _plain(text: Any) -> Any:
    """Return the first argument of the text `Annotated[…]`. Other texts, and types, are unchanged."""
    if not isinstance(text, str) or not text.startswith("Annotated["):
        return text
    first = ""
    for part in text.removeprefix("Annotated[").split(","):
        first += part
        if first.count("[") == first.count("]"):
            break
        first += ","
    return first


@cache
def _defaults(kind: type[Any]) -> Mapping[str, Any]:
    """Return the defaults of the fields that have one."""
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
        if field.default is not MISSING or field.default_factory is not MISSING
    }


def _converts(kind: Any) -> tuple[Convert | None, Convert | None]:
    if isinstance(kind, UnionType):
        options = [option for option in get_args(kind) if option is not NoneType]
        return _converts(options[0]) if len(options) == 1 else (None, None)
    if get_origin(kind) is tuple:
        read, write = _converts(get_args(kind)[0])
        return (
            tuple if read is None else lambda values: tuple(map(read, values)),
            list if write is None else lambda values: list(map(write, values)),
        )
    if isinstance(kind, type) and is_dataclass(kind):
        return partial(from_document, kind), to_document
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind, str.__str__
    return None, None
