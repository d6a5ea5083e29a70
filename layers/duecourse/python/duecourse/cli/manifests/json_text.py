"""Parses JSON written by people as strictly as the API, so that no part of it is silently lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any, NoReturn


def read_json(text: str) -> Any:
    """Return the value of a text. Raises ValueError with the fault in one line."""
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_number, parse_int=_whole, object_pairs_hook=_members
        )
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"the text is not valid JSON ({error})") from error
    except UnicodeEncodeError as error:
        raise ValueError("a string contains an unpaired surrogate; send the complete character") from error
    except RecursionError as error:
        raise ValueError("the text is nested too deeply; use fewer levels") from error
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"the text is not valid JSON: {name} is not a JSON number")


def _number(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits[:40]} is larger than the largest allowed number; send it as a string")
    return number


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError as error:
        raise ValueError(f"a number has {len(digits)} digits; send it as a string") from error


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"an object contains the name {json.dumps(name[:100])} twice; keep one of them")
        members[name] = value
    return members
