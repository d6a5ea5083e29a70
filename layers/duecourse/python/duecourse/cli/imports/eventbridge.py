"""Imports schedules of EventBridge Scheduler and scheduled rules of EventBridge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from duecourse.cli.imports.aws_documents import found_in, read_values
from duecourse.cli.imports.aws_schedules import NOWHERE, Found, Place
from duecourse.cli.imports.entry import (
    Document,
    Entry,
    Names,
    NotImportedError,
    NotReadableError,
    Runner,
    converted,
    one_line,
    schedule_fault,
)
from duecourse.cli.manifests.json_text import read_json
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS
from duecourse.domain.targets.kinds import TARGETS, Permission
from duecourse.domain.targets.template import literal
from duecourse.limits import EVENTS_SOURCE, MAX_COMPLETION_SECONDS

RETRIES, AGE_SECONDS = 185, 86_400
"""The defaults of EventBridge Scheduler."""

_ATTRIBUTES = {
    "<aws.scheduler.scheduled-time>": "{{due_at}}",
    "<aws.scheduler.execution-id>": "{{run_id}}",
    "<aws.scheduler.attempt-number>": "{{attempt}}",
}
_EVENT = "its target receives Input as the payload of Duecourse's event (docs/runs.md)"
_ALLOWED = "the stage must allow the target (duecourse-target-*, or the names in its settings)"
_SDK = "parameters have the names of boto3: compare them, and let the role trust Duecourse"
_REMEDY = "use --queue or --target-url for a program that calls it"
_CARRIED = {
    "": frozenset(
        (
            *("ActionAfterCompletion", "Arn", "CreationDate", "Description", "EndDate", "FlexibleTimeWindow"),
            *("GroupName", "Id", "KmsKeyArn", "LastModificationDate", "Name", "NamePrefix", "Region"),
            *("ResponseMetadata", "ScheduleExpression", "ScheduleExpressionTimezone", "StartDate", "State", "Target"),
        )
    ),
    "Target.": frozenset(
        (
            *("Arn", "DeadLetterConfig", "EcsParameters", "EventBridgeParameters", "EventBusName", "ForceDestroy"),
            *("Input", "Region", "RetryPolicy", "RoleArn", "Rule", "SqsParameters"),
        )
    ),
    "EcsParameters.": frozenset(("TaskDefinitionArn", "TaskCount", "LaunchType", "NetworkConfiguration")),
}
"""The fields that an import reads, or that do not affect a job: of a schedule, its target and its ECS task."""

_TEXT = r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]"

_Target = tuple[Document, tuple[str, ...]]


class _NotCarriedError(NotImportedError):
    """The reason why a target cannot be called."""


@dataclass(frozen=True, slots=True)
class _Arn:
    """The parts of an ARN."""

    text: str
    service: str
    place: Place
    resource: str

    @classmethod
    def of(cls, value: object) -> _Arn:
        text = str(value or "")
        _, _, service, region, account, resource = [*text.split(":", 5), *[""] * 6][:6]
        return cls(text, service, Place(account, region), resource)

    def name(self, shape: str, of: str) -> str:
        """Return the name in a resource of this shape (`stateMachine:{name}`) if a job can contain it: names must match
        the form of the list `of`. Raises _NotCarriedError.
        """
        before = shape.removesuffix("{name}")
        name = self.resource.removeprefix(before)
        if not self.resource.startswith(before) or re.fullmatch(ALLOW_LISTS[of].form, name) is None:
            raise _NotCarriedError(
                f"{self.text}: a job calls a resource by its name, without alias, version or path; {_REMEDY}"
            )
        return name

    def within(self, stage: Place) -> _Arn:
        """Return the ARN. Raises _NotCarriedError if a stage at this place cannot call it."""
        if self.place != stage:
            if not self.text:
                raise _NotCarriedError(f"the ARN of the schedule, its target or its role is missing; {_REMEDY}")
            raise _NotCarriedError(f"{self.text} is not in the stage's account and region ({stage}); {_REMEDY}")
        return self


def read_schedules(
    text: str, *, file: str, runner: Runner, names: Names, now: float, stage: Place = NOWHERE
) -> list[Entry]:
    """Return the result for each schedule of a file: responses of `get-schedule` or `list-rules` with targets (one, a
    list, or one per line), a CloudFormation template, or a plan or state of Terraform, all as JSON.

    Raises NotReadableError.
    """
    try:
        values = list(read_values(text))
    except ValueError as error:
        raise NotReadableError(f"{file}: {error}") from error
    return of_schedules(values, file=file, runner=runner, names=names, now=now, stage=stage)


def of_schedules(
    values: Iterable[Any], *, file: str, runner: Runner, names: Names, now: float, stage: Place = NOWHERE
) -> list[Entry]:
    """Return the result for each schedule in these documents. Unknown parts of the stage's place are taken from the
    first schedule. Raises NotReadableError.
    """
    entries = []
    for each in found_in(values, file, stage):
        first = _Arn.of(each.schedule.get("Arn")).place
        stage = Place(stage.account or first.account, stage.region or first.region)
        entries.append(converted(each.place, each.name, partial(_entry, each, runner, names, now, stage)))
    return entries


def _entry(found: Found, runner: Runner, names: Names, now: float, stage: Place) -> Entry:
    schedule, name = found.schedule, found.name
    if found.why:
        return Entry(found.place, one_line(name), None, (found.why,), setting=found.setting)
    group = str(schedule.get("GroupName") or "default")
    expression, zone = str(schedule["ScheduleExpression"]), str(schedule.get("ScheduleExpressionTimezone") or "UTC")
    told = one_line(f"{group}/{name} {expression}")
    if schedule.get("State") == "DISABLED":
        return Entry(found.place, told, None, ("is disabled, but a job would run; import it when it should run",))
    times = _times(schedule, _rate(expression), zone)
    if fault := schedule_fault(times, now):
        return Entry(found.place, told, None, (fault,))
    target = schedule.get("Target") or {}
    job_id = names.take(name if group == "default" else f"{group}-{name}")
    called, notes = _target(target, schedule, job_id, runner, stage)
    job: Document = {"id": job_id, "name": one_line(str(schedule.get("Description") or name)), **times}
    window = schedule.get("FlexibleTimeWindow") or {}
    if window.get("Mode") == "FLEXIBLE" and (minutes := _number(window, "MaximumWindowInMinutes", 0)):
        job["jitter_seconds"] = minutes * 60
    job |= called | {"overlap": "allow", "retry": _retry(target.get("RetryPolicy") or {})}
    return Entry(found.place, told, job, (*notes, *_left_out(schedule, target)))


def _rate(expression: str) -> str:
    """Return the expression. EventBridge Scheduler accepts a unit in the singular or plural after each number."""
    found = re.fullmatch(r"\s*rate\(\s*(\d+)\s+(minute|hour|day)s?\s*\)\s*", expression, re.ASCII | re.IGNORECASE)
    if found is None:
        return expression
    return f"rate({int(found[1])} {found[2].lower()}{'s' * (int(found[1]) != 1)})"


def _number(fields: Mapping[str, Any], name: str, standard: int) -> float:
    """Return a number of a policy or a window, or the default of EventBridge Scheduler."""
    value = fields.get(name, standard)
    return standard if value is None else float(value) if isinstance(value, str) else value + 0


def _times(schedule: Mapping[str, Any], expression: str, zone: str) -> Document:
    """Return the fields of a job for its times. EventBridge Scheduler ignores the window of a one-time schedule."""
    found: Document = {"schedule": expression, "timezone": zone}
    if not expression.startswith("rate("):
        found |= {"dst_gap": "skip", "dst_fold": "first"} if zone != "UTC" else {}
    elif schedule.get("CreationDate") and not schedule.get("StartDate"):
        found["anchor"] = _instant(schedule["CreationDate"])
    for theirs, ours in (("StartDate", "start"), ("EndDate", "end")):
        if schedule.get(theirs) and not expression.startswith("at("):
            found[ours] = _instant(schedule[theirs])
    return found


def _left_out(schedule: Mapping[str, Any], target: Mapping[str, Any]) -> Iterator[str]:
    if target.get("DeadLetterConfig"):
        yield "DeadLetterConfig: dead runs are kept in Duecourse (duecourse dead-letters), not in its queue"
    if schedule.get("ActionAfterCompletion") == "DELETE":
        yield "ActionAfterCompletion: Duecourse removes completed jobs automatically"
    if schedule.get("KmsKeyArn"):
        yield "KmsKeyArn: a stage has one key for all its data"
    parts = {"": schedule, "Target.": target, "EcsParameters.": target.get("EcsParameters") or {}}
    for part, fields in parts.items():
        for name, value in fields.items():
            if value and name not in _CARRIED[part]:
                yield f"{part}{name} is not carried over"


def _retry(policy: Mapping[str, Any]) -> Document:
    return {
        "max_attempts": _number(policy, "MaximumRetryAttempts", RETRIES) + 1,
        "max_age_seconds": _number(policy, "MaximumEventAgeInSeconds", AGE_SECONDS),
    }


def _target(
    target: Mapping[str, Any], schedule: Mapping[str, Any], job_id: str, runner: Runner, stage: Place
) -> _Target:
    """Return the fields of the job's target. Raises _NotCarriedError."""
    payload = _payload(target.get("Input"), str(schedule.get("Arn") or ""))
    try:
        return _called(target, _Arn.of(schedule.get("Arn")), payload, stage)
    except _NotCarriedError as error:
        if not (runner.queue or runner.url):
            raise
        wanted = f"{target.get('Arn')} must be called by the consumer of {runner.queue or runner.url}: {error}"
        return {**runner.document(job_id, {}), "payload": payload}, (wanted, _EVENT)


def _called(target: Mapping[str, Any], schedule: _Arn, payload: Any, stage: Place) -> _Target:
    """Return the fields of a target that the stage itself calls. Raises _NotCarriedError."""
    arn = _Arn.of(target.get("Arn"))
    is_sdk = arn.service == "scheduler" and "aws-sdk:" in arn.text
    make = _TARGETS.get(arn.service)
    if make is None and not is_sdk:
        raise _NotCarriedError(f"{arn.service or arn.text} is not supported as a target; {_REMEDY}")
    if not (stage.account and stage.region):
        raise _NotCarriedError("the stage's account and region are not known; set --account and --region")
    if is_sdk:
        return _sdk(arn.text, target, payload, schedule, stage)
    found = make(arn.within(stage), target, stage) if make is not None else {}
    # The longest wait: an execution of the schedule was not limited by it.
    waits = {"completion": "end", "completion_seconds": MAX_COMPLETION_SECONDS} if found["type"] in _FOLLOWED else {}
    return {"target": found, "payload": payload, **waits}, (_EVENT, _ALLOWED)


def _payload(given: object, arn: str) -> Any:
    """Return Input as a payload: JSON or text. Braces are escaped, and context attributes become templates. `arn` is
    the schedule's ARN.
    """
    if given is None:
        return None
    try:
        value = read_json(given) if isinstance(given, str) else given
    except ValueError:
        value = given
    return _attributes(literal(value), _ATTRIBUTES | ({"<aws.scheduler.schedule-arn>": arn} if arn else {}))


def _attributes(value: Any, known: Mapping[str, str]) -> Any:
    match value:
        case str():
            for theirs, ours in known.items():
                value = value.replace(theirs, ours)
            return value
        case dict():
            return {name: _attributes(each, known) for name, each in value.items()}
        case list():
            return [_attributes(each, known) for each in value]
    return value


def _sdk(arn: str, target: Mapping[str, Any], parameters: Any, schedule: _Arn, stage: Place) -> _Target:
    """Return an AWS call, which the schedule makes in its region with a role."""
    service, _, action = arn.partition("aws-sdk:")[2].partition(":")
    role = _Arn.of(target.get("RoleArn"))
    schedule.within(replace(stage, account=schedule.place.account))
    role.within(replace(stage, region=""))
    if not isinstance(parameters, dict | None):
        raise _NotCarriedError("Input of an AWS call must be a JSON object")
    call = {"type": "aws", "service": _fitting(service, r"[a-z0-9-]{1,63}", "the service")}
    call["action"] = _fitting(action[:1].upper() + action[1:], r"[A-Z][A-Za-z0-9]{0,127}", "the action")
    call["role"] = role.name("role/{name}", "roles")
    return {"target": {**call, "parameters": parameters or {}}}, (_SDK, _ALLOWED)


def _function(arn: _Arn, _target: Mapping[str, Any], _stage: Place) -> Document:
    kind, name, *qualifier = arn.resource.removesuffix(":$LATEST").split(":", 2)
    found = {"type": "lambda", "function": replace(arn, resource=f"{kind}:{name}").name("function:{name}", "functions")}
    return {**found, "mode": "async"} | ({"qualifier": qualifier[0]} if qualifier else {})


def _fitting(value: object, form: str, what: str) -> str:
    """Return a text that a job can contain. Raises _NotCarriedError."""
    if not isinstance(value, str) or re.fullmatch(form, value) is None:
        raise _NotCarriedError(f"{what} {value!r} cannot be part of a job; {_REMEDY}")
    return value


def _queue(arn: _Arn, target: Mapping[str, Any], _stage: Place) -> Document:
    found = {"type": "sqs", "queue": arn.name("{name}", "queues")}
    group = (target.get("SqsParameters") or {}).get("MessageGroupId")
    if not group:
        return found
    if not found["queue"].endswith(".fifo"):
        raise _NotCarriedError(f"MessageGroupId: only a FIFO queue can have a message group; {_REMEDY}")
    return {**found, "group": _fitting(literal(group), f"{_TEXT}{{1,256}}", "MessageGroupId")}


def _bus(arn: _Arn, target: Mapping[str, Any], _stage: Place) -> Document:
    event = target.get("EventBridgeParameters") or {}
    source = _fitting(event.get("Source"), f"{_TEXT}{{1,256}}", "the event's source")
    if source.lower().startswith("aws.") or source.lower() == EVENTS_SOURCE:
        raise _NotCarriedError(f"the event's source {source} is reserved; {_REMEDY}")
    kind = _fitting(event.get("DetailType"), f"{_TEXT}{{1,128}}", "the event's detail type")
    return {"type": "eventbridge", "bus": arn.name("event-bus/{name}", "buses"), "source": source, "detail_type": kind}


def _fargate(arn: _Arn, target: Mapping[str, Any], stage: Place) -> Document:
    task = target.get("EcsParameters") or {}
    network = _network(task.get("NetworkConfiguration") or {})
    container = _container(target.get("Input"))
    if task.get("LaunchType") != "FARGATE" or not network.get("Subnets") or _number(task, "TaskCount", 1) != 1:
        raise _NotCarriedError(f"an ECS target must be one task with LaunchType FARGATE in subnets; {_REMEDY}")
    if container is None:
        raise _NotCarriedError(
            f"Input of an ECS target must name its container and must not override anything; {_REMEDY}"
        )
    definition = _Arn.of(task.get("TaskDefinitionArn")).within(stage)
    return {
        "type": "ecs",
        "cluster": arn.name("cluster/{name}", "clusters"),
        "task_definition": definition.name("task-definition/{name}", "task_definitions"),
        "container": _fitting(container, r"[A-Za-z0-9_-]{1,255}", "the container"),
        "subnets": _ids(network["Subnets"], "subnet", 16),
        "security_groups": _ids(network.get("SecurityGroups") or [], "sg", 5),
        "public_ip": network.get("AssignPublicIp") in ("ENABLED", True),
    }


def _network(configuration: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the network of a task. The name of its inner object differs between the API, templates and Terraform."""
    inner = [value for name, value in configuration.items() if name.lower() == "awsvpcconfiguration"]
    return (inner[0] or {}) if inner else configuration


def _ids(values: Any, kind: str, most: int) -> list[str]:
    found = list(dict.fromkeys(_fitting(each, rf"{kind}-[0-9a-f]{{8,17}}", f"the {kind}") for each in values))
    if len(found) > most:
        raise _NotCarriedError(f"{len(found)} ids of type {kind}: a job has at most {most}; {_REMEDY}")
    return found


def _container(given: object) -> str | None:
    """Return the container in Input if it is the only field."""
    try:
        match read_json(str(given)):
            case {"containerOverrides": [{"name": str(name), **others}], **more} if not (others or more):
                return name
    except ValueError:
        pass
    return None


def _named(word: str, field: str, permission: Permission) -> Callable[[_Arn, Mapping[str, Any], Place], Document]:
    """Return the conversion of a target that has only the name of a resource."""
    shape = permission.arn.partition(":")[2]
    return lambda arn, _target, _stage: {"type": word, field: arn.name(shape, permission.of)}


_FOLLOWED = ("stepfunctions", "ecs")
"""The types of targets whose work a job follows until its end. EventBridge Scheduler only starts it."""

_TARGETS: Mapping[str, Callable[[_Arn, Mapping[str, Any], Place], Document]] = {
    permission.arn.partition(":")[0]: _named(word, field, permission)
    for word, kind in TARGETS.items()
    for permission in kind.permissions[:1]
    for field, each in kind.fields.items()
    if permission.of == each.allowed and kind.required == {field}
} | {"lambda": _function, "sqs": _queue, "events": _bus, "ecs": _fargate}
"""The conversion of each target, by the service in its ARN."""


def _instant(value: object) -> str:
    """Return ISO-8601 in UTC for a value from botocore (a datetime) or the AWS CLI (text, or epoch seconds)."""
    if isinstance(value, int | float):
        found = datetime.fromtimestamp(value, UTC)
    else:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return f"{found.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
