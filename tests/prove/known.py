"""Promises that are broken at present, with where that is known: they are printed and fail nothing.

Remove an entry with the change that mends it.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, str] = {}
