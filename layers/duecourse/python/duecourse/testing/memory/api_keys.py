"""API keys in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.runs.api_keys import ApiKey
from duecourse.ports import AllKeys
from duecourse.testing.memory.items import Items


@dataclass(frozen=True)
class MemoryApiKeys:
    """Implementation of ports.ApiKeyStore."""

    items: Items

    def get(self, tenant: str, key_id: str) -> ApiKey | None:
        return self.items.api_keys.get((tenant, key_id))

    def all(self, tenant: str) -> AllKeys:
        with self.items.lock:
            own = [each for (owner, _), each in self.items.api_keys.items() if owner == tenant]
            return AllKeys(sorted(own, key=lambda each: each.id), self.items.api_key_versions[tenant])

    def add(self, key: ApiKey, version: int, replaced: str | None = None) -> bool:
        with self.items.lock:
            if (key.tenant, key.id) in self.items.api_keys or self.items.api_key_versions[key.tenant] != version:
                return False
            self.items.api_keys[key.tenant, key.id] = key
            if replaced is not None:
                self.items.api_keys.pop((key.tenant, replaced), None)
            self.items.api_key_versions[key.tenant] += 1
            return True

    def delete(self, tenant: str, key_id: str) -> bool:
        with self.items.lock:
            return self.items.api_keys.pop((tenant, key_id), None) is not None

    def note_use(self, key: ApiKey, at: float) -> None:
        with self.items.lock:
            standing = self.items.api_keys.get((key.tenant, key.id))
            if standing is not None and standing.last_used_at == key.last_used_at:
                self.items.api_keys[key.tenant, key.id] = replace(standing, last_used_at=at)
