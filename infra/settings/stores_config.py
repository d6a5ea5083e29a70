"""The archive of a stage's expired runs, and the key of its stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BATCH = 1_000
"""The maximum number of records of a batch. DynamoDB's stream allows 10,000 (AWS Lambda Developer Guide, "Parameters
for Amazon DynamoDB event source mappings"), but a record has up to 5 KB, and an invocation at most 6 MB.
"""

MAX_WINDOW_SECONDS = 300
STREAM_HOURS = 24
MIN_GLACIER_DAYS = 1


@dataclass(frozen=True, slots=True)
class ArchiveConfig:
    """The archive of runs whose records have expired."""

    glacier_after_days: int | None = 90
    """The days until objects are moved to Glacier Instant Retrieval (None: never). Storage there costs a fifth; reads
    cost a fee but have no delay. S3 does not move objects under 128 KB (Amazon S3 User Guide, "Transitioning objects
    using Amazon S3 Lifecycle").
    """
    retention_days: int | None = None
    """The days until objects are deleted. None: never."""
    batch_size: int = 1_000
    """The maximum number of runs of one object."""
    window_seconds: int = MAX_WINDOW_SECONDS
    """The seconds for which runs are collected for one object. A longer window creates fewer, larger objects, which are
    cheaper to query.
    """
    give_up_after_hours: int = 6
    """The hours for which a batch is retried before its position is sent to the failure queue. In the remaining part of
    the stream's 24 hours, an operator can archive it manually.
    """

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        checks = [
            (
                "glacier_after_days",
                self.glacier_after_days is None or self.glacier_after_days >= MIN_GLACIER_DAYS,
                "must be null or at least 1",
            ),
            (
                "retention_days",
                self.retention_days is None or self.retention_days > (self.glacier_after_days or 0),
                "must be null or more than glacier_after_days",
            ),
            ("batch_size", 1 <= self.batch_size <= MAX_BATCH, f"must be between 1 and {MAX_BATCH}"),
            (
                "window_seconds",
                0 <= self.window_seconds <= MAX_WINDOW_SECONDS,
                f"must be between 0 and {MAX_WINDOW_SECONDS}",
            ),
            (
                "give_up_after_hours",
                1 <= self.give_up_after_hours < STREAM_HOURS,
                f"must be between 1 and {STREAM_HOURS - 1}, because the stream keeps {STREAM_HOURS} hours",
            ),
        ]
        yield from ((name, problem) for name, fine, problem in checks if not fine)


OWN = "own"

_KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}")


def key_problem(key: str | None) -> str | None:
    """Return the fault of a stage's choice of key, or None if it is valid."""
    if key is None or key == OWN or _KEY_ARN.fullmatch(key):
        return None
    return f"must be none, {OWN} or the ARN of a KMS key (arn:aws:kms:...:key/..., no alias), not {key!r}"
