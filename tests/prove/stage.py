"""What is deployed, read from the synthesized template: functions, their settings and triggers, queues, tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.template import ROOT, SOURCES, table_definitions, template

REGION = "us-east-1"
ACCOUNT = "000000000000"
STAGE = "local"
MADE_FROM = ("infra",)  # what is read here depends on no function's code


@dataclass(frozen=True)
class Function:
    """A Lambda function. `folder` has its handler, `seconds` is its time-out."""

    name: str
    folder: str
    environ: Mapping[str, str]
    seconds: int


@dataclass(frozen=True)
class QueueSettings:
    """An SQS queue. `receives` and `dead_letters` (a queue's name) are its redrive policy."""

    name: str
    visibility_seconds: int
    fifo: bool
    receives: int | None
    dead_letters: str | None


@dataclass(frozen=True)
class EventSource:
    """An event source mapping from a queue to a function, both by name."""

    queue: str
    function: str
    batch: int
    concurrency: int
    partial: bool


@dataclass(frozen=True)
class Rule:
    """A function that is started every so many seconds."""

    function: str
    seconds: int


@dataclass(frozen=True)
class Deployed:
    """A stage. `tables` are arguments of CreateTable; `routes` functions by route (`POST /v1/runs/{run_id}/fail`);
    `ends` is the queue that receives the events about the ends of state machines' executions."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    queues: Mapping[str, QueueSettings] = field(default_factory=dict)
    sources: tuple[EventSource, ...] = ()
    rules: tuple[Rule, ...] = ()
    routes: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Mapping[str, Any], ...] = ()
    ends: str = ""

    def function(self, method: str, path: str) -> Function:
        """That to which API Gateway sends a request: the most specific route has it."""
        for key in sorted(self.routes, key=lambda each: ("+}" in each, -len(each))):
            verb, _, pattern = key.partition(" ")
            wanted = re.sub(r"\{\w+\}", "[^/]+", re.sub(r"\{\w+\+\}", ".+", pattern))
            if verb in ("ANY", method) and re.fullmatch(wanted, path):
                return self.functions[self.routes[key]]
        raise ValueError(f"no route has {method} {path}")


def queue_url(name: str) -> str:
    """The address of a queue."""
    return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"


@cache
def deployed() -> Deployed:
    """The stage `local`: its limits are those of a developer's machine, and its API needs no authentication."""
    made = template(STAGE, MADE_FROM)
    resources, outputs = made["Resources"], made["Outputs"]
    kinds = {name: each["Type"] for name, each in resources.items()}

    def named(name: str) -> str:
        properties = resources[name].get("Properties", {})
        return f"{name}.fifo" if properties.get("FifoQueue") else name

    def value(given: Any) -> str:
        match given:
            case {"Ref": "AWS::Region"}:
                return REGION
            case {"Ref": "AWS::AccountId"}:
                return ACCOUNT
            case {"Ref": "AWS::Partition"}:
                return "aws"
            case {"Ref": name} if kinds.get(name) == "AWS::SQS::Queue":
                return queue_url(named(name))
            case {"Ref": name} if kinds.get(name) == "AWS::SNS::Topic":
                return f"arn:aws:sns:{REGION}:{ACCOUNT}:{name}"
            case {"Ref": name}:
                return str(name)
            case {"Fn::GetAtt": [name, _]}:
                return f"arn:aws:any:{REGION}:{ACCOUNT}:{named(name)}"
            case {"Fn::Join": [between, parts]}:
                return str(between).join(value(each) for each in parts)
            case _:
                return str(given)

    def of_type(kind: str) -> dict[str, dict[str, Any]]:
        return {name: each["Properties"] for name, each in resources.items() if each["Type"] == f"AWS::{kind}"}

    folders = {
        output["Value"]["Ref"]: _folder(name.removesuffix("Function"))
        for name, output in outputs.items()
        if name.endswith("Function")
    }
    functions = {
        name: Function(
            name,
            folders[name],
            {key: value(each) for key, each in properties["Environment"]["Variables"].items()},
            properties["Timeout"],
        )
        for name, properties in of_type("Lambda::Function").items()
        if folders.get(name)
    }
    queues = {
        named(name): QueueSettings(
            named(name),
            properties.get("VisibilityTimeout", 30),
            properties.get("FifoQueue", False),
            properties.get("RedrivePolicy", {}).get("maxReceiveCount"),
            _last(value(policy["deadLetterTargetArn"])) if (policy := properties.get("RedrivePolicy")) else None,
        )
        for name, properties in of_type("SQS::Queue").items()
    }
    sources = tuple(
        EventSource(
            queue,
            properties["FunctionName"]["Ref"],
            properties["BatchSize"],
            properties.get("ScalingConfig", {}).get("MaximumConcurrency", 2),
            "ReportBatchItemFailures" in properties.get("FunctionResponseTypes", ()),
        )
        for properties in of_type("Lambda::EventSourceMapping").values()
        if (queue := _last(value(properties["EventSourceArn"]))) in queues
    )
    rules = tuple(
        Rule(target["Arn"]["Fn::GetAtt"][0], _seconds(properties["ScheduleExpression"]))
        for properties in of_type("Events::Rule").values()
        if "ScheduleExpression" in properties  # the other ones send events of AWS services
        for target in properties["Targets"]
    )
    ends = next(
        _last(value(target["Arn"]))
        for properties in of_type("Events::Rule").values()
        if properties.get("EventPattern", {}).get("source") == ["aws.states"]
        for target in properties["Targets"]
    )
    integrations = {
        name: properties["IntegrationUri"]["Fn::GetAtt"][0]
        for name, properties in of_type("ApiGatewayV2::Integration").items()
    }
    routes = {
        properties["RouteKey"]: integrations[properties["Target"]["Fn::Join"][1][1]["Ref"]]
        for properties in of_type("ApiGatewayV2::Route").values()
    }
    tables = []
    for name, definition in table_definitions(STAGE).items():
        logical = outputs[f"{name.capitalize()}Table"]["Value"]["Ref"]
        tables.append({**definition, "TableName": logical})
    return Deployed(functions, queues, sources, rules, routes, tuple(tables), ends)


def _last(arn: str) -> str:
    return arn.rpartition(":")[2]


def _folder(name: str) -> str:
    """Several functions may have one handler: those of the lanes."""
    known = [path.parent.name for path in (ROOT / "functions").glob("*/handler.py")]
    if name in SOURCES:
        return SOURCES[name]
    return next((each for each in known if name.lower().startswith(each)), "")


def _seconds(expression: str) -> int:
    found = re.fullmatch(r"rate\((\d+) minutes?\)", expression)
    if found is None:
        raise ValueError(f"the rule {expression} is not known here")
    return 60 * int(found[1])


def handler_path(folder: str, root: Path = ROOT) -> Path:
    """The file of a function's handler."""
    return root / "functions" / folder / "handler.py"
