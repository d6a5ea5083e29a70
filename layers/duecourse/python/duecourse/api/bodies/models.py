"""JSON parsing, and the types that request bodies share.

JSON is parsed strictly according to RFC 8259 and I-JSON (RFC 7493). Every parsed value can be written again unchanged.

The types of fields contain the rules that JSON Schema can express; validators contain the other rules.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from duecourse.api.problems import FieldFault, malformed, pointer
from duecourse.domain.jobs.job import Precision
from duecourse.domain.jobs.result_buckets import ResultBuckets
from duecourse.domain.tenants.quota import MAX_DEPTH
from duecourse.ports import Tasks
from duecourse.settings import AllowedTargets
from duecourse_schedules import ScheduleError
from duecourse_schedules.schedule import read_instant

HANDED_ON = ("payload", "result")
"""The fields that contain the caller's arbitrary JSON. It is passed on unchanged and may contain NUL."""

MAX_DIGITS = 400
"""The maximum number of digits of an integer. All numbers that can be stored are shorter."""


def read_json(raw: bytes) -> Any:
    """Parse JSON in UTF-8. Raises Problem (400) with the position of the error."""
    try:
        return json.loads(
            raw.decode("utf-8"), parse_constant=_no_constant, parse_int=_whole, object_pairs_hook=_members
        )
    except UnicodeDecodeError as error:
        raise malformed(f"The body is not UTF-8 (byte {error.start}); send JSON encoded as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise malformed(f"The body is not JSON: line {error.lineno}, column {error.colno}: {error.msg}.") from None
    except RecursionError:
        raise malformed(f"The body is nested too deeply; use at most {MAX_DEPTH} levels.") from None


write_json = partial(json.dumps, separators=(",", ":"), allow_nan=False)
"""Returns compact JSON in ASCII. It can be sent even if the value contains an unpaired surrogate."""


def unfit(value: Any) -> Iterator[FieldFault]:
    """Yield the faults of values that JSON allows but that cannot be passed on: text that is not Unicode, numbers
    beyond 64 bits, too many levels, and NUL in fields other than HANDED_ON. All bodies are checked with this function.
    """
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, here = pending.pop()
        match here:
            case dict() | list() if len(path) > MAX_DEPTH:
                yield FieldFault(f"is nested too deeply; use at most {MAX_DEPTH} levels", pointer(path))
            case dict():
                if wrong := sum(_complaint(name, (*path, name)) is not None for name in here):
                    yield FieldFault(f"{wrong} of its names contain an unpaired surrogate or NUL", pointer(path))
                pending.extend(((*path, key), inside) for key, inside in here.items())
            case list():
                pending.extend(((*path, index), inside) for index, inside in enumerate(here))
            case _:
                if complaint := _complaint(here, path):
                    yield FieldFault(complaint, pointer(path))


def _complaint(value: object, path: tuple[str | int, ...]) -> str | None:
    match value:
        case str() if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            return "is not Unicode text: it contains an unpaired surrogate; remove it or send the complete character"
        case str() if "\0" in value and path and path[0] not in HANDED_ON:
            return "must not contain NUL or other control characters; remove them"
        case int() if not -(2**63) <= value < 2**64:
            return "is a whole number that does not fit in 64 bits; send it as a string"
        case float() if not isfinite(value):
            return "is larger than the largest allowed number; send it as a string"
    return None


def _no_constant(name: str) -> NoReturn:
    raise malformed(f"The body is not JSON: {name} is not a JSON number; remove the value or send null.")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise malformed(f"The body contains a number of {len(digits)} digits; send it as a string.")
    return int(digits)


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise malformed(f"The body contains the name {write_json(twice[:100])} twice in one object; keep one of them.")
    return members


OWN = "duecourse"
"""The type of errors whose message can be returned to the caller unchanged."""


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
        {"type": "string", "maxLength": 64, "description": "ISO-8601 with an offset, preferably UTC with Z."},
        "validation",
    ),
    WithJsonSchema({"type": "string", "format": "date-time", "description": "UTC."}, "serialization"),
]
"""A field that accepts `2026-03-08T07:00:00Z` and stores seconds (UTC)."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a stage and its registered tasks, passed to the validators as their context."""

    private_targets: bool
    allowed: AllowedTargets
    default_precision: Precision
    tasks: Tasks
    tenant: str = ""
    result_buckets: ResultBuckets = field(default_factory=dict)
    oidc: bool = False


def refuse(reason: str) -> PydanticCustomError:
    """Return the error for a validator to raise. The caller of the API sees `reason` unchanged."""
    return PydanticCustomError(OWN, "{reason}", {"reason": reason})


def _whole_number(value: object) -> object:
    """Convert a float without a fraction to an int. JSON has only one number type, so 30.0 equals 30."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole_number)]


LINE: JsonDict = {"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}
"""The JSON Schema equivalent of `no_controls`."""


def no_controls(text: str) -> str:
    """Return the text unchanged. Raises an error if it contains control characters or line breaks."""
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
        raise refuse("must not contain control characters or line breaks; remove them")
    return text


MAX_NOTE = 500

Note = Annotated[str, Field(max_length=MAX_NOTE, json_schema_extra=LINE), AfterValidator(no_controls)]
"""One line of text for people, such as the reason for a change."""

UNIQUE: JsonDict = {"uniqueItems": True}
"""The JSON Schema equivalent of `each_once`."""


def each_once(entries: list[str]) -> list[str]:
    """Return the entries unchanged. Raises an error if an entry occurs more than once. Annotate the list with a
    `max_length` before this validator.
    """
    if twice := sorted(entry for entry, count in Counter(entries).items() if count > 1):
        raise refuse(f"contains {', '.join(twice)} more than once; keep one of each")
    return entries


def short(value: float) -> float:
    """Return a whole number as an integer, so that documents always show 2, never 2.0."""
    return int(value) if value.is_integer() else value


def filled(default: Callable[..., Any], value: Any, info: ValidationInfo) -> Any:
    """Return the value, or the default instead of null."""
    return default(info.data, info.context) if value is None else value


def followed(rule: Callable[..., str | None], value: Any, info: ValidationInfo) -> Any:
    """Return the value. Raises an error if the rule of its field finds a problem."""
    if value is not None and (problem := rule(value, info.data, info.context)):
        raise refuse(problem)
    return value


class Body(BaseModel):
    """The strict base class of bodies: no type coercion, no unknown fields, no NaN."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        json_schema_serialization_defaults_required=True,
    )
