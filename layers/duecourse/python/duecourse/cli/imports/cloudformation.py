"""Finds schedules in CloudFormation templates. Functions are evaluated if all their values are in the template."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from duecourse.cli.imports.aws_schedules import REMEDY, Found, Place, Unknown, fields_of, of_source, text_of

_OF_SAM = (
    "is an event of a serverless function or state machine; import the processed template "
    "(aws cloudformation get-template --template-stage Processed)"
)

_NESTED = "is a nested stack, whose template is not read; import it separately"

_ARNS = {
    "AWS::ECS::Cluster": ("ClusterName", "ecs", "cluster/"),
    "AWS::Events::EventBus": ("Name", "events", "event-bus/"),
    "AWS::IAM::Role": ("RoleName", "iam", "role/"),
    "AWS::Lambda::Function": ("FunctionName", "lambda", "function:"),
    "AWS::SNS::Topic": ("TopicName", "sns", ""),
    "AWS::SQS::Queue": ("QueueName", "sqs", ""),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", "states", "stateMachine:"),
}
"""The property with the name of a resource, its service, and the text before the name in its ARN."""

_REF_IS_ARN = ("AWS::SNS::Topic", "AWS::StepFunctions::StateMachine")

_REF_IS_NAME = ("AWS::ECS::Cluster", "AWS::Events::EventBus", "AWS::IAM::Role", "AWS::Lambda::Function")


def of_template(resources: Mapping[str, Any], file: str, stage: Place) -> Iterator[Found]:
    """Yield the schedules of a CloudFormation template."""
    known = dict(_known(resources, stage))
    for name, resource in resources.items():
        place = f"{file} {name}"
        if not isinstance(resource, Mapping):
            if name.startswith("Fn::"):
                yield Found(place, name, why=f"is computed by CloudFormation; {REMEDY}")
            continue
        kind, properties = resource.get("Type"), fields_of(resource.get("Properties"))
        if kind == "AWS::CloudFormation::Stack":
            yield Found(place, name, why=_NESTED, setting=True)
        elif str(kind).startswith("AWS::Serverless::"):
            for each, event in fields_of(properties.get("Events")).items():
                if text_of(fields_of(event), "Type").startswith("Schedule"):
                    yield Found(f"{place}.{each}", each, why=_OF_SAM)
        elif kind in ("AWS::Scheduler::Schedule", "AWS::Events::Rule"):
            if condition := resource.get("Condition"):
                yield Found(place, name, why=f"exists only on the condition {condition}; {REMEDY}")
                continue
            given = _resolved(properties, known)
            service, group = ("events", "rule") if kind == "AWS::Events::Rule" else ("scheduler", "schedule/default")
            yield from of_source(given, place, name, f"{service}:{stage.region}:{stage.account}:{group}", stage)


def _known(resources: Mapping[str, Any], stage: Place) -> Iterator[tuple[str, str]]:
    """Yield the known values of references: those of the stage, and of resources whose name is a literal."""
    yield "AWS::Partition", "aws"
    if stage.region:
        yield "AWS::Region", stage.region
    if stage.account:
        yield "AWS::AccountId", stage.account
    for logical, resource in resources.items():
        kind = text_of(fields_of(resource), "Type")
        label, service, before = _ARNS.get(kind, ("", "", ""))
        name = fields_of(fields_of(resource).get("Properties")).get(label)
        if not isinstance(name, str) or not (stage.account and stage.region):
            continue
        region = "" if service == "iam" else stage.region
        arn = f"arn:aws:{service}:{region}:{stage.account}:{before}{name}"
        yield f"{logical}.Arn", arn
        if kind in _REF_IS_ARN or kind in _REF_IS_NAME:
            yield logical, arn if kind in _REF_IS_ARN else name


def _resolved(value: Any, known: Mapping[str, str]) -> Any:
    """Return a value of a template with the results of its functions, or an Unknown in their places."""
    if isinstance(value, list):
        return [_resolved(each, known) for each in value if each != {"Ref": "AWS::NoValue"}]
    if not isinstance(value, Mapping):
        return value
    if not any(name == "Ref" or name.startswith("Fn::") for name in value):
        return {name: _resolved(each, known) for name, each in value.items() if each != {"Ref": "AWS::NoValue"}}
    found: Any = None
    match value:
        case {"Ref": str(name)}:
            found = known.get(name)
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            found = known.get(f"{name}.{attribute}")
        case {"Fn::GetAtt": str(path)}:
            found = known.get(path)
        case {"Fn::Join": [str(between), list() as parts]}:
            texts = [_resolved(each, known) for each in parts]
            found = between.join(texts) if all(isinstance(each, str) for each in texts) else None
        case {"Fn::Sub": str(text)}:
            found = _substituted(text, known)
        case {"Fn::Sub": [str(text), Mapping() as own]}:
            given = {name: _resolved(each, known) for name, each in own.items()}
            found = _substituted(
                text, {**known, **{name: each for name, each in given.items() if isinstance(each, str)}}
            )
    return Unknown(json.dumps(value)) if found is None else found


def _substituted(text: str, known: Mapping[str, str]) -> str | None:
    parts = re.split(r"\$\{([^}]*)\}", text)
    names = {name for name in parts[1::2] if not name.startswith("!")}
    if not names <= known.keys():
        return None
    return "".join(
        part if number % 2 == 0 else f"${{{part[1:]}}}" if part.startswith("!") else known[part]
        for number, part in enumerate(parts)
    )
