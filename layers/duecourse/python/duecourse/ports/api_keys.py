"""API keys of tenants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.runs.api_keys import ApiKey


@dataclass(frozen=True, slots=True)
class AllKeys:
    """All keys of a tenant. `version` increases with every key that is added."""

    items: Sequence[ApiKey]
    version: int


class ApiKeyStore(Protocol):
    """Keys by tenant and id."""

    def get(self, tenant: str, key_id: str) -> ApiKey | None:
        """Return the key; None if there is none. Strongly consistent."""

    def all(self, tenant: str) -> AllKeys:
        """Return all keys of the tenant (at most MAX_KEYS), ordered by id. Strongly consistent."""

    def add(self, key: ApiKey, version: int, replaced: str | None = None) -> bool:
        """Write a new key if no other key has been added since `version`, and delete the key with the id `replaced`.
        Return whether it was written. Raises StoreBusyError.
        """

    def delete(self, tenant: str, key_id: str) -> bool:
        """Delete the key. Return whether there was one."""

    def note_use(self, key: ApiKey, at: float) -> None:
        """Store the last use (UTC seconds), unless the key has been deleted or used since it was read."""
