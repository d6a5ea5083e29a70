"""The schedule engine. docs/schedules.md has its rules. It is pure, except that it reads the data of each zone once.

Start with ``compile_schedule(ScheduleSpec("0 9 * * 1", "America/New_York")).next(after)``. The module ``preview`` lists
occurrences with their wall clock and the effect of the DST rules.
"""

from __future__ import annotations

from duecourse_schedules.error import ScheduleError
from duecourse_schedules.schedule import Schedule, ScheduleSpec, compile_schedule
from duecourse_schedules.zones.zone import TZDATA_VERSION, Zone, load_zone, zone_names
