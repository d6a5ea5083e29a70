"""Requests for runs and timers, kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from duecourse.ports import Input, Timer


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
class MemoryTimers:
    """ports.Timers."""

    kept: dict[tuple[str, str, str], Timer] = field(default_factory=dict)

    def put(self, timer: Timer) -> None:
        self.kept[timer.message.tenant, timer.message.job_id, timer.key] = timer

    def put_all(self, timers: Sequence[Timer]) -> None:
        for timer in timers:
            self.put(timer)
