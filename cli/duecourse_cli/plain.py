"""Text from elsewhere, made fit for a terminal."""

from __future__ import annotations

import re

_BREAKS = re.compile("\r\n|[\t\n\v\f\r\x85\u2028\u2029]")
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, with which a target's answer could steer the terminal of whoever reads it; what turns the order
of the letters behind it around; and halves of characters, which cannot be printed.
"""

_UNPRINTABLE = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""The same as far as it can stand in JSON, which escapes the rest of them itself."""


def plain(text: str) -> str:
    """One line that says what the text says and does nothing."""
    return _STEERING.sub("\ufffd", _BREAKS.sub(" ", text))


def escaped(document: str) -> str:
    """JSON that says what it said and does nothing to a terminal."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", document)
