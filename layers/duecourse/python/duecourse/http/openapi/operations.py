"""Every operation of the document. Add a route's beside its kin, then `make openapi`."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.http.openapi.job_operations import JOB_OPERATIONS
from duecourse.http.openapi.manual_operations import MANUAL_OPERATIONS
from duecourse.http.openapi.operation import Operation
from duecourse.http.openapi.other_operations import OTHER_OPERATIONS
from duecourse.http.openapi.run_operations import RUN_OPERATIONS

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    **JOB_OPERATIONS,
    **MANUAL_OPERATIONS,
    **RUN_OPERATIONS,
    **OTHER_OPERATIONS,
}
"""By method and path, as `routes.ROUTES` writes them."""

TAGS: Mapping[str, str] = {
    "jobs": "Definitions: a schedule, a target, a payload, policies.",
    "by hand": "Stepping in: pause, run now, backfill, skip.",
    "runs": "What became of occurrences.",
    "callbacks": "Called by who works on a run, with the run's token.",
    "dead letters": "Runs that used up their attempts.",
    "schedules": "What schedules mean.",
    "service": "The service itself.",
}
"""What the operations are grouped by."""
