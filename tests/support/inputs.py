"""Requests for runs and wake-ups, kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from duecourse.ports import Input, Wake


@dataclass
class MemoryInputs:
    """ports.Inputs."""

    kept: dict[tuple[str, str, str], Input] = field(default_factory=dict)

    def put(self, tenant: str, job_id: str, wanted: Input) -> Input | None:
        standing = self.kept.setdefault((tenant, job_id, wanted.suffix), wanted)
        return None if standing is wanted else standing

    def get(self, tenant: str, job_id: str, suffix: str) -> Input | None:
        return self.kept.get((tenant, job_id, suffix))

    def mark_sent(self, tenant: str, job_id: str, suffix: str) -> None:
        key = (tenant, job_id, suffix)
        self.kept[key] = replace(self.kept[key], sent=True)


@dataclass
class MemoryWakes:
    """ports.Wakes."""

    kept: dict[tuple[str, str, str], Wake] = field(default_factory=dict)

    def put(self, wake: Wake) -> None:
        self.kept[wake.message.tenant, wake.message.job_id, wake.key] = wake

    def put_all(self, wakes: Sequence[Wake]) -> None:
        for wake in wakes:
            self.put(wake)
