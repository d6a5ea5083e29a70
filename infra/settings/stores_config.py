"""How a stage keeps the history that has left its table, and under whose key its stores lie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BATCH = 1_000
"""DynamoDB's stream allows 10,000 (AWS Lambda Developer Guide, "Parameters for Amazon DynamoDB event source mappings");
a record is up to 5 KB, and an invocation takes 6 MB.
"""

MAX_WINDOW_SECONDS = 300
STREAM_HOURS = 24
MIN_GLACIER_DAYS = 1


@dataclass(frozen=True, slots=True)
class ArchiveConfig:
    """The archive of runs whose records have expired."""

    glacier_after_days: int | None = 90
    """When objects go to Glacier Instant Retrieval, which costs a fifth to keep and is read at a fee, at once; None:
    never. S3 leaves objects under 128 KB where they are (Amazon S3 User Guide, "Transitioning objects using Amazon S3
    Lifecycle").
    """
    retention_days: int | None = None
    """When objects are deleted; None: never."""
    batch_size: int = 1_000
    """Runs of one object, at most."""
    window_seconds: int = MAX_WINDOW_SECONDS
    """How long runs are gathered for one object: longer ones make fewer, larger objects, which are cheaper to query."""
    give_up_after_hours: int = 6
    """How long a batch is tried before its place is noted in the failure queue; what is left of the stream's 24 hours
    is an operator's time to archive it manually.
    """

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        checks = [
            (
                "glacier_after_days",
                self.glacier_after_days is None or self.glacier_after_days >= MIN_GLACIER_DAYS,
                "must be None or at least 1",
            ),
            (
                "retention_days",
                self.retention_days is None or self.retention_days > (self.glacier_after_days or 0),
                "must be None or more than glacier_after_days",
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
    """What is wrong with a stage's choice of key; None where nothing is."""
    if key is None or key == OWN or _KEY_ARN.fullmatch(key):
        return None
    return f"must be None, {OWN} or the ARN of a KMS key (arn:aws:kms:...:key/..., no alias), not {key!r}"
