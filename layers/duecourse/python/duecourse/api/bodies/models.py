"""What the bodies of requests have in common. What JSON Schema can say stands in the types, the rest in validators."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, WithJsonSchema
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from duecourse.domain.jobs.policies import Precision
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.parsed_input import read_instant
from duecourse.ports import Tasks
from duecourse.settings import AllowedTargets

OWN = "duecourse"
"""Type of the errors whose message is already written for people."""


def _instant(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str):
        reason = "must be an instant in UTC, such as 2026-03-08T07:00:00Z"
        raise PydanticCustomError(OWN, "{reason}", {"reason": reason})
    try:
        return read_instant(str(info.field_name), value)
    except ScheduleError as error:
        raise PydanticCustomError(OWN, "{reason}", {"reason": error.detail}) from None


Instant = Annotated[
    int,
    BeforeValidator(_instant),
    WithJsonSchema(
        {"type": "string", "maxLength": 64, "description": "ISO-8601 with an offset, best UTC with Z."}, "validation"
    ),
    WithJsonSchema({"type": "string", "format": "date-time", "description": "UTC."}, "serialization"),
]
"""A field that takes `2026-03-08T07:00:00Z` and holds UTC seconds."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the stage allows, passed to the validators as their context, and the tasks that are registered on it."""

    private_targets: bool
    allowed: AllowedTargets
    default_precision: Precision
    tasks: Tasks


def refuse(reason: str) -> PydanticCustomError:
    """What a validator raises: a sentence that goes to the caller as it stands."""
    return PydanticCustomError(OWN, "{reason}", {"reason": reason})


def rules_of(info: ValidationInfo) -> Rules:
    """The rules that a validator goes by. Raises TypeError where the caller passed none."""
    if not isinstance(info.context, Rules):
        raise TypeError("validate with the stage's Rules as context")
    return info.context


def _whole(value: object) -> object:
    """JSON knows one kind of number: 30.0 is 30."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]


LINE: JsonDict = {"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}
"""What JSON Schema says of `no_controls`."""


def no_controls(text: str) -> str:
    """The text, if it is one line without control characters."""
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
        raise refuse("must not hold control characters or line breaks")
    return text


UNIQUE: JsonDict = {"uniqueItems": True}
"""What JSON Schema says of `each_once`."""


def each_once(entries: list[str]) -> list[str]:
    """The entries, if none of them stands there twice. Their list wants a `max_length` before this."""
    if twice := sorted(entry for entry, count in Counter(entries).items() if count > 1):
        raise refuse(f"names {', '.join(twice)} more than once; keep one of each")
    return entries


class Body(BaseModel):
    """Strict: no guessing, no unknown fields, no NaN."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        json_schema_serialization_defaults_required=True,
    )
