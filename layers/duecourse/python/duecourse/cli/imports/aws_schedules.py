"""Schedules of EventBridge Scheduler and rules of EventBridge, in the shape of a response of `get-schedule`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]


_REACTS = "reacts to events and has no schedule; it stays in EventBridge"

_TRANSFORMED = "changes the event before the target gets it; write the target's Input as a constant"

NO_EXPRESSION = "has no ScheduleExpression; export it with get-schedule, because list-schedules omits it"

_NO_TARGETS = "has no targets; use --rules without a file, or add the response of list-targets-by-rule as Targets"

REMEDY = "write its value, or import the deployed schedules of the account"

_NAMES = ("Name", "GroupName", "Id")

_UNUSED = ("Arn", "CreationDate", "KmsKeyArn", "LastModificationDate", "RoleArn")
"""Fields of a schedule that may be unknown."""


@dataclass(frozen=True, slots=True)
class Place:
    """The account and region of the stage, and thus of all resources that its jobs call. An empty value is unknown."""

    account: str = ""
    region: str = ""

    def __str__(self) -> str:
        return f"account {self.account or '?'}, region {self.region or '?'}"


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Found:
    """A schedule in a document: its place, name and fields, or the reason why it cannot be imported. `setting`: it is
    not a schedule.
    """

    place: str
    name: str
    schedule: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    setting: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only CloudFormation or Terraform knows."""

    text: str


def fields_of(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, or else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items_of(value: Any) -> list[Any]:
    """Return the value if it is a list, or else an empty one."""
    return value if isinstance(value, list) else []


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """Return the text of a field, or an empty text."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def of_rule(rule: Mapping[str, Any], place: str, name: str) -> Iterator[Found]:
    """Yield a schedule for each target of a rule of EventBridge, whose times are in UTC."""
    expression, targets = rule.get("ScheduleExpression"), rule.get("Targets")
    if rule.get("ManagedBy"):
        yield Found(place, name, why=f"is managed by {rule['ManagedBy']}, which also calls its target", setting=True)
    elif not expression:
        is_rule = rule.get("EventPattern") is not None
        yield Found(place, name, why=_REACTS if is_rule else NO_EXPRESSION, setting=is_rule)
    elif not isinstance(targets, list) or not targets:
        yield Found(place, name, why=_NO_TARGETS)
    else:
        for number, target in enumerate(targets, 1):
            if not isinstance(target, Mapping):
                yield Found(place, name, why=_NO_TARGETS)
                continue
            own = name if len(targets) == 1 else f"{name}-{text_of(target, 'Id') or number}"
            inputs = [each for each in ("InputPath", "InputTransformer") if target.get(each)]
            if inputs:
                yield Found(place, own, why=f"{inputs[0]} {_TRANSFORMED}")
                continue
            shared = {each: rule[each] for each in ("Arn", "State", "Description", "EventPattern") if rule.get(each)}
            changed = {"Name": own, "ScheduleExpression": expression, "Target": _with_event(target, rule)}
            yield Found(place, own, {**shared, **changed})


def _with_event(target: Mapping[str, Any], rule: Mapping[str, Any]) -> Document:
    """Return a rule's target with the event that it gets, if it has no Input of its own."""
    given = {name: value for name, value in target.items() if name != "Id"}
    arn = text_of(rule, "Arn")
    if given.get("Input") is None and not given.get("EcsParameters"):
        region, account = [*arn.split(":"), "", "", "", "", ""][3:5]
        given["Input"] = json.dumps(
            {
                "version": "0",
                "id": "<aws.scheduler.execution-id>",
                "detail-type": "Scheduled Event",
                "source": "aws.events",
                "account": account,
                "time": "<aws.scheduler.scheduled-time>",
                "region": region,
                "resources": [arn] if arn else [],
                "detail": {},
            }
        )
    return given


def of_source(given: Any, place: str, name: str, arn: str, stage: Place) -> Iterator[Found]:
    """Yield the schedules of a resource in the shape of the API, if all its values are known. `arn` is the start of its
    ARN.
    """
    if not isinstance(given, Mapping):
        yield Found(place, name, why=f"is computed; {REMEDY}")
        return
    named = {each: value for each, value in given.items() if not (isinstance(value, Unknown) and each in _NAMES)}
    named = {"Name": name, **named}
    if stage.account and stage.region and not isinstance(named.get("Arn"), str):
        named["Arn"] = f"arn:aws:{arn}/{named['Name']}"
    is_rule = "Target" not in named
    if isinstance(named.get("Targets"), Unknown):
        yield Found(place, name, why=f"Targets is {named['Targets'].text}, whose value is not in the file; {REMEDY}")
        return
    found = of_rule(named, place, str(named["Name"])) if is_rule else [Found(place, str(named["Name"]), named)]
    for each in found:
        used = _used(each.schedule)
        if unknown := _unknown(used, ""):
            path, text = unknown
            yield Found(place, each.name, why=f"{path} is {text}, whose value is not in the file; {REMEDY}")
        elif each.schedule and not used.get("ScheduleExpression"):
            yield Found(place, each.name, why=NO_EXPRESSION)
        else:
            yield Found(each.place, each.name, used, each.why, each.setting)


def _used(schedule: Mapping[str, Any]) -> Document:
    """Return the schedule without unknown values that do not affect its job."""
    target = schedule.get("Target")
    found = {name: value for name, value in schedule.items() if not (name in _UNUSED and isinstance(value, Unknown))}
    if isinstance(target, Mapping):
        is_sdk = "aws-sdk:" in str(target.get("Arn"))
        found["Target"] = {
            name: {"Arn": "?"} if name == "DeadLetterConfig" and value else value
            for name, value in target.items()
            if not (name in _NAMES or (name == "RoleArn" and not is_sdk))
        }
    return found


def _unknown(value: Any, path: str) -> tuple[str, str] | None:
    """Return the path and the text of the first unknown value."""
    if isinstance(value, Unknown):
        return path, value.text
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    return next((found for key, each in pairs if (found := _unknown(each, f"{path}.{key}".strip(".")))), None)
