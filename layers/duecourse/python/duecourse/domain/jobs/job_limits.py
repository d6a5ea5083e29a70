"""What a job may ask for at most, and at least: the bounds that the API checks."""

from __future__ import annotations

from duecourse.domain.instants import DAY_SECONDS

MAX_EXPRESSION = 256
"""Characters of a schedule."""

MAX_ZONE_NAME = 64

MAX_NAME = 256
"""Characters. A name is copied into every answer about its job, and by `{{job_name}}` into what is sent."""

MAX_TAGS = 20
"""Each has an item of its own beside the job's, all written in one transaction: an edit that changes all of them writes
40 of the 100 that it may have (Amazon DynamoDB API Reference, "TransactWriteItems").
"""

MAX_ATTEMPTS = 100
"""Each is a call and some writes for one occurrence; what a hundred have not brought, one more will not."""

MAX_RETRY_WORDS = 20
"""Each is matched with each failure, and a pattern (`Throttling*`) stands for many."""

MAX_BACKOFF_SECONDS = DAY_SECONDS
"""Whoever wants to wait longer than a day wants another occurrence."""

MIN_GRACE_SECONDS = 5
"""A start in good time is late by up to a second or two, and must not be taken for a missed one."""

MAX_GRACE_SECONDS = DAY_SECONDS
"""What is later than a day was missed by any measure; what then becomes of it is for `policy` to say."""

MAX_ESTIMATED_SECONDS = DAY_SECONDS
"""It only chooses the lane and prices a backfill, where all beyond the longest call (840 s) is the same."""

MAX_START_DEADLINE_SECONDS = 7 * DAY_SECONDS
"""Half of the 14 days that a lane keeps a message (Amazon SQS Developer Guide, "Amazon SQS message quotas")."""

MAX_DEATHS_IN_A_ROW = 100
"""Twice as many records are read at every death, to see whether they are in a row."""

MIN_COMPLETION_SECONDS = 10
"""Who is called needs time to begin, and to answer through the API and a lane."""

MAX_COMPLETION_SECONDS = 30 * DAY_SECONDS
"""A wait is one timer, however long: a month holds what people take."""

MIN_HEARTBEAT_SECONDS = 5
"""Each heartbeat is a request and a write, and one that is late by a request or two must not end the run."""

MAX_HEARTBEAT_SECONDS = DAY_SECONDS
"""A sign of life that may stay away for longer than a day says nothing that `completion_seconds` does not."""

MAX_AGE_SECONDS = 30 * DAY_SECONDS
"""As long as the longest callback: beyond that nobody waits for another attempt."""
