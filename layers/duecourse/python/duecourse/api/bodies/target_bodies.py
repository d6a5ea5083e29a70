"""The models of targets in requests, and the rules that depend on the stage or on more than one field.

The rules apply when a job is written. The adapters resolve the names and check them again at each call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import with_info_after_validator_function

from duecourse.api.bodies.models import LINE, UNIQUE, Body, Rules, each_once, no_controls, refuse
from duecourse.domain.declared import Error, Needed
from duecourse.domain.jobs.job import TAG_ERROR, TAG_PATTERN
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS, AllowedTargets, name_refusal, public_ip_refusal
from duecourse.domain.targets.connectors import address_refusal, connector_named, connector_refusal, host_refusal
from duecourse.domain.targets.http import header_problem, is_reserved_header, not_public
from duecourse.domain.targets.kinds import action_of, groups_of
from duecourse.domain.targets.targets import MAX_REPORT_HOURS, MAX_REPORT_TAGS, Connector
from duecourse.domain.targets.template import SECRET_NAME
from duecourse.domain.targets.webhook_signature import HEADERS_PREFIX
from duecourse.limits import CONNECTOR_NAME, EVENTS_SOURCE
from duecourse.ports import Tasks

MAX_HEADER_VALUE = 4096

_TASK = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_ALLOWED = re.compile(r"[!-~]+")  # printable ASCII without spaces
_FORBIDDEN = re.compile(r"[\\^`{|}\"<>]")


def rules_of(info: ValidationInfo) -> Rules:
    """Return the rules in the context of a validator. Raises TypeError if the context has none."""
    if not isinstance(info.context, Rules):
        raise TypeError("validate with the stage's Rules as context")
    return info.context


def url_problem(url: str, *, private_allowed: bool) -> str | None:
    """Return the problem with the URL of an HTTP target, including the remedy, or None if it is valid."""
    if _ALLOWED.fullmatch(url) is None:
        return "must be printable ASCII without spaces; percent-encode the path and write the host as punycode"
    if found := _FORBIDDEN.search(url):
        return f"contains {found[0]}, which must be percent-encoded"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "has no valid host or port; write https://host/path or https://host:8443/path"
    schemes = ("https", "http") if private_allowed else ("https",)
    if parts.scheme not in schemes:
        return f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    if "@" in parts.netloc:
        return "must not contain credentials; send them in a header"
    if "#" in url:
        return "must not have a fragment (#...); remove it"
    if port == 0 or parts.netloc.endswith(":"):
        return "has no valid port; write one from 1 to 65535 or remove it"
    return _host_problem(parts, private_allowed=private_allowed)


def connected_problem(url: str, connector: Connector, *, loopback: bool) -> str | None:
    """Return the reason why a connector does not call a valid URL, including the remedy. None if it does, provided that
    the addresses of the host are allowed at each call.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    address = _address(parts.netloc, host)
    if address is not None:
        host = str(address)
    if problem := host_refusal(host, connector):
        return f"must name a host of the connector: {problem}"
    if address is not None and (problem := address_refusal(host, connector, loopback=loopback)):
        return f"must name a host of the connector: {problem}"
    return None


def name_problem(kind: str, name: str, allowed: AllowedTargets) -> str | None:
    """Return the problem with the name of a resource that a target calls, including the remedy, or None if the stage
    allows it. `kind` is a field of AllowedTargets.
    """
    if re.fullmatch(ALLOW_LISTS[kind].form, name) is None:
        return f"must be {ALLOW_LISTS[kind].wants}"
    return name_refusal(kind, name, allowed)


def task_problem(name: str, tasks: Tasks) -> str | None:
    """Return the problem with the name of a registered task, or None if the task exists."""
    if _TASK.fullmatch(name) is None:
        return "must be the name of a registered task: 1 to 64 letters, digits, - and _"
    if tasks.get(name) is None:
        return (
            f"does not reference a task of this stage: {name} is not registered; correct the "
            "name, ask the operator to add it to the stage's setting tasks, or write the complete target"
        )
    return None


def header_problems(headers: Mapping[str, str]) -> list[str]:
    """Return the reasons why these headers cannot be sent."""
    problems: list[str] = []
    seen: set[str] = set()
    for name, value in headers.items():
        if problem := header_problem(name, value):
            problems.append(problem)
        elif is_reserved_header(name):
            problems.append(f"header {name[:40]} is set by Duecourse; remove it")
        elif len(value) > MAX_HEADER_VALUE:
            problems.append(f"header {name[:40]} has {len(value)} characters; at most {MAX_HEADER_VALUE} are allowed")
        elif name.lower() in seen:
            problems.append(
                f"header {name[:40]} is set twice; header names are not case-sensitive, so keep one of them"
            )
        seen.add(name.lower())
    return problems


def _host_problem(parts: SplitResult, *, private_allowed: bool) -> str | None:
    host = parts.hostname or ""
    address = _address(parts.netloc, host)
    if address is None:
        labels = host.removesuffix(".").split(".")
        if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            return "has no valid host name"
        if _reads_as_number(labels[-1]):
            return "has a host that is neither a name nor an IP address; write four numbers, such as 203.0.113.7"
        private = "a name of the local machine" if labels[-1].lower() == "localhost" else None
    else:
        private = not_public(address)
    if private is not None and not private_allowed:
        return f"must name a public host; {host} is not ({private})"
    return None


def _address(netloc: str, host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return address if isinstance(address, IPv4Address) or "[" in netloc else None


def _reads_as_number(label: str) -> bool:
    """Return whether resolvers parse a host whose last label is this one as an IPv4 address (2130706433, 0x7f.1,
    127.1).
    """
    return label.isdigit() or re.fullmatch(r"0[xX][0-9A-Fa-f]*", label) is not None


MAX_URL = 2048
MAX_HEADERS = 50
MAX_EXPECTED = 20

_STATUS = re.compile(r"[2-5](xx|[0-9]{2})")


def _status(value: object) -> str:
    """Return the status or class of statuses as text: both 404 and "404" become "404"."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or _STATUS.fullmatch(text) is None:
        raise refuse("must be a status from 200 to 599, or a class of statuses such as 2xx")
    return text


Status = Annotated[
    str,
    BeforeValidator(_status),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": "^[2-5](xx|[0-9]{2})$"},
                {"type": "integer", "minimum": 200, "maximum": 599},
            ]
        },
        "validation",
    ),
]


_SECRET_FORM = Error("must be the name of a secret: 1 to 64 letters, digits, _ . and -")


class SignBody(Body):
    """The tenant's secret that signs the calls."""

    secret: Annotated[
        str,
        Field(pattern=f"^{SECRET_NAME}$"),
        _SECRET_FORM,
        Needed("write the name of the secret to sign with"),
    ]


_SecretName = Annotated[
    str,
    Field(pattern=f"^{SECRET_NAME}$", description="The name of one of the tenant's secrets, not its value."),
    _SECRET_FORM,
    Needed("write the name of the secret with the password or the client secret"),
]
_Parameter = Annotated[str, Field(min_length=1, max_length=256, json_schema_extra=LINE), AfterValidator(no_controls)]
Url = Annotated[
    str,
    Field(min_length=1, max_length=MAX_URL, json_schema_extra={"pattern": "^https?://[!-~]+$"}),
]


class BasicAuthBody(Body):
    """Basic authentication with a user name and a password."""

    type: Literal["basic"]
    username: Annotated[
        str,
        Field(max_length=256, pattern=r"^[^:\x00-\x1f\x7f]*$", description="The user name, without a colon."),
        Error("must not contain a colon or control characters"),
        Needed("write the user name"),
    ]
    secret: _SecretName


class OAuthBody(Body):
    """An access token that Duecourse requests with client credentials and caches."""

    type: Literal["oauth"]
    token_url: Annotated[
        Url,
        Field(examples=["https://login.example.com/oauth2/token"]),
        Needed("write the token URL, such as https://login.example.com/oauth2/token"),
    ]
    client_id: Annotated[_Parameter, Needed("write the id of the client")]
    secret: _SecretName
    scope: _Parameter | None = None
    audience: _Parameter | None = None
    credentials: Annotated[
        Literal["header", "body"],
        Field(description="The part of the token request that contains the client id and secret."),
    ] = "header"

    @field_validator("token_url")
    @classmethod
    def _token_url(cls, url: str, info: ValidationInfo) -> str:
        if problem := url_problem(url, private_allowed=rules_of(info).private_targets):
            raise refuse(problem)
        return url


class OidcAuthBody(Body):
    """A token that the stage signs. Its `sub` is <tenant>/<job>."""

    type: Literal["oidc"]
    audience: Annotated[
        _Parameter,
        Field(description="The receiver (claim `aud`).", examples=["https://example.com"]),
        Needed("write the audience of the token, such as https://example.com"),
    ]

    @field_validator("type")
    @classmethod
    def _available(cls, value: str, info: ValidationInfo) -> str:
        if not rules_of(info).oidc:
            raise refuse("is not available: the stage does not sign tokens; ask the operator to set oidc_keys")
        return value


AUTH_BODIES: Mapping[str, type[Body]] = {"basic": BasicAuthBody, "oauth": OAuthBody, "oidc": OidcAuthBody}
"""The models of `auth` by the value of `type`."""

AuthBody = BasicAuthBody | OAuthBody | OidcAuthBody


class HttpTargetBody(Body):
    """An HTTP endpoint."""

    type: Literal["http"]
    via: Annotated[
        Annotated[str, Field(pattern=f"^{CONNECTOR_NAME}$"), Error("must be the name of a connector, such as office")]
        | None,
        Field(description="The connector that sends the requests from a private network."),
    ] = None
    url: Annotated[Url, Field(examples=["https://example.com/hook"])]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "POST"
    headers: Annotated[dict[str, str], Field(max_length=MAX_HEADERS)] = Field(default_factory=dict)
    expect: Annotated[
        list[Status],
        Field(
            min_length=1,
            max_length=MAX_EXPECTED,
            description="Statuses (404) or classes of statuses (2xx) that count as success.",
            json_schema_extra=UNIQUE,
        ),
        AfterValidator(each_once),
    ] = Field(default_factory=lambda: ["2xx"])
    sign: SignBody | None = None
    auth: Annotated[AuthBody, Field(discriminator="type")] | None = None

    @field_validator("via")
    @classmethod
    def _via(cls, via: str | None, info: ValidationInfo) -> str | None:
        rules = rules_of(info)
        if via is not None and (problem := connector_refusal(rules.tenant, via, rules.allowed.connectors)):
            raise refuse(problem)
        return via

    @field_validator("url")
    @classmethod
    def _url(cls, url: str, info: ValidationInfo) -> str:
        rules, via = rules_of(info), info.data.get("via")
        connected = via is not None or "via" not in info.data  # an invalid connector has a fault of its own
        if problem := url_problem(url, private_allowed=rules.private_targets or connected):
            raise refuse(problem)
        connector = None if via is None else connector_named(via, rules.allowed.connectors)
        if connector is not None and (problem := connected_problem(url, connector, loopback=rules.private_targets)):
            raise refuse(problem)
        return url

    @field_validator("headers")
    @classmethod
    def _headers(cls, headers: dict[str, str]) -> dict[str, str]:
        problems = list(header_problems(headers))
        if problems:
            raise refuse("; ".join(problems[:5]))
        return headers

    @field_validator("sign")
    @classmethod
    def _sign(cls, sign: SignBody | None, info: ValidationInfo) -> SignBody | None:
        own = [name for name in info.data.get("headers", ()) if name.lower().startswith(HEADERS_PREFIX)]
        if sign is not None and own:
            raise refuse(f"sets the header {own[0][:40]} itself; remove it from headers")
        return sign

    @field_validator("auth")
    @classmethod
    def _auth(cls, auth: AuthBody | None, info: ValidationInfo) -> AuthBody | None:
        if auth is not None and any(name.lower() == "authorization" for name in info.data.get("headers", ())):
            raise refuse("sets the header Authorization itself; remove it from headers, or remove auth")
        return auth


Group = Annotated[str, Field(min_length=1, max_length=256, json_schema_extra=LINE), AfterValidator(no_controls)]


_LENGTH = re.compile(r"\(\?=\.\{1,(\d+)\}\\Z\)")


@dataclass(frozen=True, slots=True)
class Named:
    """An annotation for a name that the stage must allow. `kind` is the allow list."""

    kind: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Add the check to the validation of the name."""
        return with_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the name's format as an ECMA pattern. A length limit at its beginning becomes `maxLength`."""
        form, wants = ALLOW_LISTS[self.kind].form, ALLOW_LISTS[self.kind].wants
        length = _LENGTH.match(form)
        return handler(schema) | {
            "pattern": f"^{_LENGTH.sub('', form)}$",
            "description": f"{wants[0].upper()}{wants[1:]}; the stage must allow it.",
            **({} if length is None else {"maxLength": int(length[1])}),
        }

    def _check(self, name: str, info: ValidationInfo) -> str:
        if problem := name_problem(self.kind, name, rules_of(info).allowed):
            raise refuse(problem)
        return name


def _allowed(kind: str, given: list[str], names: Iterable[str], info: ValidationInfo) -> list[str]:
    """Return `given` unchanged. Raises an error if the stage does not allow one of `names`."""
    for name in names:
        if problem := name_refusal(kind, name, rules_of(info).allowed):
            raise refuse(f"{name} {problem}")
    return given


def _fifo(group: str | None, info: ValidationInfo, holder: str) -> str | None:
    """Return the message group unchanged. Raises an error if the queue or topic is not FIFO."""
    name = info.data.get(holder)
    if group is not None and name is not None and not name.endswith(".fifo"):
        raise refuse(f"is allowed only for FIFO {holder}s; remove it, or use a {holder} with a name that ends in .fifo")
    return group


def _only_sync(log: bool, info: ValidationInfo) -> bool:
    """Return the flag unchanged. Raises an error if the call does not wait for the function."""
    if log and info.data.get("mode") == "async":
        raise refuse("is allowed only with mode: sync, because an asynchronous call returns no log; remove it")
    return log


class LambdaTargetBody(Body):
    """A Lambda function of the stage's own account and region."""

    type: Literal["lambda"]
    function: Annotated[str, Named("functions")]
    mode: Literal["sync", "async"] = "sync"
    qualifier: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9$_-]{1,128}$"), Error("must be a version such as 3, or an alias")]
        | None,
        Field(description="The version or alias to call. Durable functions require one."),
    ] = None
    log: Annotated[
        Annotated[bool, AfterValidator(_only_sync)],
        Field(description="Store the end of the function's log (4 KB) with each attempt. Only with `mode: sync`."),
    ] = False


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
            Field(min_length=1, max_length=256, json_schema_extra=LINE),
            AfterValidator(no_controls),
        ]
        | None
    ) = None
    group: Annotated[Group | None, AfterValidator(partial(_fifo, holder="topic"))] = None


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
            raise refuse("must not start with aws., which EventBridge reserves for AWS services")
        if source.lower() == EVENTS_SOURCE:
            raise refuse(
                f"must not be {EVENTS_SOURCE}, which is reserved for Duecourse's own events; use duecourse.jobs "
                "or another source"
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
    container: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9_-]{1,255}$"), Error("must be 1 to 255 letters, digits, - and _")
    ]
    subnets: Annotated[
        list[
            Annotated[
                str,
                Field(pattern=r"^subnet-[0-9a-f]{8,17}$"),
                Error("must be the id of a subnet, such as subnet-0123456789abcdef0"),
            ]
        ],
        Field(min_length=1, max_length=16, json_schema_extra=UNIQUE),
        AfterValidator(each_once),
    ]
    security_groups: Annotated[
        list[
            Annotated[
                str,
                Field(pattern=r"^sg-[0-9a-f]{8,17}$"),
                Error("must be the id of a security group, such as sg-0123456789abcdef0"),
            ]
        ],
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
    """One call to an AWS API."""

    type: Literal["aws"]
    service: Annotated[
        str, Field(pattern=r"^[a-z0-9-]{1,63}$"), Error("must be boto3's name of a service, such as ecs")
    ]
    action: Annotated[
        str,
        Field(pattern=r"^[A-Z][A-Za-z0-9]{0,127}$"),
        Error("must be the name of an action in capitals, such as UpdateService"),
    ]
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


class ReportTargetBody(Body):
    """A report about the runs of other jobs: how many were due, ran, were skipped or are missing. The result of the run
    is the report, and a notice with `report` in `notify` delivers it.
    """

    type: Literal["report"]
    tags: Annotated[
        list[Annotated[str, Field(pattern=f"^{TAG_PATTERN}$"), Error(TAG_ERROR)]],
        Field(
            min_length=1,
            max_length=MAX_REPORT_TAGS,
            json_schema_extra=UNIQUE,
            description="The report is about all jobs with one of these tags.",
        ),
        AfterValidator(each_once),
    ]
    hours: Annotated[
        Annotated[int, Field(ge=1, le=MAX_REPORT_HOURS)] | None,
        Field(
            description="The length of the window before the run's occurrence. By default, it begins at the previous "
            "occurrence of this job, but at most a week before."
        ),
    ] = None


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
    | ReportTargetBody
    | TaskTargetBody,
    Field(discriminator="type"),
]


def wants_reports(notify: Iterable[Any]) -> bool:
    """Return whether one of the rules in `notify` is about reports."""
    return any("report" in rule.on for rule in notify)


def makes_reports(target: Body, info: ValidationInfo) -> Body:
    """Return the target unchanged. Raises an error if `notify` is about reports, and the target makes none."""
    if wants_reports(info.data.get("notify", ())) and not isinstance(target, ReportTargetBody):
        raise refuse(
            'makes no reports, which notify contains; write {"type": "report", "tags": [...]}, or remove report from '
            "notify"
        )
    return target


TARGET_FORM = 'write {"type": "http", "url": "https://..."} or {"type": "lambda", "function": "..."}'
"""The remedy for a missing target."""

TARGET_BODIES: Mapping[str, type[Body]] = {
    get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(TargetBody)[0])
}
"""The models by the value of `type`."""
