"""Conversion between Python values and low-level attribute values. None is never stored: the attribute is absent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args

import orjson

from duecourse.domain.documents import types_of
from duecourse.stores.keys import Item

T = TypeVar("T")


class Digits(str):
    """A number as its decimal digits, for a number with more digits than a float has. DynamoDB keeps 38 digits."""

    __slots__ = ()


def number(value: float) -> dict[str, str]:
    """Return a number attribute. A float keeps at least milliseconds (repr is exact)."""
    return {"N": repr(value)}


def pack(values: Mapping[str, object]) -> Item:
    """Return the attributes of values of the types str, int, float and bool, and of sets of str. None and empty sets
    are omitted.
    """
    return {name: attribute(value) for name, value in values.items() if value is not None and value != frozenset()}


def attribute(value: object) -> dict[str, Any]:
    """Return the attribute of a value of one of these types."""
    kind = type(value)
    if kind is str:  # the two kinds of nearly all values first: this function is called ten times for each claim
        return {"S": value}
    if kind is int:
        return {"N": repr(value)}
    match value:
        case Digits():
            return {"N": str(value)}
        case str():
            return {"S": str(value)}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return number(value)
        case frozenset():
            return {"SS": sorted(value)}
        case _:
            raise TypeError(f"a value of type {kind.__name__} cannot be stored")


def field_names(kind: type) -> Set[str]:
    """Return the names of a dataclass's fields that have an attribute type."""
    return _readers(kind).keys()


def read(kind: type[T], item: Item, **given: object) -> T:
    """Return a dataclass with the given fields, and with those that the item has as attributes of the same names. The
    others have their defaults. Raises KeyError if a field has none, and ValueError for an invalid value.
    """
    of: type = kind
    for name, (_, required, attribute, convert) in _readers(of).items():
        if name in item:
            given.setdefault(name, convert(item[name][attribute]))
        elif required and name not in given:
            raise KeyError(name)
    made: T = of(**given)
    return made


def read_fields(kind: type, item: Item, names: Iterable[str]) -> dict[str, Any]:
    """Return these fields of a dataclass, read from the item's attributes of the same names. If an attribute is absent,
    its field is None, or keeps its default if it cannot be None. Raises KeyError if it has no default either, and
    ValueError for an invalid value.
    """
    readers = _readers(kind)
    found: dict[str, Any] = {}
    for name in names:
        optional, required, attribute, convert = readers[name]
        if name in item:
            found[name] = convert(item[name][attribute])
        elif optional:
            found[name] = None
        elif required:
            raise KeyError(name)
    return found


@cache
def _readers(kind: type) -> Mapping[str, tuple[bool, bool, str, Callable[[Any], Any]]]:
    """Return for each field of a type that has an attribute type: whether it can be None, whether it has no default,
    the attribute's type, and the conversion of its value.
    """
    hints, readers = types_of(kind), dict[str, tuple[bool, bool, str, Callable[[Any], Any]]]()
    for field in (each for each in fields(kind) if each.init):
        kinds = get_args(hints[field.name])
        (one, *more) = [each for each in kinds if each is not NoneType] or [hints[field.name]]
        if not more and isinstance(one, type) and issubclass(one, str | int | float):
            attribute = "BOOL" if one is bool else "N" if issubclass(one, int | float) else "S"
            required = field.default is MISSING and field.default_factory is MISSING
            readers[field.name] = NoneType in kinds, required, attribute, one
    return readers


def text(item: Item, name: str) -> str:
    """Return a required string. Raises KeyError."""
    value: str = item[name]["S"]
    return value


def optional_text(item: Item, name: str) -> str | None:
    """Return a string, or None if it is absent."""
    return item[name]["S"] if name in item else None


def integer(item: Item, name: str) -> int:
    """Return a required integer. Raises KeyError or ValueError."""
    return int(item[name]["N"])


def optional_integer(item: Item, name: str) -> int | None:
    """Return an integer, or None if it is absent."""
    return int(item[name]["N"]) if name in item else None


def optional_float(item: Item, name: str) -> float | None:
    """Return a number, or None if it is absent."""
    return float(item[name]["N"]) if name in item else None


def flag(item: Item, name: str) -> bool:
    """Return a flag. An absent attribute is False."""
    return name in item


def document(value: Any) -> str:
    """Return the JSON text of plain values, dataclasses and enums."""
    return orjson.dumps(value).decode()


def ascii_document(value: Any) -> str:
    """Return the JSON text of a value in ASCII."""
    return json.dumps(value, separators=(",", ":"))


def parse(text: str) -> Any:
    """Return the value of a JSON text: the inverse of `document`."""
    return orjson.loads(text)
