"""The schemas in the API's document: their keywords, bounds, defaults and examples."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from scripts.openapi.document import assemble
from tests.support.openapi import resolved, validator

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OF_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
OF_STRINGS = {"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}
OF_ARRAYS = {"items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems"}
OF_OBJECTS = {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"}
OF_OBJECTS |= {"required", "dependentRequired", "dependentSchemas", "minProperties", "maxProperties"}
OF_ALL = {"type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$defs"}
OF_ALL |= {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
OF_OPENAPI = {"discriminator", "example", "externalDocs", "xml"}
APPLIES = {"number": OF_NUMBERS, "string": OF_STRINGS, "array": OF_ARRAYS, "object": OF_OBJECTS}
LISTS, MAPS = ("allOf", "anyOf", "oneOf", "prefixItems"), ("properties", "patternProperties", "$defs")
SINGLE = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else")


class Found(NamedTuple):
    """A schema and its place in the document."""

    at: str
    schema: Schema


def roots(part: Any, at: str = "#") -> Iterator[Found]:
    """Return the schemas of components, and those in parameters, headers and contents."""
    if isinstance(part, Mapping):
        for name, value in part.items():
            if name in ("example", "examples"):
                continue
            if name == "schema" or at == "#/components/schemas":
                yield Found(f"{at}/{name}", value)
            else:
                yield from roots(value, f"{at}/{name}")
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from roots(value, f"{at}/{number}")


def within(found: Found) -> Iterator[Found]:
    """Return a schema and those within it."""
    at, schema = found
    yield found
    for name in LISTS:
        for number, each in enumerate(schema.get(name, ())):
            yield from within(Found(f"{at}/{name}/{number}", each))
    for name in MAPS:
        for key, each in schema.get(name, {}).items():
            yield from within(Found(f"{at}/{name}/{key}", each))
    for name in SINGLE:
        if isinstance(schema.get(name), dict):
            yield from within(Found(f"{at}/{name}", schema[name]))


DOCUMENT = assemble()
ROOTS = list(roots(DOCUMENT))
ALL = [each for root in ROOTS for each in within(root)]


def faults(schema: Schema) -> Iterator[str]:
    """Return the contradictions in a schema, without those within its parts."""
    known = OF_ALL | OF_OPENAPI | OF_NUMBERS | OF_STRINGS | OF_ARRAYS | OF_OBJECTS
    yield from (f"{name} is not a keyword" for name in schema if name not in known and not name.startswith("x-"))
    kinds = schema.get("type", [])
    kinds = {"number" if kind == "integer" else kind for kind in ([kinds] if isinstance(kinds, str) else kinds)}
    for kind, keywords in APPLIES.items():
        if kinds and kind not in kinds:
            yield from (f"{name} does not apply to {sorted(kinds)}" for name in sorted(schema.keys() & keywords))
    for least, most in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")):
        if least in schema and most in schema and schema[least] > schema[most]:
            yield f"{least} is larger than {most}"
    lowest, below = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("exclusiveMaximum")
    if lowest is not None and below is not None and lowest >= below:
        yield "no number is within the bounds"
    if schema.get("type") == "integer":
        yield from (f"{name} is not whole" for name in schema.keys() & OF_NUMBERS if schema[name] != int(schema[name]))
    if len(schema.get("enum", ())) != len({json.dumps(value) for value in schema.get("enum", ())}):
        yield "enum has a value twice"
    if "properties" in schema and not set(schema.get("required", ())) <= schema["properties"].keys():
        yield "required names unknown properties"
    if schema.get("uniqueItems") and isinstance(schema.get("items"), dict):
        values = resolved(schema["items"]).get("enum")
        for name in ("minItems", "maxItems"):
            if values is not None and schema.get(name, 0) > len(values):
                yield f"{name} is larger than the number of values"
    if "pattern" in schema:
        re.compile(schema["pattern"])


def test_openapi_schemas_follow_the_meta_schema() -> None:
    assert len(ROOTS) > 200
    for at, schema in ROOTS:
        assert jsonschema_rs.meta.is_valid({"$schema": DIALECT, **schema}), at


def test_openapi_schemas_have_no_contradictions() -> None:
    assert [f"{at}: {fault}" for at, schema in ALL for fault in faults(schema)] == []


def test_openapi_schemas_have_valid_defaults_examples_and_values() -> None:
    wrong = []
    for at, schema in ALL:
        values = [*schema.get("examples", ()), *schema.get("enum", ())]
        values += [schema[name] for name in ("default", "example", "const") if name in schema]
        check = validator(json.dumps(schema)) if values else None
        wrong += [f"{at}: {value!r}" for value in values if check is not None and not check.is_valid(value)]
    assert wrong == []


def test_openapi_schemas_of_parameters_and_headers_accept_their_examples() -> None:
    tried, wrong = 0, []

    def check(part: Any, at: str = "#") -> None:
        nonlocal tried
        if isinstance(part, dict):
            if isinstance(part.get("schema"), dict):
                examples = [part["example"]] if "example" in part else []
                examples += [each["value"] for each in part.get("examples", {}).values()]
                tried += len(examples)
                valid = validator(json.dumps(part["schema"])).is_valid
                wrong.extend(f"{at}: {example!r}" for example in examples if not valid(example))
            for name, each in part.items():
                check(each, f"{at}/{name}")
        elif isinstance(part, list):
            for number, each in enumerate(part):
                check(each, f"{at}/{number}")

    check(DOCUMENT)
    assert (tried > 100, wrong) == (True, [])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "lt": 60},
        {"type": "integer", "minLength": 1},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "integer", "minimum": 60, "exclusiveMaximum": 60},
        {"type": "integer", "maximum": 0.5},
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "maxItems": 3},
        {"enum": ["a", "a"]},
        {"properties": {"a": {}}, "required": ["b"]},
    ],
    ids=json.dumps,
)
def test_openapi_schemas_are_really_checked(schema: Schema) -> None:
    assert len(list(faults(schema))) == 1
