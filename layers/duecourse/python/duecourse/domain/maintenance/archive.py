"""Selects the changes of the runs table that are archived, and the objects of the archive that contain them.

Rows are grouped by the day of their occurrence. An object's name is a function of its rows, so a batch that is archived
again overwrites its objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from duecourse.domain.instants import from_iso, to_iso
from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.states import Record, Run, Succeeded

EXPIRY = "dynamodb.amazonaws.com"
"""The service that deletes expired items (Amazon DynamoDB Developer Guide, "DynamoDB Streams and Time to Live")."""

REMOVE = "REMOVE"

SCHEMA_VERSION = 1
"""The version of the rows. Additional fields do not need a new version, since readers ignore unknown fields."""

FIRST_DAY = "2020-01-01"
"""The first day of the archive. Earlier occurrences (of backfills) are stored under this day."""

RUNS = "runs"
UNREADABLE = "unreadable"

DIGEST_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that this version cannot read: its plain values, and the error."""

    image: Any
    error: str


@dataclass(frozen=True, slots=True)
class RunChange:
    """One record of the stream.

    `sequence` is its number in the stream, `kind` is the operation (`REMOVE`, …), and `by` is the service that made the
    change (None: a request). `content` is the item before the change, only for removed runs.
    """

    sequence: str
    kind: str
    by: str | None
    content: Run | Unreadable | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of one object of the archive."""

    key: str
    rows: tuple[dict[str, Any], ...]


def is_archived(change: RunChange) -> bool:
    """Return whether the change is the expiry of a run. Deleted runs, locks and requests are not archived."""
    return change.kind == REMOVE and change.by == EXPIRY and change.content is not None


def sheets(changes: Iterable[RunChange]) -> tuple[Sheet, ...]:
    """Return the expired runs among the changes, as the objects to write.

    There is one object for each day of occurrences, and one for all unreadable records. The same runs always produce
    the same objects, regardless of the other changes.
    """
    groups: dict[str, list[RunChange]] = {}
    for change in changes:
        if is_archived(change):
            groups.setdefault(_folder(change), []).append(change)
    return tuple(Sheet(f"{folder}/{_name(group)}", tuple(map(_row, group))) for folder, group in groups.items())


def day_of(run: Run) -> str:
    """Return the day (UTC) under which a run is stored: the day of its occurrence, from FIRST_DAY on. If the record
    expires before the occurrence is due (because it was skipped far ahead), the day is that of the expiry.
    """
    known = run.occurrence if run.expires_at is None else min(run.occurrence, run.expires_at)
    return to_iso(max(known, int(from_iso(f"{FIRST_DAY}T00:00:00Z"))))[:10]


def row_of(run: Run) -> dict[str, Any]:
    """Return a run in the form of GET /v1/runs/{id}, with its tenant. For a large result the row contains its key in
    the result store, which keeps it a little longer.
    """
    own = {
        "schema_version": SCHEMA_VERSION,
        "tenant": run.tenant,
        "result_key": run.result_key if isinstance(run, Succeeded) else None,
    }
    return own | run_document(run)


def _folder(change: RunChange) -> str:
    return f"{RUNS}/day={day_of(change.content)}" if isinstance(change.content, Record) else UNREADABLE


def _row(change: RunChange) -> dict[str, Any]:
    match change.content:
        case Record() as run:
            return row_of(run)
        case Unreadable(image, error):
            return {"sequence": change.sequence, "error": error, "image": image}
        case None:
            raise ValueError("the stream record is not the removal of a run")


def _name(group: list[RunChange]) -> str:
    """Return the name of an object: the first and last sequence number, which help to find a failed batch, and a
    digest.

    The digest is necessary because sequence numbers count within a shard: two batches may have the same first and last
    number but different content.
    """
    numbers = [change.sequence for change in group]
    digest = sha256("\n".join(map(_identity, group)).encode()).hexdigest()[:DIGEST_CHARACTERS]
    return f"{numbers[0]}-{numbers[-1]}-{digest}.json.gz"


def _identity(change: RunChange) -> str:
    run = change.content
    return f"{change.sequence} {run.tenant} {run.name}" if isinstance(run, Run) else change.sequence
