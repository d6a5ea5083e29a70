"""What a schedule means, before a job has it."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.schedule_preview import SchedulePreview, preview_schedule
from duecourse.ports import Clock


@dataclass(frozen=True, slots=True)
class Preview:
    """Pure but for its clock: nothing is read and nothing is written."""

    clock: Clock

    def look(self, spec: ScheduleSpec, *, after: int | None, count: int) -> SchedulePreview:
        """The first `count` occurrences after an instant, or after now. Raises ScheduleError."""
        return preview_schedule(spec, int(self.clock.now()) if after is None else after, count)
