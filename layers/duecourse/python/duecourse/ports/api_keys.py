"""API keys of tenants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duecourse.domain.runs.api_keys import ApiKey


@dataclass(frozen=True, slots=True)
class AllKeys:
    """All keys of a tenant. `version` increases with every key that is added."""

    items: Sequence[ApiKey]
    version: int
