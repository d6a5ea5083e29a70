"""HTTP targets as posted."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from duecourse.api.bodies.models import UNIQUE, Body, each_once, refuse, rules_of
from duecourse.api.bodies.target_rules import header_problems, url_problem
from duecourse.domain.targets.template import SECRET_NAME
from duecourse.domain.targets.webhook_signature import HEADERS_PREFIX

MAX_URL = 2048
MAX_HEADERS = 50
MAX_EXPECTED = 20

_STATUS = re.compile(r"[2-5](xx|[0-9]{2})")


def _status(value: object) -> str:
    """`2xx` as it is, 404 and "404" alike."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or _STATUS.fullmatch(text) is None:
        raise refuse("must be a status from 200 to 599, or a class of them such as 2xx")
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


class SignBody(Body):
    """With which secret of the tenant's calls are signed."""

    secret: Annotated[str, Field(pattern=f"^{SECRET_NAME}$")]


class HttpTargetBody(Body):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_URL,
            examples=["https://example.com/hook"],
            json_schema_extra={"pattern": "^https?://[!-~]+$"},
        ),
    ]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "POST"
    headers: Annotated[dict[str, str], Field(max_length=MAX_HEADERS)] = Field(default_factory=dict)
    expect: Annotated[
        list[Status],
        Field(
            min_length=1,
            max_length=MAX_EXPECTED,
            description="Statuses (404) or classes of them (2xx) that are a success.",
            json_schema_extra=UNIQUE,
        ),
        AfterValidator(each_once),
    ] = Field(default_factory=lambda: ["2xx"])
    sign: SignBody | None = None

    @field_validator("url")
    @classmethod
    def _url(cls, url: str, info: ValidationInfo) -> str:
        if problem := url_problem(url, private_allowed=rules_of(info).private_targets):
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
            raise refuse(f"sets the header {own[0][:40]} itself; leave it out of headers")
        return sign
