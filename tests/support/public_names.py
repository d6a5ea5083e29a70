"""What docs/releases.md promises to keep, as facts that can be compared: the names in the HTTP API, the command, the
Python packages, logs, metrics, alarms, the stack's outputs and the settings.

A kept fact may not disappear: `GET /v1/jobs/{job_id}`, `Job.state`, `duecourse jobs list --tag`. A demand may not be
added to what exists already: `JobRequest needs target`. So a later release changes both only by additions.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import click
from constructs import Construct

from duecourse.cli.main import main as command
from duecourse.cli.output.documents import Document
from duecourse.client.access import FIELDS
from infra.settings.config import StageConfig
from tests.support.public_http import LEAST, PublicHttp
from tests.support.release_code import PACKAGE, ROOT
from tests.support.template import template
from tests.support.told_names import actions, documented_fields, metrics

MODULES = (
    *(f"duecourse.{name}" for name in ("client", "worker", "schedules", "testing", "webhooks")),
    "duecourse_schedules.schedules",
    "duecourse_cdk",
)
STAGE = "prod"
"""The stage whose alarms and outputs count."""


def kept() -> dict[str, list[str]]:
    """What may not disappear, by part."""
    return {
        "http": sorted({*PublicHttp().kept()}),
        "command": sorted({*_commands(command, "duecourse"), *_environment()}),
        "json": sorted(fact for kind in get_args(Document) for fact in _fields(kind.__name__, kind)),
        "python": sorted(name for module in MODULES for name in _public(module)),
        "actions": sorted({*actions(), *_logged_fields()}),
        "metrics": sorted(metrics()),
        "alarms": sorted(_alarms()),
        "outputs": sorted(template(STAGE).get("Outputs", {})),
        "settings": sorted({*_settings("", StageConfig)}),
    }


def demanded() -> dict[str, list[str]]:
    """What may not be added to anything that exists: `A needs B`, by part."""
    return {
        "http": sorted({*PublicHttp().demanded()}),
        "command": sorted(_needed_options(command, "duecourse")),
        "python": sorted(name for module in MODULES for name in _needed_arguments(module)),
    }


def public() -> dict[str, Any]:
    """All of it, as a release records it."""
    return {"kept": kept(), "demanded": demanded(), "limited": PublicHttp().limited()}


def broken(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What a release promised and is no longer so: names that are gone, demands on what it had already, and limits that
    are narrower.
    """
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
    for name, limit in now["limited"].items():
        path, _, kind = name.rpartition(" ")
        before = recorded["limited"].get(name)
        if before is None and any(fact.startswith(f"{path} is ") for fact in recorded["kept"]["http"]):
            gone.append(f"new limit: {name} {limit}")
        elif before is not None and (limit > before if kind in LEAST else limit < before):
            gone.append(f"narrower limit: {name} {before} -> {limit}")
    return gone


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


def _environment() -> Iterator[str]:
    """The environment variables that the command, the client and the worker read, and the fields of a profile."""
    for part in ("cli", "client", "worker"):
        for path in sorted((ROOT / PACKAGE / part).rglob("*.py")):
            yield from (f"variable {name}" for name in re.findall(r'"(DUECOURSE_[A-Z_]+)"', path.read_text()))
    for field in FIELDS:
        yield from (f"profile field {field}", f"variable DUECOURSE_{field.upper()}")


def _needed_options(found: click.Command, name: str) -> Iterator[str]:
    for words, each in _walked(found, name):
        yield from (f"{words} needs {parameter.name}" for parameter in each.params if parameter.required)


JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any"}


def _fields(path: str, kind: Any) -> Iterator[str]:
    """The fields and types of a document of the command. Whether a field can be null is a part of its type."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        yield f"{path}.{name}{'' if optional else ' is always present'}"
        yield from _types(f"{path}.{name}", get_args(hint)[0] if optional else hint)


def _types(path: str, hint: Any) -> Iterator[str]:
    words = set[str]()
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        origin, inner = get_origin(kind), get_args(kind)
        if is_typeddict(kind) or is_dataclass(kind):
            words.add("object")
            yield from _fields(path, kind)
        elif origin is Literal:
            words.add("string")
            yield from (f"{path} may be {json.dumps(value)}" for value in inner)
        elif origin in (list, Sequence):
            words.add("array")
            yield from _types(f"{path}[]", inner[0])
        elif origin in (dict, Mapping):
            words.add("object")
            yield from _types(f"{path}.*", inner[1])
        else:
            words.add(JSON_TYPES[kind])
    yield f"{path} is {' or '.join(sorted(words))}"


def _members(module: str) -> Iterator[tuple[str, Any]]:
    found = import_module(module)
    public = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__]
    for name in getattr(found, "__all__", [name for name in public if not name.startswith("_")]):
        value = getattr(found, name)
        yield f"{module}.{name}", value
        if inspect.isclass(value):
            for word in dir(value):
                ours = any(word in vars(base) for base in value.__mro__ if base.__module__.startswith("duecourse"))
                if ours and not word.startswith("_"):
                    yield f"{module}.{name}.{word}", getattr(value, word)


def _arguments(value: Any) -> Iterator[inspect.Parameter]:
    if inspect.isclass(value) and issubclass(value, Construct):
        value = value.__init__  # jsii's metaclass hides it
    try:
        yield from inspect.signature(value).parameters.values() if callable(value) else ()
    except ValueError:  # built in, without a signature
        return


def _public(module: str) -> Iterator[str]:
    for name, value in _members(module):
        yield name
        bases = [base for base in getattr(value, "__mro__", ())[1:] if not base.__name__.startswith("_")]
        yield from (f"{name} is a {base.__name__}" for base in bases if base is not object)
        for place, each in enumerate(_arguments(value)):
            if each.name.startswith("_") or each.name == "self":
                continue
            yield f"{name}({each.name})"
            if each.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
                yield f"{name}({each.name}) can be argument {place}"
            if isinstance(each.default, bool | int | float | str):
                yield f"{name}({each.name}) defaults to {each.default!r}"


def _needed_arguments(module: str) -> Iterator[str]:
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    for name, value in _members(module):
        for each in _arguments(value):
            if each.default is inspect.Parameter.empty and each.kind not in variable and each.name != "self":
                yield f"{name} needs {each.name}"


def _logged_fields() -> Iterator[str]:
    for action, names in documented_fields().items():
        yield from (f"{action} has {name}" for name in names)


def _settings(path: str, kind: Any) -> Iterator[str]:
    """The settings of a stage, also those in a setting."""
    if is_dataclass(kind):
        for name, hint in get_type_hints(kind).items():
            yield f"{path}{name}"
            yield from _settings(f"{path}{name}.", hint)
    for inner in get_args(kind):
        yield from _settings(path, inner)


def _alarms() -> Iterator[str]:
    for resource in template(STAGE)["Resources"].values():
        if resource["Type"] in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"):
            name = resource["Properties"].get("AlarmName")
            if isinstance(name, str):
                yield name
