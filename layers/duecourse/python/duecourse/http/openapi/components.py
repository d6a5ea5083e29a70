"""The schemas of the document, made from the pydantic models of requests and answers."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from duecourse.http.batch import BatchBody
from duecourse.http.callbacks import CompleteBody, FailBody
from duecourse.http.dead_letters import RedriveBody
from duecourse.http.job_body import JobBody
from duecourse.http.manual import BackfillBody, RunBody, SkipBody
from duecourse.http.openapi.details import Schema, detail, patch_of
from duecourse.http.openapi.responses import ANSWERS
from duecourse.http.openapi.shapes import Shape
from duecourse.http.pausing import PauseBody, PauseManyBody, ResumeBody, ResumeManyBody
from duecourse.http.preview import PreviewBody

REQUESTS: tuple[type[BaseModel], ...] = (
    JobBody,
    BatchBody,
    PauseBody,
    PauseManyBody,
    ResumeBody,
    ResumeManyBody,
    RunBody,
    BackfillBody,
    SkipBody,
    CompleteBody,
    FailBody,
    RedriveBody,
    PreviewBody,
)
"""The bodies that operations name."""

_PREFIX = "#/components/schemas/"
_BODY = re.compile(r"(?<=.)Body$")
_KEYWORDS = {"ge": "minimum", "le": "maximum"}
"""What pydantic calls bounds that stand behind a validator of our own."""


class _Plain(GenerateJsonSchema):
    """Without the titles that only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        del schema
        return False


def schemas(*, closed: bool = False) -> Schema:
    """All components, by name. Bodies of requests are called `…Request`, what they are made of by its own name.

    `closed`: answers may hold nothing that is not written down. That is for tests; clients have to expect more.
    """
    modes: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in (*REQUESTS, *ANSWERS)]
    _, made = models_json_schema(modes, ref_template=_PREFIX + "{model}", schema_generator=_Plain)
    found: Schema = made["$defs"]
    detail(found)
    if not closed:
        for shape in _shapes(Shape):
            found.get(shape.__name__, {}).pop("additionalProperties", None)
    roots = {model.__name__ for model in REQUESTS}
    names = {name: _BODY.sub("Request" if name in roots else "", name) for name in found}
    names |= {name: f"{names[name]}Policy" for name in ("RetryBody", "MissedBody")}
    tidy: Schema = {names[name]: _tidied(schema, names) for name, schema in found.items()}
    tidy["JobPatch"] = patch_of(tidy["JobRequest"])
    tidy["BatchRequest"]["properties"]["jobs"]["items"] = {
        "description": "A job as POST /v1/jobs takes it; anything else gets a problem of its own.",
        "anyOf": [{"$ref": _PREFIX + "JobRequest"}, {}],
    }
    return dict(sorted(tidy.items()))


def _shapes(root: type[Shape]) -> list[type[Shape]]:
    return [shape for child in root.__subclasses__() for shape in (child, *_shapes(child))]


def _tidied(schema: Any, names: dict[str, str]) -> Any:
    """With the names that the document uses, `type: [string, null]` where that says it all, and without titles."""
    match schema:
        case {"anyOf": [{"type": str(kind)} as one, {"type": "null"}], **rest} if not {"enum", "const"} & one.keys():
            return _tidied(one | rest | {"type": [kind, "null"]}, names)
        case {"$ref": str(ref), **rest}:
            return _tidied(rest, names) | {"$ref": _PREFIX + names[ref.removeprefix(_PREFIX)]}
        case {"discriminator": {"mapping": dict(mapping), **told}, **rest}:
            moved = {word: _tidied({"$ref": ref}, names)["$ref"] for word, ref in mapping.items()}
            return _tidied(rest, names) | {"discriminator": {**told, "mapping": moved}}
        case dict():
            kept = ((key, value) for key, value in schema.items() if not (key == "title" and isinstance(value, str)))
            return {_KEYWORDS.get(key, key): _value(key, value, names) for key, value in kept}
        case list():
            return [_tidied(each, names) for each in schema]
    return schema


def _value(key: str, value: Any, names: dict[str, str]) -> Any:
    """Names of properties are no keywords; examples and defaults are no schemas."""
    if key == "properties":
        return {name: _tidied(each, names) for name, each in value.items()}
    return value if key in ("default", "examples", "example", "const", "enum") else _tidied(value, names)
