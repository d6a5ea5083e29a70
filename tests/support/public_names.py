"""What docs/releases.md promises to keep, as facts that can be compared: the names in the HTTP API, the command, the
Python packages, logs, metrics, alarms, the stack's outputs and the settings.

A kept fact may not disappear: `GET /v1/jobs/{job_id}`, `Job.state`, `duecourse jobs list --tag`. A demand may not be
added to what exists already: `JobRequest needs target`. So a later release changes both only by additions.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

import click

from duecourse.cli.main import main as command
from infra.settings.config import StageConfig
from tests.support.release_code import PACKAGE, ROOT
from tests.support.template import template
from tests.support.told_names import actions, metrics

MODULES = ("client", "worker", "schedules", "testing", "webhooks")
METHODS = ("get", "put", "post", "patch", "delete")
STAGE = "prod"
"""The stage whose alarms and outputs count."""


def kept() -> dict[str, list[str]]:
    """What may not disappear, by part."""
    document = _document()
    return {
        "http": sorted({*_routes(document), *_schemas(document)}),
        "command": sorted(_commands(command, "duecourse")),
        "python": sorted(name for module in MODULES for name in _public(module)),
        "actions": sorted(actions()),
        "metrics": sorted(metrics()),
        "alarms": sorted(_alarms()),
        "outputs": sorted(template(STAGE).get("Outputs", {})),
        "settings": sorted(field.name for field in fields(StageConfig)),
    }


def demanded() -> dict[str, list[str]]:
    """What may not be added to anything that exists: `A needs B`, by part."""
    document = _document()
    return {
        "http": sorted({*_needed_parameters(document), *_needed_fields(document)}),
        "command": sorted(_needed_options(command, "duecourse")),
        "python": sorted(name for module in MODULES for name in _needed_arguments(module)),
    }


def public() -> dict[str, dict[str, list[str]]]:
    """Both, as a release records them."""
    return {"kept": kept(), "demanded": demanded()}


def broken(recorded: Mapping[str, Mapping[str, list[str]]], now: Mapping[str, Mapping[str, list[str]]]) -> list[str]:
    """What a release promised and is no longer so: names that are gone, and demands on what it had already."""
    gone = [
        f"gone from {part}: {name}"
        for part, names in recorded["kept"].items()
        for name in sorted(set(names) - set(now["kept"][part]))
    ]
    for part, names in now["demanded"].items():
        known = recorded["kept"][part]
        for demand in sorted(set(names) - set(recorded["demanded"][part])):
            subject = demand.partition(" needs ")[0]
            if any(name == subject or name.startswith((f"{subject} ", f"{subject}.")) for name in known):
                gone.append(f"new in {part}: {demand}")
    return gone


def _document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / PACKAGE / "api/openapi/openapi.json").read_text())
    return loaded


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method.upper()} {path}", item[method]


def _parameters(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for parameter in operation.get("parameters", ()):
        yield _resolved(document, parameter)


def _resolved(document: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    found: Any = part
    while "$ref" in found:
        found = document["components"][found["$ref"].split("/")[-2]][found["$ref"].split("/")[-1]]
    return dict(found)


def _routes(document: Mapping[str, Any]) -> Iterator[str]:
    for route, operation in _operations(document):
        yield route
        yield from (f"{route} has {each['in']} {each['name']}" for each in _parameters(document, operation))
        yield from (f"{route} answers {status}" for status in operation["responses"])
        for security in operation.get("security", ()):
            yield from (f"{route} accepts scope {scope}" for scopes in security.values() for scope in scopes)
        for status, answer in operation["responses"].items():
            for content in _resolved(document, answer).get("content", {}).values():
                yield from (f"{route} answers {status} with {name}" for name in _names(content.get("schema", {})))


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


def _schemas(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        yield from _facts(name, schema)


def _facts(path: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """The fields, types and values of a schema, and of what is written out in it."""
    kinds = schema.get("type", ())
    yield from (f"{path} is {kind}" for kind in ([kinds] if isinstance(kinds, str) else kinds))
    yield from (f"{path} may be {json.dumps(value)}" for value in schema.get("enum", ()))
    if "const" in schema:
        yield f"{path} may be {json.dumps(schema['const'])}"
    if "$ref" in schema:
        yield f"{path} is a {schema['$ref'].rpartition('/')[2]}"
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from _facts(f"{path}.{name}", field)
    if isinstance(items := schema.get("items"), dict):
        yield from _facts(f"{path}[]", items)
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from _facts(f"{path}.*", values)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from _facts(path, choice)


def _needed_parameters(document: Mapping[str, Any]) -> Iterator[str]:
    for route, operation in _operations(document):
        for each in _parameters(document, operation):
            if each.get("required") and each["in"] != "path":
                yield f"{route} needs {each['name']}"


def _needed_fields(document: Mapping[str, Any]) -> Iterator[str]:
    """The required fields of everything that a request may contain."""
    schemas, pending = document["components"]["schemas"], list[str]()
    for _, operation in _operations(document):
        pending += _names(operation.get("requestBody", {}))
    seen = set[str]()
    while pending:
        name = pending.pop()
        if name in seen or name not in schemas:
            continue
        seen.add(name)
        pending += _names(schemas[name])
        yield from _required(name, schemas[name])


def _required(path: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{path} needs {name}" for name in schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        yield from _required(f"{path}.{name}", field)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from _required(path, choice)


def _walked(found: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if found.hidden:
        return
    yield name, found
    if isinstance(found, click.Group):
        context = click.Context(found)
        for word in found.list_commands(context):
            inner = found.get_command(context, word)
            if inner is not None:
                yield from _walked(inner, f"{name} {word}")


def _commands(found: click.Command, name: str) -> Iterator[str]:
    for words, each in _walked(found, name):
        yield words
        for parameter in each.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                yield from (f"{words} {option}" for option in (*parameter.opts, *parameter.secondary_opts))
                if isinstance(parameter.type, click.Choice):
                    yield from (f"{words} {parameter.opts[-1]} {choice}" for choice in parameter.type.choices)
            variables = parameter.envvar
            yield from (
                f"{words} reads {each}" for each in ([variables] if isinstance(variables, str) else variables or ())
            )


def _needed_options(found: click.Command, name: str) -> Iterator[str]:
    for words, each in _walked(found, name):
        yield from (f"{words} needs {parameter.name}" for parameter in each.params if parameter.required)


def _members(module: str) -> Iterator[tuple[str, Any]]:
    found = import_module(f"duecourse.{module}")
    public = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__]
    for name in getattr(found, "__all__", [name for name in public if not name.startswith("_")]):
        value = getattr(found, name)
        yield f"duecourse.{module}.{name}", value
        if inspect.isclass(value):
            for word in dir(value):
                ours = any(word in vars(base) for base in value.__mro__ if base.__module__.startswith("duecourse"))
                if ours and not word.startswith("_"):
                    yield f"duecourse.{module}.{name}.{word}", getattr(value, word)


def _arguments(value: Any) -> Iterator[inspect.Parameter]:
    try:
        yield from inspect.signature(value).parameters.values() if callable(value) else ()
    except ValueError:  # built in, without a signature
        return


def _public(module: str) -> Iterator[str]:
    for name, value in _members(module):
        yield name
        yield from (f"{name}({each.name})" for each in _arguments(value) if not each.name.startswith("_"))


def _needed_arguments(module: str) -> Iterator[str]:
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    for name, value in _members(module):
        for each in _arguments(value):
            if each.default is inspect.Parameter.empty and each.kind not in variable and each.name != "self":
                yield f"{name} needs {each.name}"


def _alarms() -> Iterator[str]:
    for resource in template(STAGE)["Resources"].values():
        if resource["Type"] in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"):
            name = resource["Properties"].get("AlarmName")
            if isinstance(name, str):
                yield name
