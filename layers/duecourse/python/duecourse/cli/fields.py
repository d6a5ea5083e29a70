"""The limits and defaults of the fields of requests, from the OpenAPI document, for options and imports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@cache
def _schemas() -> Mapping[str, Any]:
    document: Any = json.loads((files("duecourse") / "api/openapi/openapi.json").read_bytes())
    schemas: Mapping[str, Any] = document["components"]["schemas"]
    return schemas


def declared(schema: str, *path: str) -> Mapping[str, Any]:
    """Return the schema of a field of a request."""
    found: Mapping[str, Any] = _schemas()[schema]
    for name in path:
        found = found["properties"][name]
        found = _schemas()[found["$ref"].rpartition("/")[2]] if "$ref" in found else found
    return found


def alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schemas that a value can match, without null and without references."""
    if "$ref" in schema:
        return alternatives(_schemas()[schema["$ref"].rpartition("/")[2]])
    if "properties" not in schema and ("anyOf" in schema or "oneOf" in schema):
        return [part for each in schema.get("anyOf", schema.get("oneOf", ())) for part in alternatives(each)]
    return [] if schema.get("type") == "null" else [schema]


def number_option(flag: str, schema: str, name: str, text: str = "", metavar: str = "NUMBER") -> Callable[[F], F]:
    """Return the option for a number of a request. Its help is `text` (by default, the description of the field), and
    the field's limits and default.
    """
    field = declared(schema, name)
    default = "" if field.get("default") is None else f"  [default: {field['default']}]"
    limits = click.IntRange(field["minimum"], field["maximum"])
    return click.option(flag, type=limits, metavar=metavar, help=f"{text or field['description']}{default}")
