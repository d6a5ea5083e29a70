"""Finds schedules in plans and states of Terraform, as `terraform show -json` writes them, and in state files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from duecourse.cli.imports.aws_schedules import Found, Place, Unknown, fields_of, items_of, of_source

_RENAMED = {
    "EcsTarget": "EcsParameters",
    "SqsTarget": "SqsParameters",
    "EventbridgeParameters": "EventBridgeParameters",
    "TargetId": "Id",
}
"""Terraform's names that differ from those of the API, except in their notation."""

_OF_TERRAFORM = ("aws_cloudwatch_event_rule", "aws_cloudwatch_event_target", "aws_scheduler_schedule")


def of_terraform(
    resources: Iterable[tuple[str, Any, Any]], file: str, stage: Place, unknowns: Mapping[str, Any]
) -> Iterator[Found]:
    """Yield the schedules of a plan or a state of Terraform. A rule gets the targets that name it."""
    given = [
        (address, kind, fields_of(_of_block(_merged(fields_of(values), unknowns.get(address)))))
        for address, kind, values in resources
        if kind in _OF_TERRAFORM
    ]
    targets = [(address, each) for address, kind, each in given if kind == "aws_cloudwatch_event_target"]
    rules = [(address, each.get("Name")) for address, kind, each in given if kind == "aws_cloudwatch_event_rule"]
    owners = {address: _owner(address, each.get("Rule"), rules) for address, each in targets}
    for address, kind, each in given:
        place, name = f"{file} {address}", re.sub(r"^.*?\.?aws_\w+\.", "", address)
        if kind == "aws_scheduler_schedule":
            start = f"scheduler:{stage.region}:{stage.account}:schedule/default"
            yield from of_source({"Target": None, **each}, place, name, start, stage)
        elif kind == "aws_cloudwatch_event_rule":
            own = [target for other, target in targets if owners[other] == address]
            enabled = {"State": "DISABLED"} if each.get("IsEnabled") is False else {}
            start = f"events:{stage.region}:{stage.account}:rule"
            yield from of_source({**each, **enabled, "Targets": own}, place, name, start, stage)
    for address, each in targets:
        if owners[address] is None:
            named = _shown(each.get("Rule"))
            why = f"several rules are named {named}" if named in map(_shown, dict(rules).values()) else ""
            yield Found(f"{file} {address}", address, why=why or f"its rule {named} is not in the file")


def _owner(address: str, name: object, rules: Iterable[tuple[str, object]]) -> str | None:
    """Return the address of the rule of a target. If rules in several regions have its name, it is the one in the
    target's module, with the target's index.
    """
    named = [other for other, each in rules if each == name]
    module, _, own = address.rpartition("aws_cloudwatch_event_target.")
    near = [other for other in named if other.rpartition("aws_cloudwatch_event_rule.")[0] == module]
    index = own.partition("[")[2]
    same = [other for other in near if other.partition("aws_cloudwatch_event_rule.")[2].partition("[")[2] == index]
    return next((found[0] for found in (named, near, same) if len(found) == 1), None)


def unknowns_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the unknown values of a plan, by address."""
    changes = map(fields_of, items_of(plan.get("resource_changes")))
    return {str(each.get("address")): fields_of(each.get("change")).get("after_unknown") for each in changes}


def resources_of(module: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the address, the type and the values of each resource of a Terraform module and its inner modules."""
    for each in map(fields_of, items_of(fields_of(module).get("resources"))):
        if each.get("mode", "managed") == "managed":
            yield str(each.get("address")), each.get("type"), each.get("values")
    for inner in items_of(fields_of(module).get("child_modules")):
        yield from resources_of(inner)


def instances_of(resources: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the address, the type and the values of each resource of a state file of Terraform."""
    for each in map(fields_of, resources):
        if each.get("mode") == "managed":
            address = ".".join(str(each[part]) for part in ("module", "type", "name") if each.get(part))
            for instance in map(fields_of, items_of(each.get("instances"))):
                index = f"[{json.dumps(instance['index_key'])}]" if "index_key" in instance else ""
                yield f"{address}{index}", each.get("type"), instance.get("attributes")


def _shown(value: object) -> str:
    return value.text if isinstance(value, Unknown) else str(value)


def _merged(values: Any, unknown: Any) -> Any:
    """Return the values with an Unknown in the place of each value that Terraform knows only after apply."""
    if unknown is True:
        return Unknown("known after apply")
    if isinstance(unknown, Mapping) and isinstance(values, Mapping):
        return {name: _merged(values.get(name), unknown.get(name)) for name in {**values, **unknown}}
    if isinstance(unknown, list) and isinstance(values, list):
        return [_merged(each, unknown[index] if index < len(unknown) else None) for index, each in enumerate(values)]
    return values


def _of_block(value: Any) -> Any:
    """Return a block of Terraform in the notation of the API, without values that are not set."""
    if isinstance(value, list):
        return _of_block(value[0]) if len(value) == 1 and isinstance(value[0], Mapping) else value
    if not isinstance(value, Mapping):
        return value
    names = {each: "".join(word[:1].upper() + word[1:] for word in str(each).split("_")) for each in value}
    return {
        _RENAMED.get(names[name], names[name]): _of_block(each)
        for name, each in value.items()
        if each is not None and each not in ("", [])
    }
