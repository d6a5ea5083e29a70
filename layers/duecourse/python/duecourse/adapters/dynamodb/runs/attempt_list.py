"""The earlier attempts of a run as an attribute of its item: JSON, as short as the item has room for.

A write is charged by whole KB, so the list takes only what is left of the last one: it never makes a record cost more.
An attempt is `[number, start, duration, outcome, code, error]`: the start in ms after the run was due, the duration in
ms (null: unknown), the outcome's place in OUTCOMES. A code or an error is 0 where it is that of the attempt behind it,
of the record itself for the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import Item
from duecourse.domain.runs.states import MAX_ERROR, Attempt, AttemptOutcome, Run

EARLIER = "earlier"

KB = 1024
"""A unit of writing (Amazon DynamoDB Developer Guide, "DynamoDB read and write operations")."""

MARGIN = 64
"""Bytes by which an item may be larger than it is computed, since DynamoDB's sizes of numbers are approximate, and by
which heartbeats may make it grow.
"""

OUTCOMES = (AttemptOutcome.FAILED, AttemptOutcome.LOST, AttemptOutcome.CANCELLED, AttemptOutcome.SUCCEEDED)

WIDTHS = (MAX_ERROR, 100, 50, 0)
"""To how many characters errors are cut, as far as there is no room."""

_SAME = 0


def with_earlier(item: Item, run: Run) -> Item:
    """The item of a run with as much of its earlier attempts as it has room for."""
    room = -_bytes(item) % KB - len(EARLIER) - MARGIN
    text = _fitting(run.earlier, run, room)
    return item if text is None else item | {EARLIER: {"S": text}}


def read_earlier(item: Item, due: int, error: str | None, code: str | None) -> tuple[Attempt, ...]:
    """The earlier attempts of an item. Raises KeyError or ValueError for a list that this version cannot read."""
    listed = values.optional_text(item, EARLIER)
    found: list[Attempt] = []
    behind = (error and error[:MAX_ERROR], code)
    for number, start, duration, outcome, coded, text in reversed(values.parse(listed) if listed else ()):
        behind = (behind[0] if text == _SAME else text, behind[1] if coded == _SAME else coded)
        started = None if start is None else due + start / 1000
        ended = None if started is None or duration is None else due + (start + duration) / 1000
        found.append(Attempt(number, started, ended, OUTCOMES[outcome], *behind))
    return tuple(reversed(found))


def _fitting(attempts: Sequence[Attempt], run: Run, room: int) -> str | None:
    """The list's text: where there is no room errors are cut, then the oldest attempts are left out."""
    tries = [(attempts, width) for width in WIDTHS] + [(attempts[begin:], 0) for begin in range(1, len(attempts))]
    return next((text for part, width in tries if len(text := _text(part, run, width)) <= room), None)


def _text(attempts: Sequence[Attempt], run: Run, width: int) -> str:
    """Of ASCII alone, so that its characters are its bytes; errors have `width` characters at most."""
    rows: list[list[Any]] = []
    behind = (run.error and run.error[:MAX_ERROR], run.code)
    for each in reversed(attempts):
        start = None if each.started_at is None else round((each.started_at - run.due) * 1000)
        ended = None if each.ended_at is None else round((each.ended_at - run.due) * 1000)
        lasted = None if start is None or ended is None else ended - start
        text = _SAME if each.error == behind[0] else (each.error or "")[:width] or None
        code = _SAME if each.code == behind[1] else each.code
        outcome = OUTCOMES.index(each.outcome or AttemptOutcome.FAILED)
        rows.append([each.number, start, lasted, outcome, code, text])
        behind = (each.error, each.code)
    return values.ascii_document(rows[::-1])


def _bytes(item: Item) -> int:
    """Names and texts count by their UTF-8 bytes, numbers about a byte for two digits and one more (Amazon DynamoDB
    Developer Guide, "DynamoDB Item sizes and formats").
    """
    return sum(len(name) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content.lstrip("-0").replace(".", "")) // 2 + 2
        case _:
            return 1
