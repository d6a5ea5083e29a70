"""Bounds of a job's fields, which the API checks."""

from __future__ import annotations

from duecourse.domain.instants import DAY_SECONDS

PORTIONS = 500
"""Delayed runs are counted in portions of this part of their quota."""


def counted_places(runs: int, quota: int, draw: float) -> int:
    """How many places of the quota for delayed runs are counted for so many: whole portions, on average as many as
    there are runs, so that few requests write. `draw` is a random number in [0, 1).
    """
    portion = max(quota // PORTIONS, 1)
    return int(runs / portion + draw) * portion


MAX_EXPRESSION = 256
"""Characters of a schedule."""

MAX_ZONE_NAME = 64

MAX_NAME = 256
"""Characters. A name is copied into every response about its job, and by `{{job_name}}` into calls."""

MAX_OWNER = 128
"""Characters: a team, a person or an address. The notice of a death has it as an attribute."""

MAX_DESCRIPTION = 500
"""Characters. It is copied into every response about its job; what takes more belongs into the runbook."""

MAX_RUNBOOK_URL = 2048
"""As long as a target's address."""

MAX_TAGS = 20
"""Each tag has its own item, written in the job's transaction: an edit that changes all of them writes 40 of the 100
items that a transaction may have (Amazon DynamoDB API Reference, "TransactWriteItems").
"""

MAX_ATTEMPTS = 100
"""Each is a call and some writes for one occurrence; after a hundred failures another attempt is unlikely to
succeed."""

MAX_RETRY_WORDS = 20
"""Each is compared with each failure, and a pattern (`Throttling*`) covers many codes."""

MAX_BACKOFF_SECONDS = DAY_SECONDS
"""For a longer delay use another occurrence."""

MIN_GRACE_SECONDS = 5
"""A normal start is up to two seconds late and must not count as missed."""

MAX_GRACE_SECONDS = DAY_SECONDS
"""A day is the longest useful grace; `policy` says what happens to later occurrences."""

MAX_ESTIMATED_SECONDS = DAY_SECONDS
"""It only chooses the lane and the estimated cost of a backfill, where values above the longest call (840 s) make no
difference."""

MAX_START_DEADLINE_SECONDS = 7 * DAY_SECONDS
"""Half of the 14 days that a lane keeps a message (Amazon SQS Developer Guide, "Amazon SQS message quotas")."""

MAX_DEATHS_IN_A_ROW = 100
"""Every death reads twice as many records, to check whether the deaths are in a row."""

MIN_COMPLETION_SECONDS = 10
"""The called program needs time to begin, and to answer through the API and a lane."""

MIN_DELETE_AFTER_SECONDS = 60
"""Clocks differ by some seconds, and a client needs time to read how its job has ended."""

MAX_DELETE_AFTER_SECONDS = 90 * DAY_SECONDS
"""Clean-up removes ended jobs after that time anyway."""

MAX_COMPLETION_SECONDS = 30 * DAY_SECONDS
"""A wait is one timer of any length; a month suffices for work by people."""

MIN_HEARTBEAT_SECONDS = 5
"""Each heartbeat is a request and a write, and a slow request must not end the run."""

MAX_HEARTBEAT_SECONDS = DAY_SECONDS
"""With a longer interval a heartbeat adds nothing to `completion_seconds`."""

MAX_AGE_SECONDS = 30 * DAY_SECONDS
"""As long as the longest callback."""
