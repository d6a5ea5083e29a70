"""Finds schedules in documents about AWS: responses of its APIs, CloudFormation templates, and files of Terraform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from duecourse.cli.imports.aws_schedules import NO_EXPRESSION, Found, Place, of_rule, text_of
from duecourse.cli.imports.cloudformation import of_template
from duecourse.cli.imports.terraform import instances_of, of_terraform, resources_of, unknowns_of
from duecourse.cli.manifests.json_text import read_json

_INCOMPLETE = "the list is incomplete, because it has a NextToken; export all pages (without --max-items)"


def read_values(text: str) -> Iterator[Any]:
    """Yield the values of a text: one JSON value, or one per line. Raises ValueError."""
    try:
        yield read_json(text)
    except ValueError as error:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2 or not lines[0].lstrip().startswith("{") or lines[0].strip() == "{":
            raise ValueError(f"{error}; export it as JSON, and convert a template in YAML to JSON") from error
        yield from map(read_json, lines)


def found_in(values: Iterable[Any], file: str, stage: Place) -> Iterator[Found]:
    """Yield the schedules in these documents."""
    count = 0
    for value in values:
        match value:
            case {"Resources": Mapping() as resources}:
                yield from of_template(resources, file, stage)
            case {"TemplateBody": body}:
                yield from found_in(read_values(body) if isinstance(body, str) else [body], file, stage)
            case {"planned_values": Mapping() as planned}:
                yield from of_terraform(resources_of(planned.get("root_module")), file, stage, unknowns_of(value))
            case {"values": {"root_module": module}}:
                yield from of_terraform(resources_of(module), file, stage, {})
            case {"resources": list() as resources, "terraform_version": _}:
                yield from of_terraform(instances_of(resources), file, stage, {})
            case _:
                for each in _listed(value):
                    count += 1
                    yield from _of_response(each, f"{file} {count}")
                if isinstance(value, Mapping) and value.get("NextToken"):
                    yield Found(file, "NextToken", why=_INCOMPLETE)


def _listed(value: Any) -> Iterator[Any]:
    match value:
        case {"Schedules": list() as schedules}:
            yield from schedules
        case {"Rules": list() as rules, **more}:
            targets = more.get("Targets")
            for rule in rules:
                own: Any = targets.get(text_of(rule, "Name")) if isinstance(targets, Mapping) else None
                own = targets if isinstance(targets, list) and len(rules) == 1 else own
                yield {"Targets": own, **rule} if isinstance(rule, Mapping) else rule
            if isinstance(targets, list) and len(rules) != 1:
                yield {"Targets": targets}
        case list():
            for each in value:
                yield from _listed(each) if isinstance(each, Mapping) else [each]
        case _:
            yield value


def _of_response(value: Any, place: str) -> Iterator[Found]:
    if not isinstance(value, Mapping):
        yield Found(place, "?", why=NO_EXPRESSION)
    elif "Targets" in value or "EventPattern" in value or ":rule/" in text_of(value, "Arn"):
        yield from of_rule(value, place, text_of(value, "Name") or "?")
    elif not value.get("ScheduleExpression"):
        yield Found(place, text_of(value, "Name") or "?", why=NO_EXPRESSION)
    else:
        yield Found(place, text_of(value, "Name") or "schedule", value)
