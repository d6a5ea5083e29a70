"""Checks of values that were read from JSON, one for each kind, with the words that say what is expected."""

from __future__ import annotations

from typing import cast

LATEST = 253_402_300_799
"""The last second that has a name (9999-12-31T23:59:59Z)."""


def _are_pairs(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, list) and [type(part) for part in each] == [str, str] for each in value
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_whole(value) and cast(int, value) >= 1


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_instant(value: object) -> bool:
    """An instant out of range has no ISO name, not even for a log line."""
    return _is_whole(value) and 0 <= cast(int, value) <= LATEST


def _is_anything(_value: object) -> bool:
    return True


TEXT = (_is_text, "text")
COUNT = (_is_count, "a whole number from 1")
INSTANT = (_is_instant, "whole UTC seconds")
NUMBER = (_is_number, "UTC seconds")
WHOLE = (_is_whole, "a whole number")
FLAG = (_is_flag, "true or false")
SECONDS = (_is_number, "seconds")
ANYTHING = (_is_anything, "any JSON value")
PAIRS = (_are_pairs, "pairs of a message id and a nonce")
