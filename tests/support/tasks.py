"""Registered tasks without a store."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from duecourse.ports import RegisteredTask


@dataclass(frozen=True)
class Registered:
    """ports.Tasks: those of a mapping."""

    tasks: Mapping[str, RegisteredTask] = field(default_factory=dict)

    def get(self, name: str) -> RegisteredTask | None:
        return self.tasks.get(name)
