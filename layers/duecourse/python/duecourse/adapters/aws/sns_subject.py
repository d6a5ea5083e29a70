"""Subjects of SNS messages."""

from __future__ import annotations

SUBJECT_CHARACTERS = 99
"""The most that SNS takes: "no line breaks or control characters, and less than 100 characters long" (Amazon SNS API
Reference, Publish)."""


def subject(text: str) -> str:
    """The text on one line, cut to what SNS takes; the message says what the subject cannot."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= SUBJECT_CHARACTERS else f"{line[: SUBJECT_CHARACTERS - 3]}..."
