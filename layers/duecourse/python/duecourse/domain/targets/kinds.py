"""The types of targets. Each is defined once: its fields, its entries in a stage's allow lists, and the requirements of
its calls.

Documents, request bodies, rejections, callers, the workers' permissions, bundled service models, importers and the
console's form are derived from these definitions. CONTRIBUTING.md lists the other steps for a new type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Literal
from urllib.parse import urlsplit

from duecourse.domain.documents import without_defaults
from duecourse.domain.targets.targets import (
    Auth,
    AwsTarget,
    BasicAuth,
    Credentials,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaMode,
    LambdaTarget,
    OAuth,
    OidcAuth,
    ReportTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TaskTarget,
    WorkflowTarget,
)

Document = dict[str, Any]

DEFAULT_GROUP = "default"
"""The network's default security group. A task gets it if its job does not specify one."""

_AWS = "duecourse.adapters.targets.aws"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetField:
    """A field of a target in documents and in the console's form.

    `allowed`: the list of AllowedTargets that must contain its value. `template`: its text is a template. `wanted`
    completes "is required: write …". The other attributes are for the form: `hint` is the meaning or an example,
    `standard` is the default of a list, `options` has the labels of the possible values, and `first` is the value in a
    new job.
    """

    label: str
    edited_as: Literal["text", "number", "list", "pairs", "json", "flag", "choice", "secret", "auth"] = "text"
    hint: str | None = None
    standard: str | None = None
    options: Mapping[str, str] | None = None
    first: Any = None
    wanted: str | None = None
    allowed: str | None = None
    template: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """The permissions of the workers' roles for a type: `actions` on the names in the stage's `of` list.

    `arn` is `service:resource` with a placeholder for the name, such as `states:stateMachine:{name}`. Account and
    region are those of the stage. Nothing is permitted while one of the lists in `needs` is empty. `within` is a
    condition: the request must name one of the ARNs of another list. `passed_to` is the service to which a role may be
    passed.
    """

    actions: tuple[str, ...]
    of: str
    arn: str
    needs: tuple[str, ...] = ()
    within: tuple[str, str, str] | None = None
    """The condition key, the list, and the ARN."""
    passed_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetKind:
    """One type of target.

    `service` is the AWS service of the client that its caller uses, by its boto3 name. `call` is the class of its
    caller (`module:Class`, imported at the first call). The console uses `label` (its name in the form), and `text` and
    `short` (one line about a target, with its fields in braces). `example` sets every field.
    """

    model: type[Target]
    label: str
    text: str
    short: str
    fields: Mapping[str, TargetField]
    example: Document
    service: str = ""
    call: str | None = None
    permissions: tuple[Permission, ...] = ()
    names: Callable[[Any], Iterator[tuple[str, str]]] | None = None
    """Yields the names that a stage must allow, with their lists. Only needed if they are not exactly the fields'
    values.
    """
    read: Callable[[Mapping[str, Any]], Document] | None = None
    """Returns the model's arguments from a document. Only needed if they are not exactly its fields."""
    written: Callable[[Any], Document] | None = None
    """Returns the document's fields that differ from the model's."""

    @property
    def required(self) -> frozenset[str]:
        """The fields without a default."""
        return frozenset(
            each.name for each in fields(self.model) if each.default is MISSING and each.default_factory is MISSING
        )

    @property
    def postable(self) -> bool:
        """Whether a job may be posted with this target. A workflow creates its target itself."""
        return self.model is not WorkflowTarget

    def target(self, document: Mapping[str, Any]) -> Target:
        """Return the target that a document describes. Missing fields have their defaults. Raises KeyError, TypeError
        or ValueError.
        """
        return self.model(**(_arguments if self.read is None else self.read)(document))

    def document(self, target: Target) -> Document:
        """Return the fields of a target of this type."""
        return asdict(target) | ({} if self.written is None else self.written(target))

    def named(self, target: Target) -> Iterator[tuple[str, str]]:
        """Yield the list and the name of each resource that a stage must allow."""
        if self.names is not None:
            yield from self.names(target)
            return
        for name, each in self.fields.items():
            if each.allowed is not None:
                value = getattr(target, name)
                yield from ((each.allowed, one) for one in (value if isinstance(value, tuple) else (value,)))


def action_of(service: str, action: str) -> str:
    """Return an API call in the form of a stage's allow list: `ecs:UpdateService`."""
    return f"{service}:{action}"


def groups_of(security_groups: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Return the security groups of a task, by the names in the stage's list."""
    return tuple(security_groups) or (DEFAULT_GROUP,)


def _arguments(document: Mapping[str, Any]) -> Document:
    """Return the fields of a document as arguments of a model. Lists become tuples."""
    found = ((name, value) for name, value in document.items() if name != "type")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found}


def _ecs_names(target: EcsTarget) -> Iterator[tuple[str, str]]:
    yield "clusters", target.cluster
    yield "task_definitions", target.task_definition
    yield from (("subnets", subnet) for subnet in target.subnets)
    yield from (("security_groups", group) for group in groups_of(target.security_groups))


def _aws_names(target: AwsTarget) -> Iterator[tuple[str, str]]:
    yield "actions", action_of(target.service, target.action)
    yield "roles", target.role


def _http_arguments(document: Mapping[str, Any]) -> Document:
    sign = document.get("sign")
    own = {
        "headers": tuple(document.get("headers", {}).items()),
        "sign": None if sign is None else sign["secret"],
        "auth": _auth_of(document.get("auth")),
    }
    return _arguments(document) | own


def _auth_of(document: Mapping[str, Any] | None) -> Auth | None:
    match document:
        case None:
            return None
        case {"type": "basic"}:
            return BasicAuth(**_arguments(document))
        case {"type": "oauth"}:
            own = {"credentials": Credentials(document.get("credentials", Credentials.HEADER))}
            return OAuth(**_arguments(document) | own)
        case {"type": "oidc"}:
            return OidcAuth(**_arguments(document))
        case _:
            raise ValueError(f"unknown type of auth {document.get('type')!r}")


def _auth_document(auth: Auth | None) -> Document | None:
    match auth:
        case None:
            return None
        case BasicAuth():
            return {"type": "basic", **asdict(auth)}
        case OAuth():
            return {"type": "oauth", **asdict(auth)}
        case OidcAuth():
            return {"type": "oidc", **asdict(auth)}


def _http_fields(target: HttpTarget) -> Document:
    return {
        "headers": dict(target.headers),
        "sign": None if target.sign is None else {"secret": target.sign},
        "auth": _auth_document(target.auth),
    }


_NO_ARN = "Its name, not an ARN."
_GROUP = TargetField(label="Message group", hint="Only for FIFO queues and topics.", template=True)

TARGETS: Mapping[str, TargetKind] = {
    "http": TargetKind(
        model=HttpTarget,
        label="HTTP request",
        text="{method} {url}",
        short="{method} {url}",
        fields={
            "url": TargetField(
                label="URL",
                hint="https://…; a local stack also calls http://",
                first="https://",
                wanted="the address to call, such as https://example.com/hook",
            ),
            "method": TargetField(
                label="Method",
                edited_as="choice",
                options={each: each for each in ("POST", "GET", "PUT", "PATCH", "DELETE", "HEAD")},
            ),
            "headers": TargetField(label="Headers", edited_as="pairs", hint="One per line: X-Team: sales"),
            "expect": TargetField(
                label="Successful statuses", edited_as="list", standard="2xx", hint="Status codes: 2xx, 404"
            ),
            "sign": TargetField(label="Signing secret", edited_as="secret", hint="The name of the secret."),
            "auth": TargetField(label="Authentication", edited_as="auth"),
            "via": TargetField(label="Connector", hint="Of a private network. Set by the operator."),
        },
        read=_http_arguments,
        written=_http_fields,
        call="duecourse.adapters.targets.http.http:HttpCaller",
        example={
            "url": "https://example.com/r",
            "method": "PUT",
            "headers": {"X-B": "2", "X-A": "{{secret:key}}"},
            "expect": ["2xx", "404"],
            "sign": {"secret": "hook"},
            "auth": {
                "type": "oauth",
                "token_url": "https://login.example.com/token",
                "client_id": "reports",
                "secret": "crm-client",
                "scope": "reports.write",
                "audience": "https://crm.example.com",
                "credentials": "body",
            },
            "via": "office",
        },
    ),
    "lambda": TargetKind(
        model=LambdaTarget,
        label="Lambda function",
        text="Lambda function {function}",
        short="Lambda {function}",
        fields={
            "function": TargetField(
                label="Function", hint=_NO_ARN, wanted="the name of the Lambda function to call", allowed="functions"
            ),
            "mode": TargetField(
                label="Mode",
                edited_as="choice",
                options={"sync": "Wait for its response", "async": "Start it without waiting"},
            ),
            "qualifier": TargetField(label="Version or alias", hint="Required for durable functions."),
            "log": TargetField(label="Keep the end of its log", edited_as="flag", hint="If Duecourse waits for it."),
        },
        read=lambda document: _arguments(document) | {"mode": LambdaMode(document.get("mode", "sync"))},
        service="lambda",
        call=f"{_AWS}.lambda_function:LambdaCaller",
        permissions=(
            Permission(actions=("lambda:InvokeFunction",), of="functions", arn="lambda:function:{name}"),
            # Versions and aliases, and the executions of durable functions.
            Permission(
                actions=("lambda:InvokeFunction", "lambda:GetDurableExecution", "lambda:StopDurableExecution"),
                of="functions",
                arn="lambda:function:{name}:*",
            ),
        ),
        example={"function": "duecourse-target-mail", "mode": "sync", "qualifier": "live", "log": True},
    ),
    "sqs": TargetKind(
        model=SqsTarget,
        label="SQS queue",
        text="SQS queue {queue}",
        short="SQS {queue}",
        fields={
            "queue": TargetField(
                label="Queue", hint=_NO_ARN, wanted="the name of the queue to send to", allowed="queues"
            ),
            "group": _GROUP,
        },
        service="sqs",
        call=f"{_AWS}.message_targets:SqsCaller",
        permissions=(Permission(actions=("sqs:SendMessage", "sqs:GetQueueUrl"), of="queues", arn="sqs:{name}"),),
        example={"queue": "duecourse-target-mail.fifo", "group": "{{job_id}}"},
    ),
    "sns": TargetKind(
        model=SnsTarget,
        label="SNS topic",
        text="SNS topic {topic}",
        short="SNS {topic}",
        fields={
            "topic": TargetField(
                label="Topic", hint=_NO_ARN, wanted="the name of the topic to publish to", allowed="topics"
            ),
            "subject": TargetField(label="Subject", template=True),
            "group": _GROUP,
        },
        service="sns",
        call=f"{_AWS}.message_targets:SnsCaller",
        permissions=(Permission(actions=("sns:Publish",), of="topics", arn="sns:{name}"),),
        example={"topic": "duecourse-target-news.fifo", "subject": "Report of {{date}}", "group": "{{tenant}}"},
    ),
    "eventbridge": TargetKind(
        model=EventBridgeTarget,
        label="EventBridge bus",
        text="event bus {bus}",
        short="EventBridge {bus}",
        fields={
            "bus": TargetField(label="Bus", first="default", wanted="the name of the event bus", allowed="buses"),
            "source": TargetField(label="Source"),
            "detail_type": TargetField(label="Detail type"),
        },
        service="events",
        call=f"{_AWS}.message_targets:EventBusCaller",
        permissions=(Permission(actions=("events:PutEvents",), of="buses", arn="events:event-bus/{name}"),),
        example={"bus": "duecourse-target-bus", "source": "billing", "detail_type": "Invoice Due"},
    ),
    "stepfunctions": TargetKind(
        model=StepFunctionsTarget,
        label="Step Functions state machine",
        text="state machine {machine}",
        short="Step Functions {machine}",
        fields={
            "machine": TargetField(
                label="State machine", hint=_NO_ARN, wanted="the name of the state machine to start", allowed="machines"
            ),
        },
        service="stepfunctions",
        call=f"{_AWS}.state_machine:StateMachineCaller",
        permissions=(
            Permission(actions=("states:StartExecution",), of="machines", arn="states:stateMachine:{name}"),
            Permission(
                actions=("states:DescribeExecution", "states:StopExecution"),
                of="machines",
                arn="states:execution:{name}:*",
            ),
        ),
        example={"machine": "duecourse-target-flow"},
    ),
    "ecs": TargetKind(
        model=EcsTarget,
        label="ECS task",
        text="Fargate task {task_definition} in {cluster}",
        short="ECS {cluster}/{task_definition}",
        fields={
            "cluster": TargetField(label="Cluster", wanted="the name of the cluster to run on", allowed="clusters"),
            "task_definition": TargetField(
                label="Task definition", wanted="the name of the task definition to run", allowed="task_definitions"
            ),
            "container": TargetField(
                label="Container",
                hint="The container that receives the event.",
                wanted="the name of the container that receives the event",
            ),
            "subnets": TargetField(
                label="Subnets",
                edited_as="list",
                first=[],
                wanted="the subnets to run in, such as subnet-0123456789abcdef0",
                allowed="subnets",
            ),
            "security_groups": TargetField(label="Security groups", edited_as="list", allowed="security_groups"),
            "public_ip": TargetField(label="Public address", edited_as="flag"),
        },
        names=_ecs_names,
        service="ecs",
        call=f"{_AWS}.ecs_task:EcsCaller",
        permissions=(
            Permission(
                actions=("ecs:RunTask",),
                of="task_definitions",
                arn="ecs:task-definition/{name}",
                needs=("clusters",),
                within=("ecs:cluster", "clusters", "ecs:cluster/{name}"),
            ),
            Permission(
                actions=("ecs:DescribeTasks", "ecs:StopTask"),
                of="clusters",
                arn="ecs:task/{name}/*",
                needs=("task_definitions",),
            ),
            Permission(
                actions=("iam:PassRole",),
                of="task_roles",
                arn="iam:role/{name}",
                needs=("clusters", "task_definitions"),
                passed_to="ecs-tasks.amazonaws.com",
            ),
        ),
        example={
            "cluster": "duecourse-target-cluster",
            "task_definition": "duecourse-target-report:7",
            "container": "main",
            "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
            "security_groups": ["sg-0123456789abcdef0"],
            "public_ip": True,
        },
    ),
    "aws": TargetKind(
        model=AwsTarget,
        label="AWS API call",
        text="{service}:{action} as {role}",
        short="AWS {service}:{action}",
        fields={
            "service": TargetField(label="Service", hint="ecs", wanted="the service to call, such as ecs"),
            "action": TargetField(
                label="Action", hint="UpdateService", wanted="the action to call, such as UpdateService"
            ),
            "parameters": TargetField(label="Parameters", edited_as="json", first={}),
            "role": TargetField(
                label="Role", hint=_NO_ARN, wanted="the name of the role to assume for the call", allowed="roles"
            ),
        },
        names=_aws_names,
        read=lambda document: _arguments(document) | {"parameters": document["parameters"]},
        service="sts",
        call=f"{_AWS}.aws_call:AwsCaller",
        permissions=(Permission(actions=("sts:AssumeRole",), of="roles", arn="iam:role/{name}", needs=("actions",)),),
        example={
            "service": "ecs",
            "action": "UpdateService",
            "parameters": {"service": "web", "desired": [1, {"day": "{{date}}"}]},
            "role": "duecourse-target-role",
        },
    ),
    "report": TargetKind(
        model=ReportTarget,
        label="Report about runs",
        text="report about {tags}",
        short="report {tags}",
        fields={
            "tags": TargetField(
                label="Tags",
                edited_as="list",
                first=[],
                hint="The report is about all jobs with one of them.",
                wanted='the tags of the jobs to report, such as ["billing"]',
            ),
            "hours": TargetField(
                label="Hours", edited_as="number", hint="By default, since the previous occurrence of this job."
            ),
        },
        service="lambda",
        call=f"{_AWS}.report:ReportCaller",
        example={"tags": ["billing", "team:crm"], "hours": 48},
    ),
    "task": TargetKind(
        model=TaskTarget,
        label="Registered task",
        text="task {name}",
        short="task {name}",
        fields={
            "name": TargetField(
                label="Task", hint="The name under which it is registered.", wanted="the name of the registered task"
            ),
        },
        example={"name": "send-invoice"},
    ),
    "workflow": TargetKind(
        model=WorkflowTarget,
        label="Workflow",
        text="the jobs of its workflow",
        short="workflow",
        fields={"graph": TargetField(label="Graph")},
        example={"graph": "3f2a"},
    ),
}
"""The types of targets by their names in documents, logs and metrics."""


_WORDS: Mapping[type[Target], str] = {kind.model: word for word, kind in TARGETS.items()}


def type_of(target: Target) -> str:
    """Return the name of a target's type in documents, logs and metrics."""
    return _WORDS[type(target)]


def place_of(tenant: str, target: Target) -> str:
    """Return the tenant and what its target calls: the host of an HTTP target and its connector, otherwise its type and
    the names of its resources.
    """
    if isinstance(target, HttpTarget):
        via = "" if target.via is None else f" via {target.via}"
        return f"{tenant} {urlsplit(target.url).netloc or target.url}{via}"
    word = type_of(target)
    return f"{tenant} {':'.join([word, *(name for _, name in TARGETS[word].named(target))])}"


def target_document(target: Target) -> Document:
    """Return a target's type and fields: `{"type": "http", "url": …, "headers": {…}}` and so on."""
    word = type_of(target)
    return {"type": word} | TARGETS[word].document(target)


def stored_target(target: Target) -> Document:
    """Return the document of a target without the fields that have their default."""
    kept, names = without_defaults(target), {field.name for field in fields(target)}
    return {name: value for name, value in target_document(target).items() if name in kept or name not in names}


def target_of(document: Mapping[str, Any]) -> Target:
    """Return the target of a document. Missing fields have their defaults. Raises KeyError, TypeError or ValueError."""
    word = document["type"]
    if word not in TARGETS:
        raise ValueError(f"unknown target type {word!r}")
    return TARGETS[word].target(document)
