"""Errors of items that this release cannot read."""

from __future__ import annotations

from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.schedule import ExclusionError

UNREADABLE = (ScheduleError, ExclusionError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Raised for an item that was written by a newer release or edited manually. Such an error concerns one job and is
reported. An error of a store concerns all jobs, and the call is retried.
"""
