"""Schedules of EventBridge Scheduler, as `get-schedule` answers them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from duecourse.cli.imports.entry import (
    Document,
    Entry,
    Names,
    NotReadableError,
    Runner,
    escaped,
    one_line,
    schedule_fault,
)
from duecourse.cli.manifests.json_text import read_json
from duecourse.domain.targets.kinds import TARGETS

RETRIES, AGE_SECONDS = 185, 86_400
"""What EventBridge Scheduler does where a schedule does not say."""
MAX_ATTEMPTS = 100
"""What a job may say at most."""

_ATTRIBUTES = {
    "<aws.scheduler.scheduled-time>": "{{due_at}}",
    "<aws.scheduler.execution-id>": "{{run_id}}",
    "<aws.scheduler.attempt-number>": "{{attempt}}",
}
_EVENT = "its target receives Input as the payload of Duecourse's event (docs/runs.md)"
_ALLOWED = "the stage must allow the target (duecourse-target-*, or the names in its settings)"
_SDK = "parameters have the names of boto3: compare them, and let the role trust Duecourse"

_Target = tuple[Document, tuple[str, ...]]


class _NotCarriedError(ValueError):
    """Why a target cannot be called."""


def read_schedules(text: str, *, file: str, runner: Runner, names: Names, now: float) -> list[Entry]:
    """What becomes of each schedule of a file: one answer of `get-schedule`, a list of them, or one a line.

    Raises NotReadableError.
    """
    try:
        values = list(_values(text))
    except ValueError as error:
        raise NotReadableError(f"{file}: {error}") from error
    return of_schedules(values, file=file, runner=runner, names=names, now=now)


def of_schedules(schedules: Iterable[Any], *, file: str, runner: Runner, names: Names, now: float) -> list[Entry]:
    """What becomes of each schedule."""
    entries = []
    for number, schedule in enumerate(schedules, 1):
        place = f"{file} {number}"
        if not isinstance(schedule, Mapping) or "ScheduleExpression" not in schedule:
            why = "has no ScheduleExpression; export it with get-schedule, because list-schedules omits it"
            name = schedule.get("Name", "?") if isinstance(schedule, Mapping) else "?"
            entries.append(Entry(place, str(name), None, (why,)))
            continue
        entries.append(_entry(schedule, place, runner, names, now))
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


def _entry(schedule: Mapping[str, Any], place: str, runner: Runner, names: Names, now: float) -> Entry:
    name, group = str(schedule.get("Name") or "schedule"), str(schedule.get("GroupName") or "default")
    expression, zone = str(schedule["ScheduleExpression"]), str(schedule.get("ScheduleExpressionTimezone") or "UTC")
    told = one_line(f"{group}/{name} {expression}")
    if schedule.get("State") == "DISABLED":
        return Entry(place, told, None, ("is disabled, but a job would run; import it when it should run",))
    if fault := schedule_fault(expression, zone, now):
        return Entry(place, told, None, (fault,))
    job_id = names.take(name if group == "default" else f"{group}-{name}")
    target = schedule.get("Target") or {}
    try:
        called, notes = _target(target, job_id, runner)
    except _NotCarriedError as error:
        return Entry(place, told, None, (str(error),))
    job: Document = {"id": job_id, "name": one_line(str(schedule.get("Description") or name))}
    job |= {"schedule": expression, "timezone": zone}
    if not expression.startswith("rate("):
        job |= {"dst_gap": "skip", "dst_fold": "first"} if zone != "UTC" else {}
    elif schedule.get("CreationDate") and not schedule.get("StartDate"):
        job["anchor"] = _instant(schedule["CreationDate"])
    for theirs, ours in (("StartDate", "start"), ("EndDate", "end")):
        if schedule.get(theirs):
            job[ours] = _instant(schedule[theirs])
    window = schedule.get("FlexibleTimeWindow") or {}
    if window.get("Mode") == "FLEXIBLE":
        job["jitter_seconds"] = int(window.get("MaximumWindowInMinutes") or 0) * 60
    job |= called | {"overlap": "allow", "retry": _retry(target.get("RetryPolicy") or {})}
    notes = (*notes, *_left_out(schedule, target))
    return Entry(place, told, job, notes)


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


def _retry(policy: Mapping[str, Any]) -> Document:
    attempts = int(policy.get("MaximumRetryAttempts", RETRIES)) + 1
    return {
        "max_attempts": min(attempts, MAX_ATTEMPTS),
        "max_age_seconds": int(policy.get("MaximumEventAgeInSeconds", AGE_SECONDS)),
    }


def _target(target: Mapping[str, Any], job_id: str, runner: Runner) -> _Target:
    """The fields that say what is called. Raises _NotCarriedError."""
    arn = str(target.get("Arn") or "")
    service, _, resource = ([*arn.split(":", 5), "", "", "", "", ""][2], "", arn.split(":", 5)[-1])
    payload = _payload(target.get("Input"))
    if service == "scheduler" and "aws-sdk:" in arn:
        return _sdk(arn, target, payload)
    make = _TARGETS.get(service)
    if make is None and (runner.queue or runner.url):
        called = runner.document(job_id, {})
        wanted = f"{arn} has no caller yet; the consumer of {runner.queue or runner.url} must call it"
        return {**called, "payload": payload}, (wanted, _EVENT)
    if make is None:
        raise _NotCarriedError(
            f"{service or arn} is not supported as a target; use --queue or --target-url for a program that calls it"
        )
    return {"target": make(resource, target), "payload": payload}, (_EVENT, _ALLOWED)


def _payload(given: object) -> Any:
    """Input as a payload: JSON, or text; braces are no templates, and the context attributes become ours."""
    if given is None:
        return None
    try:
        value = read_json(str(given))
    except ValueError:
        value = str(given)
    return _attributes(escaped(value))


def _attributes(value: Any) -> Any:
    match value:
        case str():
            for theirs, ours in _ATTRIBUTES.items():
                value = value.replace(theirs, ours)
            return value
        case dict():
            return {name: _attributes(each) for name, each in value.items()}
        case list():
            return [_attributes(each) for each in value]
    return value


def _sdk(arn: str, target: Mapping[str, Any], parameters: Any) -> _Target:
    service, _, action = arn.partition("aws-sdk:")[2].partition(":")
    role = str(target.get("RoleArn") or "").rsplit("/", 1)[-1]
    if not isinstance(parameters, dict | None):
        raise _NotCarriedError("Input of an AWS call must be a JSON object")
    call = {"type": "aws", "service": service, "action": action[:1].upper() + action[1:], "role": role}
    return {"target": {**call, "parameters": parameters or {}}}, (_SDK, _ALLOWED)


def _last(resource: str) -> str:
    return re.split(r"[:/]", resource)[-1]


def _function(resource: str, _target: Mapping[str, Any]) -> Document:
    return {"type": "lambda", "function": resource.split(":")[1] if ":" in resource else resource, "mode": "async"}


def _queue(resource: str, target: Mapping[str, Any]) -> Document:
    group = (target.get("SqsParameters") or {}).get("MessageGroupId")
    return {"type": "sqs", "queue": resource, **({"group": group} if group else {})}


def _bus(resource: str, target: Mapping[str, Any]) -> Document:
    event = target.get("EventBridgeParameters") or {}
    found = {"type": "eventbridge", "bus": _last(resource), "source": event.get("Source")}
    return {**found, "detail_type": event.get("DetailType")}


def _fargate(resource: str, target: Mapping[str, Any]) -> Document:
    task = target.get("EcsParameters") or {}
    network = (task.get("NetworkConfiguration") or {}).get("awsvpcConfiguration") or {}
    overrides = _container(target.get("Input"))
    if task.get("LaunchType", "FARGATE") != "FARGATE" or not network.get("Subnets") or overrides is None:
        raise _NotCarriedError("an ECS task: it must run on Fargate in subnets, and Input must name its container")
    return {
        "type": "ecs",
        "cluster": _last(resource),
        "task_definition": str(task.get("TaskDefinitionArn") or "").rsplit("/", 1)[-1],
        "container": overrides,
        "subnets": network["Subnets"],
        "security_groups": network.get("SecurityGroups") or [],
        "public_ip": network.get("AssignPublicIp") == "ENABLED",
    }


def _container(given: object) -> str | None:
    """The container that Input's overrides name."""
    try:
        name = json.loads(str(given))["containerOverrides"][0]["name"]
    except (ValueError, LookupError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _named(word: str, field: str) -> Callable[[str, Mapping[str, Any]], Document]:
    """A target that is the name of a resource and nothing more."""
    return lambda resource, _: {"type": word, field: _last(resource)}


_TARGETS: Mapping[str, Callable[[str, Mapping[str, Any]], Document]] = {
    permission.arn.partition(":")[0]: _named(word, field)
    for word, kind in TARGETS.items()
    for permission in kind.permissions
    for field, each in kind.fields.items()
    if permission.of == each.allowed and kind.required == {field}
} | {"lambda": _function, "sqs": _queue, "events": _bus, "ecs": _fargate}
"""What a target becomes, by the service in its ARN."""


def _instant(value: object) -> str:
    """ISO-8601 in UTC, of what botocore (a datetime) or the command line (text) says."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return f"{found.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
