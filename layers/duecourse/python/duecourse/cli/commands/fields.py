"""`duecourse fields`: the fields of jobs and workflows, from the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from duecourse.cli.fields import alternatives, declared
from duecourse.cli.output.documents import DescribedField, DescribedFields
from duecourse.cli.output.jobs import print_fields_of
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, UsageError, outputs, plain, say

Schema = Mapping[str, Any]


@click.command(cls=Command, example="duecourse fields retry\nduecourse fields target.http.auth")
@click.argument("path", metavar="[FIELD]", default="")
@outputs()
def fields(path: str, as_json: bool) -> None:
    """Describe the fields of a job, or the fields within FIELD, such as retry or target.http: their values, limits and
    defaults. The fields of a workflow are in the field workflow.
    """
    names = path.split(".") if path else []
    is_workflow = names[:1] == ["workflow"]
    found = alternatives(declared("WorkflowRequest" if is_workflow else "JobRequest"))
    for name in names[is_workflow:]:
        found = _within(found, name)
    objects = [each for each in found if "properties" in each]
    if as_json:
        described = [(name, field) for each in objects for name, field in each["properties"].items()]
        items = [DescribedField(name=name, schema=dict(field)) for name, field in described]
        print_json(DescribedFields(items=items, next_cursor=None))
        return
    if others := dict.fromkeys(_values(each) for each in found if each not in objects):
        say(" or ".join([*others, *["an object:"] * bool(objects)]))
    for number, each in enumerate(objects):
        if len(objects) > 1:
            click.echo(("\n" if number else "") + (_kind(each) or "object"))
        print_fields_of({name: _described(field) for name, field in each["properties"].items()})


def _within(found: Sequence[Schema], name: str) -> list[Schema]:
    """Return the schemas of a field, or of the objects of this type. Raises UsageError."""
    named = [each["properties"][name] for each in found if name in each.get("properties", ())]
    inner = [each for field in named for each in alternatives(field)]
    inner = inner or [each for each in found if _kind(each) == name]
    if not inner:
        known = [key for each in found for key in (_kind(each), *each.get("properties", ())) if key]
        near = " or ".join(get_close_matches(name, known)) or "one of " + ", ".join(dict.fromkeys(known))
        raise UsageError(plain(f"there is no field {name}; write {near}"))
    return [part for each in inner for part in _parts(each)]


def _parts(schema: Schema) -> list[Schema]:
    """Return the items of a list, the values of an object with any names, or else the schema itself."""
    inner = schema.get("items") or next(iter(schema.get("patternProperties", {}).values()), None)
    return [schema] if inner is None else alternatives(inner)


def _kind(schema: Schema) -> str | None:
    """Return the value of the field `type` of an object, such as http."""
    kind: str | None = schema.get("properties", {}).get("type", {}).get("const")
    return kind


def _described(field: Schema) -> str:
    found = list(dict.fromkeys(map(_values, alternatives(field))))
    default = field.get("default")
    return ". ".join(
        [
            " or ".join(found) + ("" if default in (None, "") else f" [default: {json.dumps(default)}]"),
            *([str(field["description"]).rstrip(".")] if "description" in field else []),
        ]
    )


def _values(schema: Schema) -> str:
    """Return the values that a schema without alternatives allows, in words."""
    if "const" in schema or "enum" in schema:
        return ", ".join(map(str, schema.get("enum", [schema.get("const")])))
    kinds = schema.get("type", "anything")
    kind = next((each for each in kinds if each != "null"), "null") if isinstance(kinds, list) else kinds
    if kind == "array":
        return f"list of {' or '.join(dict.fromkeys(map(_values, alternatives(schema.get('items', {})))))}"
    if kind == "object":
        return _kind(schema) or "object"
    if "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}" if "maximum" in schema else f"from {schema['minimum']}"
    return "text" if kind == "string" else str(kind)
