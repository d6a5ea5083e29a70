"""The bodies of requests. What JSON Schema can say stands in the types; what it cannot in the validators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from duecourse.domain.exclusions import MAX_EXCLUSIONS
from duecourse.domain.http_headers import header_problem, is_reserved_header
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.job import LONG_TIMEOUT_SECONDS, MAX_RUNS, Precision
from duecourse.domain.occurrences import MAX_JITTER_SECONDS
from duecourse.domain.plan import MAX_FIRINGS
from duecourse.domain.template import IDEMPOTENCY_NAMES, check_template
from duecourse.http.instants import OWN, Instant
from duecourse.http.target_rules import function_problem, url_problem

MAX_NAME = 256
MAX_URL = 2048
MAX_HEADERS = 50
MAX_HEADER_VALUE = 4096
MAX_TAGS = 20
MAX_KEY = 256
MAX_ATTEMPTS = 100
MAX_BACKOFF_SECONDS = 86_400
MIN_GRACE_SECONDS = 5
MAX_GRACE_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Rules:
    """What the stage allows, passed to the validators as their context."""

    private_targets: bool
    lambda_targets: tuple[str, ...]
    default_precision: Precision


def _refuse(reason: str) -> PydanticCustomError:
    return PydanticCustomError(OWN, "{reason}", {"reason": reason})


def _rules(info: ValidationInfo) -> Rules:
    if not isinstance(info.context, Rules):
        raise TypeError("validate with the stage's Rules as context")
    return info.context


def _whole(value: object) -> object:
    """JSON knows one kind of number: 30.0 is 30."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(text: str) -> str:
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
        raise _refuse("must not hold control characters or line breaks")
    return text


Whole = Annotated[int, BeforeValidator(_whole)]
Line = Annotated[str, Field(max_length=MAX_NAME)]
Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:/=+@-]{1,64}$")]


Excluded = Annotated[str, Field(min_length=1, max_length=40)]


class Body(BaseModel):
    """Strict: no guessing, no unknown fields, no NaN."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )


class HttpTargetBody(Body):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: Annotated[str, Field(min_length=1, max_length=MAX_URL)]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "POST"
    headers: Annotated[dict[str, str], Field(max_length=MAX_HEADERS)] = Field(default_factory=dict)

    @field_validator("url")
    @classmethod
    def _url(cls, url: str, info: ValidationInfo) -> str:
        if problem := url_problem(url, private_allowed=_rules(info).private_targets):
            raise _refuse(problem)
        return url

    @field_validator("headers")
    @classmethod
    def _headers(cls, headers: dict[str, str]) -> dict[str, str]:
        problems = list(header_problems(headers))
        if problems:
            raise _refuse("; ".join(problems[:5]))
        return headers


class LambdaTargetBody(Body):
    """A Lambda function of the stage's own account and region."""

    type: Literal["lambda"]
    function: str

    @field_validator("function")
    @classmethod
    def _function(cls, name: str, info: ValidationInfo) -> str:
        if problem := function_problem(name, _rules(info).lambda_targets):
            raise _refuse(problem)
        return name


TargetBody = Annotated[HttpTargetBody | LambdaTargetBody, Field(discriminator="type")]


class RetryBody(Body):
    """How often, and how long to wait in between."""

    max_attempts: Annotated[Whole, Field(ge=1, le=MAX_ATTEMPTS)] = 4
    backoff: Literal["exponential", "linear", "fixed"] = "exponential"
    min_seconds: Annotated[float, Field(ge=0, le=MAX_BACKOFF_SECONDS)] = 2
    max_seconds: Annotated[float, Field(ge=0, le=MAX_BACKOFF_SECONDS, validate_default=True)] = 3600

    @field_validator("max_seconds")
    @classmethod
    def _bounds(cls, value: float, info: ValidationInfo) -> float:
        low = info.data.get("min_seconds")
        if low is not None and value < low:
            raise _refuse(f"must not be less than min_seconds ({low:g}); the default is 3600")
        return value


class MissedBody(Body):
    """What becomes of occurrences that nobody enqueued in time."""

    policy: Literal["skip", "run_once", "run_all"] = "run_once"
    grace_seconds: Annotated[Whole, Field(ge=MIN_GRACE_SECONDS, le=MAX_GRACE_SECONDS)] = 60
    max_missed: Annotated[Whole, Field(ge=1, le=MAX_FIRINGS)] = 10


def _overlap(value: object) -> object:
    if value in ("queue", "replace"):
        raise _refuse(f"{value} comes with a later version; use skip or allow")
    return value


class JobBody(Body):
    """A job as posted."""

    id: Annotated[str, Field(pattern=f"^{ID_PATTERN}$")] | None = None
    name: Line = ""
    schedule: Annotated[str, Field(min_length=1, max_length=256)]
    timezone: Annotated[str, Field(min_length=1, max_length=64)] = "UTC"
    dst_gap: Literal["next", "skip"] = "next"
    dst_fold: Literal["first", "second", "both"] = "first"
    anchor: Instant | None = None
    start: Instant | None = None
    end: Instant | None = None
    exclude: Annotated[list[Excluded], Field(max_length=MAX_EXCLUSIONS)] = Field(default_factory=list)
    jitter_seconds: Annotated[Whole, Field(ge=0, le=MAX_JITTER_SECONDS)] = 0
    max_runs: Annotated[Whole | None, Field(ge=1, le=MAX_RUNS)] = None
    target: TargetBody
    payload: Any = None
    priority: Literal["high", "normal", "low"] = "normal"
    timeout_seconds: Annotated[Whole, Field(ge=1, le=LONG_TIMEOUT_SECONDS)] = 30
    retry: RetryBody = Field(default_factory=RetryBody)
    missed: MissedBody = Field(default_factory=MissedBody)
    overlap: Annotated[Literal["skip", "allow"], BeforeValidator(_overlap)] = "skip"
    precision: Literal["second", "exact"] | None = None
    delivery: Literal["at_least_once", "at_most_once"] = "at_least_once"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=MAX_KEY)] | None = None
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS)] = Field(default_factory=list)

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        return _plain(name)

    @field_validator("idempotency_key")
    @classmethod
    def _key(cls, key: str | None) -> str | None:
        if key is None:
            return None
        if not (key.isascii() and key.isprintable()):
            raise _refuse("must be printable ASCII: it is sent as a header")
        if problems := check_template(key, IDEMPOTENCY_NAMES):
            raise _refuse("; ".join(problems[:5]))
        return key

    @field_validator("tags")
    @classmethod
    def _tags(cls, tags: list[str]) -> list[str]:
        if twice := sorted({tag for tag in tags if tags.count(tag) > 1}):
            raise _refuse(f"names {', '.join(twice)} more than once; keep one of each")
        return tags


def header_problems(headers: Mapping[str, str]) -> list[str]:
    """What keeps these headers from being sent, one sentence each."""
    problems: list[str] = []
    seen: set[str] = set()
    for name, value in headers.items():
        if problem := header_problem(name, value):
            problems.append(problem)
        elif is_reserved_header(name):
            problems.append(f"header {name[:40]} is set by Duecourse itself; leave it out")
        elif len(value) > MAX_HEADER_VALUE:
            problems.append(f"header {name[:40]} has {len(value)} characters; at most {MAX_HEADER_VALUE} are allowed")
        elif name.lower() in seen:
            problems.append(f"header {name[:40]} is given twice; capitals do not matter in names")
        seen.add(name.lower())
    return problems
