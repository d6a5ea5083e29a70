"""The items of a tenant in the stores of a stage, and the marks that close a tenant.

A tenant is closed by marks in items that are read anyway: `closed` in the item of its request rate, which refuses its
requests; `suspended_at` in each job, which workers read before a start; and the `error` of each cursor, which keeps
the cursor out of the due index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

SUSPENDED = "the tenant is suspended"
"""The `error` of a cursor that left the due index because its tenant was suspended."""

ADMITTED_SECONDS = 45
"""The time (seconds) for which a request may still write after its tenant was closed: an instance of the API keeps
tokens for 5 s, API Gateway ends a request after 30 s, and clocks differ by up to 5 s each.
"""

QUIET_SECONDS = 1200
"""The time (seconds) for which a worker may still write for a tenant after its jobs were marked or deleted: an
invocation that has read a job before ends after at most 900 s (Lambda). The batching of the archive's event source (300
s) is shorter.
"""

BARRED_SECONDS = 15 * 86_400
"""How long after its erasure a tenant stays closed, in seconds: SQS keeps a message for at most 14 days, and a message
of an erased job must not meet a new job of the same id.
"""

RECORD_SECONDS = 400 * 86_400
"""How long the record of an erasure is kept, in seconds: as long as the records of changes."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A tenant that may not make requests: `suspended` or `erased`, since when (UTC seconds), and a note for its
    callers. `until` (UTC seconds) is when an erased tenant may be used again; None if that is not known yet.
    """

    state: str
    since: float
    note: str | None = None
    until: float | None = None

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Closed | None:
        """Return the closing in the item of a tenant's request rate, or None if it is not closed."""
        if "closed" not in item:
            return None
        note, until = item.get("closed_note"), item.get("expires_at")
        return cls(
            item["closed"]["S"],
            float(item["closed_at"]["N"]),
            None if note is None else note["S"],
            None if until is None else float(until["N"]),
        )


def tenant_of(partition: str, sort: str) -> str | None:
    """Return the tenant to which the item with this key belongs, in either table; None for an item of the stage."""
    kind, _, rest = partition.partition("#")
    match kind:
        case "JOB" | "KEY" | "CHANGES" | "ENDS" | "TAG" | "TENANT":
            return rest.partition("#")[0]
        case "AUDIT" if rest == "OPEN":
            return sort.partition("#")[0]
        case "AUDIT" if rest == "FINDINGS":
            return sort.split("#")[1]
        case _:
            return None


KINDS = ("jobs", "payloads", "workflows", "runs", "requests", "changes", "other")
"""The kinds of a tenant's items, as named in counts and exported files."""

_BY_SORT = {"JOB": "jobs", "PAYLOAD": "payloads"}
_BY_PREFIX = {"GRAPH": "workflows", "RUN": "runs", "INPUT": "requests", "CHANGE": "changes"}


def kind_of(sort: str) -> str:
    """Return which of KINDS the item with this sort key is."""
    return _BY_SORT.get(sort) or _BY_PREFIX.get(sort.partition("#")[0], "other")


def slot_again(slot: str, due: int, now: float) -> str:
    """Return the slot in which dispatch will read an entry that left the due index from `slot` and is due at `due` (UTC
    seconds). A late entry goes into the bucket of `now`: its own may be below the watermark, where no round reads.
    """
    shard = slot.partition("/")[2]
    return f"{datetime.fromtimestamp(max(due, int(now)), UTC):%Y-%m-%dT%H}/{shard}"
