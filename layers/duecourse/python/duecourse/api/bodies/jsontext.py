"""JSON as strictly as RFC 8259 and I-JSON (RFC 7493) have it: what is read here can be written again unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, NoReturn

from duecourse.api.problems.problems import FieldFault, malformed, pointer

MAX_DEPTH = 32
"""Levels of objects and arrays inside the payload."""

HANDED_ON = ("payload", "result")
"""Fields of a body that hold JSON of the caller's own, which is handed on as it is: NUL is a character there."""

MAX_DIGITS = 400
"""Digits of a whole number that are looked at; no number that can be kept is longer."""


def read_json(raw: bytes) -> Any:
    """The value of a UTF-8 text. Raises Problem (400) that says where it breaks off."""
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


def write_json(value: Any) -> str:
    """Compact, and plain ASCII: whatever it echoes, a half surrogate pair included, can be sent."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def unfit(value: Any) -> Iterator[FieldFault]:
    """What JSON may say and nobody could hand on: text that is not Unicode, numbers beyond 64 bits, too many levels.

    NUL, too, in any field but HANDED_ON. Every body is looked at by this.
    """
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, here = pending.pop()
        match here:
            case dict() | list() if len(path) > MAX_DEPTH:
                yield FieldFault(f"is nested too deeply; use at most {MAX_DEPTH} levels", pointer(path))
            case dict():
                if wrong := sum(_complaint(name, (*path, name)) is not None for name in here):
                    yield FieldFault(f"{wrong} of its names hold half of a surrogate pair, or NUL", pointer(path))
                pending.extend(((*path, key), inside) for key, inside in here.items())
            case list():
                pending.extend(((*path, index), inside) for index, inside in enumerate(here))
            case _:
                if complaint := _complaint(here, path):
                    yield FieldFault(complaint, pointer(path))


def _complaint(value: object, path: tuple[str | int, ...]) -> str | None:
    match value:
        case str() if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            return "is not Unicode text: it holds half of a surrogate pair; leave it out or send the whole character"
        case str() if "\0" in value and path and path[0] not in HANDED_ON:
            return "must not hold NUL, nor other control characters; leave it out"
        case int() if not -(2**63) <= value < 2**64:
            return "is a whole number beyond 64 bits; send it as text"
        case float() if not isfinite(value):
            return "is larger than any number can be; send it as text"
    return None


def _no_constant(name: str) -> NoReturn:
    raise malformed(f"The body is not JSON: {name} is no number; leave the value out or send null.")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise malformed(f"The body holds a number of {len(digits)} digits; send it as text.")
    return int(digits)


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise malformed(f"The body names {write_json(twice[:100])} twice in one object; keep one of them.")
    return members
