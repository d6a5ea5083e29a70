"""The limits of a job's fields, which the API checks."""

from __future__ import annotations

from duecourse.domain.instants import DAY_SECONDS

PORTIONS = 500
"""The number of portions in the quota for delayed runs. Delayed runs are counted in whole portions."""


def counted_places(runs: int, quota: int, draw: float) -> int:
    """Return the number by which these delayed runs raise the count of the quota. It is a whole number of portions and
    on average equals the number of runs, so that few requests write. `draw` is a random number in [0, 1).
    """
    portion = max(quota // PORTIONS, 1)
    return int(runs / portion + draw) * portion


MAX_EXPRESSION = 256
"""The maximum number of characters of a schedule."""

MAX_ZONE_NAME = 64

MAX_NAME = 256
"""The maximum number of characters. A name is copied into every response about its job, and by `{{job_name}}` into
calls.
"""

MAX_OWNER = 128
"""The maximum number of characters. The owner is a team, a person or an address; the notification of a dead run
contains it as an attribute.
"""

MAX_DESCRIPTION = 500
"""The maximum number of characters. The description is copied into every response about its job. Longer notes belong in
the runbook.
"""

MAX_RUNBOOK_URL = 2048
"""The maximum number of characters: the same limit as for a target's URL."""

MAX_TAGS = 20
"""Each tag has an item, which is written in the job's transaction. An edit that changes all tags writes 40 of the 100
items that a transaction may have (Amazon DynamoDB API Reference, "TransactWriteItems").
"""

MAX_CALENDAR_ENTRIES = 500

MAX_ATTEMPTS = 100
"""Each attempt is a call and some writes for one occurrence. After 100 failures another attempt is unlikely to
succeed.
"""

MAX_RETRY_WORDS = 20
"""Each entry is compared with each failure. A pattern (`Throttling*`) covers many codes."""

MAX_BACKOFF_SECONDS = DAY_SECONDS
"""The maximum delay in seconds. For a longer delay, use another occurrence."""

MIN_GRACE_SECONDS = 5
"""The minimum grace period in seconds. A normal start is up to two seconds late and must not count as missed."""

MAX_GRACE_SECONDS = DAY_SECONDS
"""A day is the longest useful grace period. After it, the policy for missed occurrences applies."""

MAX_ESTIMATED_SECONDS = DAY_SECONDS
"""The estimate only determines the lane and the estimated cost of a backfill. Values above the longest call (840 s)
make no difference.
"""

MAX_START_DEADLINE_SECONDS = 7 * DAY_SECONDS
"""Half of the 14 days for which a lane keeps a message (Amazon SQS Developer Guide, "Amazon SQS message quotas")."""

MAX_FINISH_SECONDS = 30 * DAY_SECONDS
"""The longest wait for a callback. No run is active long enough to miss a later deadline."""

MAX_NOTIFY = 10
"""Each rule causes another run for each notice."""

MAX_DEATHS_IN_A_ROW = 100
"""After each dead run, twice this number of records are read, to check whether the runs died in a row."""

MIN_COMPLETION_SECONDS = 10
"""The called program needs time to start, and its callback passes through the API and a lane."""

MIN_DELETE_AFTER_SECONDS = 60
"""Clocks differ by some seconds, and a client needs time to read how its job ended."""

MAX_DELETE_AFTER_SECONDS = 90 * DAY_SECONDS
"""The clean-up removes ended jobs after this time in any case."""

MAX_COMPLETION_SECONDS = 30 * DAY_SECONDS
"""A wait is one timer of any length. A month is sufficient for work by people."""

MIN_HEARTBEAT_SECONDS = 5
"""Each heartbeat costs a request and a write, and a slow request must not end the run."""

MAX_HEARTBEAT_SECONDS = DAY_SECONDS
"""A heartbeat with a longer interval has no advantage over `completion_seconds`."""

MAX_AGE_SECONDS = 30 * DAY_SECONDS
"""The same limit as for waiting for a callback."""

MAX_PAYLOAD_BYTES = 200 * 1024
"""As JSON. Leaves room in a message of SQS for the other parts of an event."""

MAX_PARAMETER_BYTES = 16 * 1024
"""The maximum size of the parameters of an AWS call, as JSON."""

MAX_ECS_CHARACTERS = 7000
"""The maximum length of a payload for ECS. ECS allows 8,192 characters of overrides, and other parts of an event use
some of these.
"""

MAX_DEPTH = 32
"""The maximum number of levels of objects and arrays in a job, such as those of its payload."""
