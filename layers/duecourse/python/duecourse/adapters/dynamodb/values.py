"""Conversion between Python values and low-level attribute values. None is never stored: the attribute is absent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from duecourse.adapters.dynamodb.keys import Item


def number(value: float) -> dict[str, str]:
    """Return a number attribute. A float keeps at least milliseconds (repr is exact)."""
    return {"N": repr(value)}


def pack(values: Mapping[str, object]) -> Item:
    """Return the attributes of values of the types str, int, float and bool. None is omitted."""
    item: Item = {}
    for name, value in values.items():
        match value:
            case None:
                continue
            case bool():
                item[name] = {"BOOL": value}
            case int() | float():
                item[name] = number(value)
            case str():
                item[name] = {"S": str(value)}
            case _:
                raise TypeError(f"{name}: a value of type {type(value).__name__} cannot be stored")
    return item


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
