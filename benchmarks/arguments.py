"""What the benchmarks' command lines have in common."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """A count of at least one, for argparse's `type`; anything else is refused in a sentence."""
    if text.isascii() and text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
