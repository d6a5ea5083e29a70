"""Imports schedules of EventBridge Scheduler from the responses of `get-schedule`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from duecourse.cli.imports.entry import (
    Document,
    Entry,
    Names,
    NotReadableError,
    Runner,
    one_line,
    schedule_fault,
)
from duecourse.cli.manifests.json_text import read_json
from duecourse.domain.schedules.schedule import MAX_JITTER_SECONDS
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS
from duecourse.domain.targets.kinds import TARGETS, Permission
from duecourse.domain.targets.template import literal

RETRIES, AGE_SECONDS = 185, 86_400
"""The defaults of EventBridge Scheduler."""
MAX_ATTEMPTS = 100
"""The maximum number of attempts of a job."""

_ATTRIBUTES = {
    "<aws.scheduler.scheduled-time>": "{{due_at}}",
    "<aws.scheduler.execution-id>": "{{run_id}}",
    "<aws.scheduler.attempt-number>": "{{attempt}}",
}
_EVENT = "its target receives Input as the payload of Duecourse's event (docs/runs.md)"
_ALLOWED = "the stage must allow the target (duecourse-target-*, or the names in its settings)"
_SDK = "parameters have the names of boto3: compare them, and let the role trust Duecourse"
_REMEDY = "use --queue or --target-url for a program that calls it"
_CARRIED_OF_ECS = {"TaskDefinitionArn", "TaskCount", "LaunchType", "NetworkConfiguration"}

_Target = tuple[Document, tuple[str, ...]]


class _NotCarriedError(ValueError):
    """The reason why a target cannot be called."""


@dataclass(frozen=True, slots=True)
class Place:
    """The account and region of the stage, and thus of all resources that its jobs call. An empty value is unknown."""

    account: str = ""
    region: str = ""

    def __str__(self) -> str:
        return f"account {self.account or '?'}, region {self.region or '?'}"


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
    text: str, *, file: str, runner: Runner, names: Names, now: float, stage: Place = Place()
) -> list[Entry]:
    """Return the result for each schedule of a file: one response of `get-schedule`, a list of them, or one per line.

    Raises NotReadableError.
    """
    try:
        values = list(_values(text))
    except ValueError as error:
        raise NotReadableError(f"{file}: {error}") from error
    return of_schedules(values, file=file, runner=runner, names=names, now=now, stage=stage)


def of_schedules(
    schedules: Iterable[Any], *, file: str, runner: Runner, names: Names, now: float, stage: Place = Place()
) -> list[Entry]:
    """Return the result for each schedule. Unknown parts of the stage's place are taken from the first schedule."""
    entries = []
    for number, schedule in enumerate(schedules, 1):
        place = f"{file} {number}"
        if not isinstance(schedule, Mapping) or "ScheduleExpression" not in schedule:
            why = "has no ScheduleExpression; export it with get-schedule, because list-schedules omits it"
            name = schedule.get("Name", "?") if isinstance(schedule, Mapping) else "?"
            entries.append(Entry(place, str(name), None, (why,)))
            continue
        first = _Arn.of(schedule.get("Arn")).place
        stage = Place(stage.account or first.account, stage.region or first.region)
        entries.append(_entry(schedule, place, runner, names, now, stage))
    return entries


def _values(text: str) -> Iterator[Any]:
    try:
        value = read_json(text)
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2:
            raise
        yield from map(read_json, lines)
        return
    if isinstance(value, Mapping) and isinstance(value.get("Schedules"), list):
        yield from value["Schedules"]
    elif isinstance(value, list):
        yield from value
    else:
        yield value


def _entry(schedule: Mapping[str, Any], place: str, runner: Runner, names: Names, now: float, stage: Place) -> Entry:
    name, group = str(schedule.get("Name") or "schedule"), str(schedule.get("GroupName") or "default")
    expression, zone = str(schedule["ScheduleExpression"]), str(schedule.get("ScheduleExpressionTimezone") or "UTC")
    told = one_line(f"{group}/{name} {expression}")
    if schedule.get("State") == "DISABLED":
        return Entry(place, told, None, ("is disabled, but a job would run; import it when it should run",))
    times = _times(schedule, expression, zone)
    window = schedule.get("FlexibleTimeWindow") or {}
    minutes = int(window.get("MaximumWindowInMinutes") or 0) if window.get("Mode") == "FLEXIBLE" else 0
    if fault := schedule_fault(times, now):
        return Entry(place, told, None, (fault,))
    if minutes * 60 > MAX_JITTER_SECONDS:
        most = MAX_JITTER_SECONDS // 60
        why = f"FlexibleTimeWindow is {minutes} minutes, but the jitter of a job is at most {most}; shorten the window"
        return Entry(place, told, None, (why,))
    job_id = names.take(name if group == "default" else f"{group}-{name}")
    target = schedule.get("Target") or {}
    try:
        called, notes = _target(target, schedule, job_id, runner, stage)
    except _NotCarriedError as error:
        return Entry(place, told, None, (str(error),))
    job: Document = {"id": job_id, "name": one_line(str(schedule.get("Description") or name)), **times}
    if minutes:
        job["jitter_seconds"] = minutes * 60
    job |= called | {"overlap": "allow", "retry": _retry(target.get("RetryPolicy") or {})}
    notes = (*notes, *_left_out(schedule, target))
    return Entry(place, told, job, notes)


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
    retries = (target.get("RetryPolicy") or {}).get("MaximumRetryAttempts", RETRIES)
    if retries >= MAX_ATTEMPTS:
        yield f"{retries} retries: a job has {MAX_ATTEMPTS} attempts at most"
    if target.get("DeadLetterConfig"):
        yield "DeadLetterConfig: dead runs are kept in Duecourse (duecourse dead-letters), not in its queue"
    if schedule.get("ActionAfterCompletion") == "DELETE":
        yield "ActionAfterCompletion: Duecourse removes completed jobs automatically"
    if schedule.get("KmsKeyArn"):
        yield "KmsKeyArn: a stage has one key for all its data"
    for name, value in (target.get("EcsParameters") or {}).items():
        if value and name not in _CARRIED_OF_ECS:
            yield f"EcsParameters.{name} is not carried over"


def _retry(policy: Mapping[str, Any]) -> Document:
    attempts = int(policy.get("MaximumRetryAttempts", RETRIES)) + 1
    return {
        "max_attempts": min(attempts, MAX_ATTEMPTS),
        "max_age_seconds": int(policy.get("MaximumEventAgeInSeconds", AGE_SECONDS)),
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
    return {"target": found, "payload": payload}, (_EVENT, _ALLOWED)


def _payload(given: object, arn: str) -> Any:
    """Return Input as a payload: JSON or text. Braces are escaped, and context attributes become templates. `arn` is
    the schedule's ARN.
    """
    if given is None:
        return None
    try:
        value = read_json(str(given))
    except ValueError:
        value = str(given)
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
    call = {"type": "aws", "service": service, "action": action[:1].upper() + action[1:]}
    call["role"] = role.name("role/{name}", "roles")
    return {"target": {**call, "parameters": parameters or {}}}, (_SDK, _ALLOWED)


def _function(arn: _Arn, _target: Mapping[str, Any], _stage: Place) -> Document:
    latest = replace(arn, resource=arn.resource.removesuffix(":$LATEST"))
    return {"type": "lambda", "function": latest.name("function:{name}", "functions"), "mode": "async"}


def _queue(arn: _Arn, target: Mapping[str, Any], _stage: Place) -> Document:
    group = (target.get("SqsParameters") or {}).get("MessageGroupId")
    return {"type": "sqs", "queue": arn.name("{name}", "queues"), **({"group": literal(group)} if group else {})}


def _bus(arn: _Arn, target: Mapping[str, Any], _stage: Place) -> Document:
    event = target.get("EventBridgeParameters") or {}
    found = {"type": "eventbridge", "bus": arn.name("event-bus/{name}", "buses"), "source": event.get("Source")}
    return {**found, "detail_type": event.get("DetailType")}


def _fargate(arn: _Arn, target: Mapping[str, Any], stage: Place) -> Document:
    task = target.get("EcsParameters") or {}
    network = (task.get("NetworkConfiguration") or {}).get("awsvpcConfiguration") or {}
    container = _container(target.get("Input"))
    if task.get("LaunchType") != "FARGATE" or not network.get("Subnets") or task.get("TaskCount", 1) != 1:
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
        "container": container,
        "subnets": network["Subnets"],
        "security_groups": network.get("SecurityGroups") or [],
        "public_ip": network.get("AssignPublicIp") == "ENABLED",
    }


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


_TARGETS: Mapping[str, Callable[[_Arn, Mapping[str, Any], Place], Document]] = {
    permission.arn.partition(":")[0]: _named(word, field, permission)
    for word, kind in TARGETS.items()
    for permission in kind.permissions
    for field, each in kind.fields.items()
    if permission.of == each.allowed and kind.required == {field}
} | {"lambda": _function, "sqs": _queue, "events": _bus, "ecs": _fargate}
"""The conversion of each target, by the service in its ARN."""


def _instant(value: object) -> str:
    """Return ISO-8601 in UTC for a value from botocore (a datetime) or the AWS CLI (text)."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return f"{found.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
