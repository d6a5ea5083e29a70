"""What openapi.json promises: see public_names.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from tests.support.release_code import PACKAGE, ROOT

METHODS = ("get", "put", "post", "patch", "delete")
MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")


class PublicHttp:
    """The facts of the document."""

    def __init__(self) -> None:
        self._document: dict[str, Any] = json.loads((ROOT / PACKAGE / "api/openapi/openapi.json").read_text())
        self._schemas: dict[str, dict[str, Any]] = self._document["components"]["schemas"]

    def kept(self) -> Iterator[str]:
        """What may not disappear. A field of a response also stays present, and has the same types."""
        for route, operation in self._operations():
            yield route
            for each in self._parameters(operation):
                yield f"{route} has {each['in']} {each['name']}"
                yield from self._facts(f"{route} {each['name']}", each["schema"], answered=False)
            for security in operation.get("security", ()):
                yield from (f"{route} accepts scope {scope}" for scopes in security.values() for scope in scopes)
            for status, answer in self._answers(operation):
                yield f"{route} answers {status}"
                yield from (f"{route} answers with header {name}" for name in answer.get("headers", ()))
                for content in answer.get("content", {}).values():
                    yield from (f"{route} answers {status} with {name}" for name in _names(content["schema"]))
                    written_out = self._facts(f"{route} answers {status}", content["schema"], answered=False)
                    yield from (fact for fact in written_out if " may be " in fact)  # the types of problems
        for name, schema in self._schemas.items():
            yield from self._facts(name, schema, answered=name in self._answered)

    def demanded(self) -> Iterator[str]:
        """What a caller has to send: required parameters, and the required fields of everything in a request."""
        for route, operation in self._operations():
            for each in self._parameters(operation):
                if each.get("required") and each["in"] != "path":
                    yield f"{route} needs {each['name']}"
        for name in self._asked:
            yield from _required(name, self._schemas[name])

    def limited(self) -> dict[str, float]:
        """The limits of what a caller may send, such as `JobRequest.name maxLength`: the widest one of each path."""
        found: dict[str, float] = {}
        asked = [(name, self._schemas[name]) for name in self._asked]
        for route, operation in self._operations():
            asked += [(f"{route} {each['name']}", each["schema"]) for each in self._parameters(operation)]
        for path, schema in asked:
            for name, limit in _limits(path, schema):
                widest = max if name.endswith(MOST) else min
                found[name] = widest(limit, found.get(name, limit))
        return found

    def _operations(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path, item in self._document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield f"{method.upper()} {path}", item[method]

    def _parameters(self, operation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for parameter in operation.get("parameters", ()):
            yield self._resolved(parameter)

    def _answers(self, operation: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        for status, answer in operation["responses"].items():
            yield status, self._resolved(answer)

    def _resolved(self, part: Mapping[str, Any]) -> dict[str, Any]:
        found: Any = part
        while "$ref" in found:
            found = self._document["components"][found["$ref"].split("/")[-2]][found["$ref"].split("/")[-1]]
        return dict(found)

    @cached_property
    def _asked(self) -> frozenset[str]:
        return self._reached(*(operation.get("requestBody", {}) for _, operation in self._operations()))

    @cached_property
    def _answered(self) -> frozenset[str]:
        return self._reached(*(answer for _, each in self._operations() for _, answer in self._answers(each)))

    def _reached(self, *parts: Mapping[str, Any]) -> frozenset[str]:
        """The schemas to which these parts refer, and those to which they refer."""
        found, pending = set[str](), [name for part in parts for name in _names(part)]
        while pending:
            name = pending.pop()
            if name in self._schemas and name not in found:
                found.add(name)
                pending += _names(self._schemas[name])
        return frozenset(found)

    def _facts(self, path: str, schema: Mapping[str, Any], *, answered: bool) -> Iterator[str]:
        """The fields, types, values and defaults of a schema, and of what is written out in it."""
        kinds = _types(schema)
        yield from (f"{path} is {kind}" for kind in ([" or ".join(sorted(kinds))] if answered and kinds else kinds))
        yield from (f"{path} always has {name}" for name in schema.get("required", ()) if answered)
        yield from (f"{path} may be {json.dumps(value)}" for value in schema.get("enum", ()))
        if "const" in schema:
            yield f"{path} may be {json.dumps(schema['const'])}"
        if "default" in schema:
            yield f"{path} defaults to {json.dumps(schema['default'])}"
        if "$ref" in schema:
            yield f"{path} is a {schema['$ref'].rpartition('/')[2]}"
        for name, field in schema.get("properties", {}).items():
            yield f"{path}.{name}"
            yield from self._facts(f"{path}.{name}", field, answered=answered)
        if isinstance(items := schema.get("items"), dict):
            yield from self._facts(f"{path}[]", items, answered=answered)
        if isinstance(values := schema.get("additionalProperties"), dict):
            yield from self._facts(f"{path}.*", values, answered=answered)
        for choice in _choices(schema):
            yield from (fact for fact in self._facts(path, choice, answered=answered) if not _of_type(path, fact))


def _of_type(path: str, fact: str) -> bool:
    """Whether a fact has the JSON types of a path, which the facts of the whole schema have, too."""
    return fact.startswith(f"{path} is ") and not fact.startswith(f"{path} is a ")


def _choices(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]


def _types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types of a schema, also of its choices."""
    kinds = schema.get("type", ())
    return {*([kinds] if isinstance(kinds, str) else kinds)}.union(*map(_types, _choices(schema)))


def _names(schema: Any) -> Iterator[str]:
    """The components to which a schema refers."""
    match schema:
        case {"$ref": str(reference)}:
            yield reference.rpartition("/")[2]
        case dict():
            for value in schema.values():
                yield from _names(value)
        case list():
            for value in schema:
                yield from _names(value)


def _required(path: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{path} needs {name}" for name in schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        yield from _required(f"{path}.{name}", field)
    for choice in _choices(schema):
        yield from _required(path, choice)


def _limits(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    yield from ((f"{path} {name}", schema[name]) for name in (*MOST, *LEAST) if name in schema)
    for name, field in schema.get("properties", {}).items():
        yield from _limits(f"{path}.{name}", field)
    for part, inner in (("[]", schema.get("items")), (".*", schema.get("additionalProperties"))):
        if isinstance(inner, dict):
            yield from _limits(f"{path}{part}", inner)
    for choice in _choices(schema):
        yield from _limits(path, choice)
