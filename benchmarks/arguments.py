"""The types of arguments that the benchmarks share."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Return a count of at least one. Use it as `type` for argparse; other values cause a clear error message."""
    if text.isascii() and text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
