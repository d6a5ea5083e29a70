"""Instants in bodies: ISO-8601 text outside, UTC seconds inside."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.parsed_input import read_instant

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
