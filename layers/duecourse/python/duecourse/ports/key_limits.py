"""Stored limits of concurrency keys."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.runs.overlap import KeyLimit


@dataclass(frozen=True, slots=True)
class KeyLimitPage:
    """Limits, ordered by key. `following` continues after the last one."""

    items: tuple[KeyLimit, ...]
    following: str | None
