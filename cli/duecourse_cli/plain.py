"""Text from elsewhere, made fit for a terminal."""

from __future__ import annotations

import re

import click

_BREAKS = re.compile("\r\n|[\t\n\v\f\r\x85\u2028\u2029]")
_BEYOND_ASCII = "\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_STEERING = re.compile(f"[\x00-\x1f{_BEYOND_ASCII}]")
"""Control characters, with which a target's answer could steer the terminal of whoever reads it; what turns the order
of the letters around it; and halves of characters, which cannot be printed.
"""

_UNPRINTABLE = re.compile(f"[{_BEYOND_ASCII}]")
"""The same as far as it can stand in JSON, which escapes the rest of them itself."""


def plain(text: str) -> str:
    """One line that says what the text says and does nothing."""
    return _STEERING.sub("\ufffd", _BREAKS.sub(" ", text))


def escaped(document: str) -> str:
    """JSON that says what it said and does nothing to a terminal."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def say(text: str) -> None:
    """One such line on standard output."""
    click.echo(plain(text))
