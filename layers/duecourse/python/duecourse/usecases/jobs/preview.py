"""Previews of schedules."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.schedule_preview import SchedulePreview, preview_schedule
from duecourse.ports import Clock


@dataclass(frozen=True, slots=True)
class Preview:
    """Reads only the clock, and writes nothing."""

    clock: Clock

    def look(self, spec: ScheduleSpec, *, after: int | None, count: int) -> SchedulePreview:
        """The first `count` occurrences after an instant, or after now. Raises ScheduleError."""
        return preview_schedule(spec, int(self.clock.now()) if after is None else after, count)
