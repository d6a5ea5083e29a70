"""Between Python values and low-level attribute values. Absent is absent: None is never stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from duecourse.adapters.dynamodb.keys import Item


def number(value: float) -> dict[str, str]:
    """A number; a float keeps milliseconds at least (repr is exact)."""
    return {"N": repr(value)}


def pack(values: Mapping[str, object]) -> Item:
    """Attributes of the given values: str, int, float, bool; None is omitted."""
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
                raise TypeError(f"{name}: {type(value).__name__} has no attribute type here")
    return item


def text(item: Item, name: str) -> str:
    """A required string. Raises KeyError."""
    value: str = item[name]["S"]
    return value


def optional_text(item: Item, name: str) -> str | None:
    """A string, or None when absent."""
    return item[name]["S"] if name in item else None


def integer(item: Item, name: str) -> int:
    """A required whole number. Raises KeyError, ValueError."""
    return int(item[name]["N"])


def optional_integer(item: Item, name: str) -> int | None:
    """A whole number, or None when absent."""
    return int(item[name]["N"]) if name in item else None


def optional_float(item: Item, name: str) -> float | None:
    """A number, or None when absent."""
    return float(item[name]["N"]) if name in item else None


def flag(item: Item, name: str) -> bool:
    """Whether something is so: False is absent."""
    return name in item


def document(value: Any) -> str:
    """JSON text of plain values, dataclasses and enums."""
    return orjson.dumps(value).decode()


def ascii_document(value: Any) -> str:
    """JSON text in ASCII."""
    return json.dumps(value, separators=(",", ":"))


def parse(text: str) -> Any:
    """The inverse of :func:`document`."""
    return orjson.loads(text)
