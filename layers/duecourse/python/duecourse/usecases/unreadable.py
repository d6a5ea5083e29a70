"""What an item says that this release cannot understand."""

from __future__ import annotations

from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError

UNREADABLE = (ScheduleError, ExclusionError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What one of a newer release raises, or one that was written by hand. That is one job's own trouble, and is told; what
a store raises is everybody's, and is tried again.
"""
