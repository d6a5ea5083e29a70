"""The body of POST /v1/jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from duecourse.api.bodies.definition_body import DefinitionBody
from duecourse.api.bodies.models import UNIQUE, Body, Whole, each_once, refuse
from duecourse.api.bodies.target_bodies import TargetBody
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.jobs.job import COMPLETION_SECONDS, LONG_TIMEOUT_SECONDS
from duecourse.domain.jobs.job_limits import (
    MAX_AGE_SECONDS,
    MAX_ATTEMPTS,
    MAX_BACKOFF_SECONDS,
    MAX_COMPLETION_SECONDS,
    MAX_ESTIMATED_SECONDS,
    MAX_HEARTBEAT_SECONDS,
    MAX_RETRY_WORDS,
    MIN_COMPLETION_SECONDS,
    MIN_HEARTBEAT_SECONDS,
)
from duecourse.domain.runs.rendering import MAX_KEY_CHARACTERS
from duecourse.domain.targets.template import IDEMPOTENCY_NAMES, check_template

RETRY_WORD = r"^[A-Za-z0-9_.*-]{1,64}$"


def _status(value: object) -> object:
    """A status may be written as the number that it is; one below 0 is no word at all."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if value >= 0 else ""
    return value


RetryWord = Annotated[
    str,
    BeforeValidator(_status),
    Field(pattern=RETRY_WORD),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": RETRY_WORD}, {"type": "integer", "minimum": 0}]}, "validation"
    ),
]
RetryWords = Annotated[
    list[RetryWord],
    Field(
        max_length=MAX_RETRY_WORDS,
        description="Statuses (503), classes of them (5xx), codes (timeout) or patterns (Throttling*).",
        json_schema_extra=UNIQUE,
    ),
    AfterValidator(each_once),
]


IdempotencyKey = Annotated[
    str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS, json_schema_extra={"pattern": "^[ -~]*$"})
]


class RetryBody(Body):
    """How often, how long to wait in between, and which failures are worth it."""

    max_attempts: Annotated[Whole, Field(ge=1, le=MAX_ATTEMPTS)] = 4
    backoff: Literal["exponential", "linear", "fixed"] = "exponential"
    min_seconds: Annotated[float, Field(ge=0, le=MAX_BACKOFF_SECONDS)] = 2
    max_seconds: Annotated[float, Field(ge=0, le=MAX_BACKOFF_SECONDS, validate_default=True)] = 3600
    on: RetryWords | None = None
    never: RetryWords = Field(default_factory=list)
    max_age_seconds: Annotated[Whole | None, Field(ge=1, le=MAX_AGE_SECONDS)] = None

    @field_validator("max_seconds")
    @classmethod
    def _bounds(cls, value: float, info: ValidationInfo) -> float:
        low = info.data.get("min_seconds")
        if low is not None and value < low:
            raise refuse(f"must not be less than min_seconds ({low:g}); the default is 3600")
        return value


def _target_or_task(schema: dict[str, Any]) -> None:
    schema["required"].remove("target")
    schema["anyOf"] = [{"required": ["target"]}, {"required": ["task"], "properties": {"task": {"type": "string"}}}]


class JobBody(DefinitionBody):
    """A job as posted. `task` is short for a target of that type, and is written out before this model sees it."""

    model_config = ConfigDict(defer_build=False, json_schema_extra=_target_or_task)

    id: Annotated[str, Field(pattern=f"^{ID_PATTERN}$")] | None = None
    target: TargetBody
    task: Annotated[str | None, Field(description="Short for a target of type task.")] = None
    timeout_seconds: Annotated[Whole, Field(ge=1, le=LONG_TIMEOUT_SECONDS)] = 30
    estimated_seconds: Annotated[Whole | None, Field(ge=1, le=MAX_ESTIMATED_SECONDS)] = None
    completion: Literal["response", "callback"] = "response"
    completion_seconds: Annotated[Whole | None, Field(ge=MIN_COMPLETION_SECONDS, le=MAX_COMPLETION_SECONDS)] = None
    heartbeat_seconds: Annotated[Whole | None, Field(ge=MIN_HEARTBEAT_SECONDS, le=MAX_HEARTBEAT_SECONDS)] = None
    retry: RetryBody = Field(default_factory=RetryBody)
    precision: Literal["second", "exact"] | None = None
    delivery: Literal["at_least_once", "at_most_once"] = "at_least_once"
    idempotency_key: Annotated[
        IdempotencyKey | None, Field(description="A template; the same for every attempt of a run.")
    ] = None

    @field_validator("completion_seconds", "heartbeat_seconds")
    @classmethod
    def _callback(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is None:
            return None
        if info.data.get("completion") == "response":
            raise refuse("holds only for jobs that wait for a callback; add completion: callback, or leave it out")
        timeout = info.data.get("timeout_seconds")
        if info.field_name == "completion_seconds" and timeout is not None and value < timeout:
            default = f"the default is {COMPLETION_SECONDS}"
            raise refuse(f"must not be less than timeout_seconds ({timeout}), which the call alone may take; {default}")
        return value

    @field_validator("idempotency_key")
    @classmethod
    def _key(cls, key: str | None) -> str | None:
        if key is None:
            return None
        if not (key.isascii() and key.isprintable()):
            raise refuse("must be printable ASCII: it is sent as a header")
        if problems := check_template(key, IDEMPOTENCY_NAMES):
            raise refuse("; ".join(problems[:5]))
        return key
