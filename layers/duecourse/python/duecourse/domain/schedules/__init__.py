"""What a schedule means: docs/schedules.md, complete. Pure, but for reading zone data once per zone.

Start with ``compile_schedule(ScheduleSpec("0 9 * * 1", "America/New_York")).next(after)``; ``preview`` (its own module)
lists occurrences with their wall clock and what a DST rule did to them.
"""

from __future__ import annotations

from duecourse.domain.schedules.compile import compile_schedule
from duecourse.domain.schedules.error import ScheduleError
from duecourse.domain.schedules.schedule import Schedule
from duecourse.domain.schedules.spec import ScheduleSpec
from duecourse.domain.schedules.zones.tzif import TZDATA_VERSION, zone_names
from duecourse.domain.schedules.zones.zone import Zone, load_zone
