"""The schemas of the document, as pydantic makes them of the models of requests and of the types of answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from duecourse.api.answers import GatewayMessage, ProblemAnswer, StateProblemAnswer
from duecourse.api.bodies.job_answer import JobPatch
from duecourse.api.routes.table import ROUTES

Schema = dict[str, Any]

PREFIX = "#/components/schemas/"
REQUESTS = tuple(dict.fromkeys(route.body for route in ROUTES if route.body is not None))
ANSWERS = (
    *dict.fromkeys(answer for route in ROUTES for answer in route.answers.values() if answer is not None),
    ProblemAnswer,
    StateProblemAnswer,
    GatewayMessage,
)

_MERGED = frozenset({"target", "retry", "missed"})
"""The fields of a job that a patch merges."""

_OPEN = frozenset({"Problem", "StateProblem", "OpenApiDocument"})
"""Answers that other schemas add to."""

_KEYWORDS = {"ge": "minimum", "le": "maximum"}
"""What pydantic calls bounds that stand behind a validator of our own."""


class _Plain(GenerateJsonSchema):
    """Without the titles that only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        del schema
        return False


def schemas(*, closed: bool = False) -> Schema:
    """All components, by name. `closed`: answers may hold nothing that is not written down. That is for tests; clients
    have to expect more.
    """
    inputs: list[tuple[Any, JsonSchemaMode, TypeAdapter[Any]]] = [
        *((model, "validation", TypeAdapter(model)) for model in REQUESTS),
        *((answer, "serialization", TypeAdapter(answer)) for answer in ANSWERS),
    ]
    _, made = TypeAdapter.json_schemas(inputs, ref_template=PREFIX + "{model}", schema_generator=_Plain)
    names = {name: _tidy_name(name) for name in made["$defs"]}
    tidy: Schema = {names[name]: _tidied(schema, names) for name, schema in made["$defs"].items()}
    for name, schema in tidy.items():
        if name not in _taken(tidy) and name not in _OPEN and "properties" in schema:
            schema.pop("additionalProperties", None)
            if closed:
                schema["additionalProperties"] = False
    tidy["JobPatch"] = _patch_of(tidy["JobRequest"])
    tidy["BatchRequest"]["properties"]["jobs"]["items"] = {
        "description": "A job as POST /v1/jobs takes it; anything else gets a problem of its own.",
        "anyOf": [{"$ref": PREFIX + "JobRequest"}, {}],
    }
    return dict(sorted(tidy.items()))


def name_of(model: Any) -> str:
    """The component of a request's model or of an answer's type."""
    arguments = getattr(model, "__args__", ())
    return f"{name_of(arguments[0])}Page" if arguments else _tidy_name(model.__name__)


_ROOTS = {model.__name__ for model in REQUESTS}


def _tidy_name(name: str) -> str:
    """`JobBody` is JobRequest; what it is made of keeps its name, and is `…Shown` in answers where they differ."""
    if page := re.fullmatch(r"PageAnswer_(\w+)Answer_", name):
        return f"{page[1]}Page"
    if name in _ROOTS:
        return re.sub("Body$", "Request", name)
    if name.endswith("-Output"):
        return re.sub("Body-Output$", "Shown", name)
    return re.sub("(Answer|Body|Body-Input)$", "", name)


def _taken(tidy: Mapping[str, Schema]) -> set[str]:
    """What requests are made of: those models refuse what they do not know."""
    found: set[str] = set()
    pending = [name_of(model) for model in REQUESTS]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += re.findall(rf"'{PREFIX}(\w+)'", str(tidy[name]))
    return found


def _tidied(schema: Any, names: Mapping[str, str]) -> Any:
    """With the names that the document uses, `type: [string, null]` where that says it all, and without titles."""
    match schema:
        case {"anyOf": [{"type": str(kind)} as one, {"type": "null"}], **rest} if not {"enum", "const"} & one.keys():
            return _tidied(one | rest | {"type": [kind, "null"]}, names)
        case {"$ref": str(ref), **rest}:
            return _tidied(rest, names) | {"$ref": PREFIX + names[ref.removeprefix(PREFIX)]}
        case {"discriminator": {"mapping": dict(mapping), **others}, **rest}:
            moved = {word: _tidied({"$ref": ref}, names)["$ref"] for word, ref in mapping.items()}
            return _tidied(rest, names) | {"discriminator": {**others, "mapping": moved}}
        case dict():
            kept = ((key, value) for key, value in schema.items() if not (key == "title" and isinstance(value, str)))
            return {_KEYWORDS.get(key, key): _value(key, value, names) for key, value in kept}
        case list():
            return [_tidied(each, names) for each in schema]
    return schema


def _value(key: str, value: Any, names: Mapping[str, str]) -> Any:
    """Names of properties are no keywords; examples and defaults are no schemas."""
    if key == "properties":
        return {name: _tidied(each, names) for name, each in value.items()}
    return value if key in ("default", "examples", "example", "const", "enum") else _tidied(value, names)


def _patch_of(job: Schema) -> Schema:
    """The merge patch of a job: every field may be left out, or be null, which brings back its default."""
    properties: Schema = {}
    for name, schema in job["properties"].items():
        without = {key: value for key, value in schema.items() if key != "default"}
        if name in _MERGED:
            properties[name] = {"type": ["object", "null"], "description": "Merged into the one that the job has."}
        elif isinstance(kind := schema.get("type"), str):
            words = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
            properties[name] = without | {"type": [kind, "null"]} | words
        else:
            properties[name] = without
    return {
        "type": "object",
        "description": JobPatch.__doc__,
        "properties": properties,
        "additionalProperties": {"type": "null"},
    }
