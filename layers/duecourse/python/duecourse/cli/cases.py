"""`duecourse next --jsonl`: a stream of requests about schedules, with one line of JSON for each request and response.

There is one response for each line, in the same order. The response to an invalid or blank line is an error, and does
not affect the other responses.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import Any, BinaryIO

import orjson

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.error import shown
from duecourse_schedules.instant import iso
from duecourse_schedules.schedule import counted_from, joined, read_instant

DEFAULT_COUNT = 10
MAX_COUNT = 1_000
MAX_LINE_BYTES = 64 * 1024
FIELDS = ("expr", "tz", "after", "count", "anchor", "start", "end", "dst_gap", "dst_fold")
NAMES = {"schedule": "expr", "timezone": "tz"}
"""The names of the cases' fields by the names in the schedule engine."""

_EXAMPLES = {
    "expr": "text such as 0 9 * * 1",
    "tz": "text such as America/New_York",
    "dst_gap": "next or skip",
    "dst_fold": "first, second or both",
}
_INSTANT = "an instant in UTC such as 2026-03-08T07:00:00Z"


def answer_cases(cases: BinaryIO, answers: BinaryIO) -> None:
    """Respond to each line immediately, because a caller can wait for a response before the next request."""
    while line := cases.readline(MAX_LINE_BYTES + 1):
        whole = len(line) <= MAX_LINE_BYTES
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = cases.readline(MAX_LINE_BYTES + 1)  # the rest of the same line
        answers.write(answer(line) if whole else _error(f"the line is longer than {MAX_LINE_BYTES} bytes"))
        answers.flush()


def answer(line: bytes) -> bytes:
    """Return the response to one case, a line of JSON. Never raises."""
    try:
        case = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _error(f"the line is not JSON: {error}" if line.strip() else "the line is blank; write a JSON object")
    if not isinstance(case, dict):
        return _error('the line is not a JSON object such as {"expr": "0 9 * * 1", "after": "2026-03-08T07:00:00Z"}')
    try:
        return orjson.dumps({"next": _next(case)}, option=orjson.OPT_APPEND_NEWLINE)
    except ScheduleError as error:
        index = "" if error.index is None else f"[{error.index}]"
        return _error(f"{NAMES.get(error.field, error.field)}{index}: {error.detail}")
    except Exception as error:  # noqa: BLE001  (an internal error in one case must not end the stream for the others)
        return _error(f"internal error: {type(error).__name__}: {error}")


def _next(case: dict[str, Any]) -> list[str]:
    for name in case:
        if name not in FIELDS:
            raise ScheduleError(shown(name), _unknown(name))
    expression, after = case.get("expr"), _instant(case, "after")
    if not isinstance(expression, list):
        expression = _text(case, "expr")
    if expression is None:
        raise ScheduleError("expr", f"is missing; write {_EXAMPLES['expr']}")
    if after is None:
        raise ScheduleError("after", f"is missing; write {_INSTANT}")
    spec = ScheduleSpec(
        joined(expression),
        _given(_text(case, "tz"), "UTC"),
        _given(_text(case, "dst_gap"), "next"),
        _given(_text(case, "dst_fold"), "first"),
        _instant(case, "anchor"),
        _instant(case, "start"),
        _instant(case, "end"),
    )
    count = _count(case)
    found = compile_schedule(counted_from(spec, after)).upcoming(after)
    return [iso(at) + "Z" for at in islice(found, count)]


def _text(case: dict[str, Any], name: str) -> str | None:
    """Return the text of a field. Null is the same as a missing field."""
    value = case.get(name)
    if value is not None and not isinstance(value, str):
        raise ScheduleError(name, f"must be {_EXAMPLES.get(name, _INSTANT)}")
    return value


def _instant(case: dict[str, Any], name: str) -> int | None:
    text = _text(case, name)
    return None if text is None else read_instant(name, text)


def _given(text: str | None, default: str) -> str:
    return default if text is None else text


def _count(case: dict[str, Any]) -> int:
    count = case.get("count")
    if count is None:
        return DEFAULT_COUNT
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_COUNT:
        raise ScheduleError("count", f"must be a whole number from 1 to {MAX_COUNT}")
    return count


def _unknown(name: str) -> str:
    near = get_close_matches(name[:64], FIELDS, n=1)
    return f"is not known; did you mean {near[0]}?" if near else f"is not known; the fields are {', '.join(FIELDS)}"


def _error(text: str) -> bytes:
    return orjson.dumps({"error": text}, option=orjson.OPT_APPEND_NEWLINE)
