"""Targets as posted: the models, and what only the stage or two fields together can decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic_core import CoreSchema
from pydantic_core.core_schema import with_info_after_validator_function

from duecourse.api.bodies.http_target_body import HttpTargetBody
from duecourse.api.bodies.models import LINE, UNIQUE, Body, each_once, no_controls, refuse, rules_of
from duecourse.api.bodies.target_rules import name_problem, task_problem
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS, name_refusal, public_ip_refusal
from duecourse.domain.targets.kinds import action_of, groups_of
from duecourse.limits import EVENTS_SOURCE

Group = Annotated[str, Field(min_length=1, max_length=256, json_schema_extra=LINE), AfterValidator(no_controls)]


_LENGTH = re.compile(r"\(\?=\.\{1,(\d+)\}\\Z\)")


@dataclass(frozen=True, slots=True)
class Named:
    """Annotates a name that the stage has to allow, with the list that holds it."""

    kind: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check."""
        return with_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """What a name looks like, as ECMA has patterns: a length in front is said by itself."""
        form, wants = ALLOW_LISTS[self.kind].form, ALLOW_LISTS[self.kind].wants
        length = _LENGTH.match(form)
        return handler(schema) | {
            "pattern": f"^{_LENGTH.sub('', form)}$",
            "description": f"{wants[0].upper()}{wants[1:]}; one that the stage allows.",
            **({} if length is None else {"maxLength": int(length[1])}),
        }

    def _check(self, name: str, info: ValidationInfo) -> str:
        if problem := name_problem(self.kind, name, rules_of(info).allowed):
            raise refuse(problem)
        return name


def _allowed(kind: str, given: list[str], names: Iterable[str], info: ValidationInfo) -> list[str]:
    """What was given, where the stage allows each of the names that it stands for."""
    for name in names:
        if problem := name_refusal(kind, name, rules_of(info).allowed):
            raise refuse(f"{name} {problem}")
    return given


def _fifo(group: str | None, info: ValidationInfo, holder: str) -> str | None:
    """A message group belongs to FIFO queues and topics alone."""
    name = info.data.get(holder)
    if group is not None and name is not None and not name.endswith(".fifo"):
        raise refuse(f"is for FIFO {holder}s only; leave it out, or name a {holder} that ends in .fifo")
    return group


class LambdaTargetBody(Body):
    """A Lambda function of the stage's own account and region."""

    type: Literal["lambda"]
    function: Annotated[str, Named("functions")]
    mode: Literal["sync", "async"] = "sync"


class SqsTargetBody(Body):
    """A queue of the stage's own account and region."""

    type: Literal["sqs"]
    queue: Annotated[str, Named("queues")]
    group: Annotated[Group | None, AfterValidator(partial(_fifo, holder="queue"))] = None


class SnsTargetBody(Body):
    """A topic of the stage's own account and region."""

    type: Literal["sns"]
    topic: Annotated[str, Named("topics")]
    subject: (
        Annotated[
            str,
            Field(min_length=1, max_length=256, json_schema_extra={"pattern": "^[!-~][ -~]*$"}),
            AfterValidator(no_controls),
        ]
        | None
    ) = None
    group: Annotated[Group | None, AfterValidator(partial(_fifo, holder="topic"))] = None

    @field_validator("subject")
    @classmethod
    def _subject(cls, subject: str | None) -> str | None:
        if subject is not None and not (subject.isascii() and subject[0] != " "):
            raise refuse("must be ASCII text that does not begin with a blank (SNS takes no other)")
        return subject


class EventBridgeTargetBody(Body):
    """An event bus of the stage's own account and region."""

    type: Literal["eventbridge"]
    bus: Annotated[str, Named("buses")]
    source: Group = "duecourse.jobs"
    detail_type: Annotated[
        str, Field(min_length=1, max_length=128, json_schema_extra=LINE), AfterValidator(no_controls)
    ] = "Scheduled Run"

    @field_validator("source")
    @classmethod
    def _source(cls, source: str) -> str:
        if source.lower().startswith("aws."):
            raise refuse("must not begin with aws. (EventBridge reserves it for AWS services)")
        if source.lower() == EVENTS_SOURCE:
            raise refuse(
                f"must not be {EVENTS_SOURCE} (Duecourse's own events have it); use duecourse.jobs, or another"
            )
        return source


class StepFunctionsTargetBody(Body):
    """A state machine of the stage's own account and region."""

    type: Literal["stepfunctions"]
    machine: Annotated[str, Named("machines")]


class EcsTargetBody(Body):
    """A Fargate task."""

    type: Literal["ecs"]
    cluster: Annotated[str, Named("clusters")]
    task_definition: Annotated[str, Named("task_definitions")]
    container: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,255}$")]
    subnets: Annotated[
        list[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]],
        Field(min_length=1, max_length=16, json_schema_extra=UNIQUE),
        AfterValidator(each_once),
    ]
    security_groups: Annotated[
        list[Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")]],
        Field(max_length=5, json_schema_extra=UNIQUE),
        AfterValidator(each_once),
    ] = Field(default_factory=list, validate_default=True)
    public_ip: bool = False

    @field_validator("subnets")
    @classmethod
    def _subnets(cls, subnets: list[str], info: ValidationInfo) -> list[str]:
        return _allowed("subnets", subnets, subnets, info)

    @field_validator("security_groups")
    @classmethod
    def _security_groups(cls, groups: list[str], info: ValidationInfo) -> list[str]:
        return _allowed("security_groups", groups, groups_of(groups), info)

    @field_validator("public_ip")
    @classmethod
    def _public_ip(cls, public_ip: bool, info: ValidationInfo) -> bool:
        if problem := public_ip_refusal(public_ip, rules_of(info).allowed):
            raise refuse(problem)
        return public_ip


class AwsTargetBody(Body):
    """One call of an AWS API."""

    type: Literal["aws"]
    service: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,63}$")]
    action: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]{0,127}$")]
    parameters: dict[str, Any] = Field(default_factory=dict)
    role: Annotated[str, Named("roles")]

    @field_validator("action")
    @classmethod
    def _action(cls, action: str, info: ValidationInfo) -> str:
        service = info.data.get("service")
        if service is not None and (
            problem := name_refusal("actions", action_of(service, action), rules_of(info).allowed)
        ):
            raise refuse(problem)
        return action


class TaskTargetBody(Body):
    """A target that the operator has registered."""

    type: Literal["task"]
    name: Annotated[str, Field(json_schema_extra={"pattern": "^[A-Za-z0-9_-]{1,64}$"})]

    @field_validator("name")
    @classmethod
    def _name(cls, name: str, info: ValidationInfo) -> str:
        if problem := task_problem(name, rules_of(info).tasks):
            raise refuse(problem)
        return name


TargetBody = Annotated[
    HttpTargetBody
    | LambdaTargetBody
    | SqsTargetBody
    | SnsTargetBody
    | EventBridgeTargetBody
    | StepFunctionsTargetBody
    | EcsTargetBody
    | AwsTargetBody
    | TaskTargetBody,
    Field(discriminator="type"),
]

TARGET_BODIES: Mapping[str, type[Body]] = {
    get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(TargetBody)[0])
}
"""The models by the word that chooses them."""
