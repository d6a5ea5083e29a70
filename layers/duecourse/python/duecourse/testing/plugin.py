"""The pytest plugin, which has one fixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from duecourse.testing.scheduler import Scheduler


@pytest.fixture
def duecourse_scheduler() -> Iterator[Scheduler]:
    """Provide a Duecourse scheduler with a simulated clock, which starts at 2026-01-01T00:00:00Z (docs/testing.md)."""
    from duecourse.testing import Scheduler

    with Scheduler() as scheduler:
        yield scheduler
