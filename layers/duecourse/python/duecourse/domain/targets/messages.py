"""The form of the values that SQS and SNS accept in messages."""

from __future__ import annotations

import re

from duecourse.domain.targets.template import TemplateError

SUBJECT_CHARACTERS = 99
"""Maximum length of a subject: "no line breaks or control characters, and less than 100 characters long" (Amazon SNS
API Reference, Publish).
"""

_GROUP = re.compile(r"[!-~]{1,128}")
"""The form of message groups (Amazon SQS API Reference, SendMessage; Amazon SNS API Reference, Publish)."""


def message_group(text: str) -> str:
    """Return the message group unchanged. Raises TemplateError if SQS and SNS would reject it."""
    if _GROUP.fullmatch(text) is None:
        raise TemplateError(
            "must have 1 to 128 ASCII letters, digits and punctuation marks, without blanks, after the templates "
            "are filled in, because SQS and SNS require this"
        )
    return text


def message_subject(text: str) -> str:
    """Return the text on one line, truncated to the length that SNS accepts. Raises TemplateError if nothing is
    left.
    """
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if not line:
        raise TemplateError("is empty after the templates are filled in, which SNS rejects")
    return line if len(line) <= SUBJECT_CHARACTERS else f"{line[: SUBJECT_CHARACTERS - 3]}..."
