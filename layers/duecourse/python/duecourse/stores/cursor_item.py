"""The items of the due index: cursors, and the largest shard count ever used.

The item of a cursor is rewritten at each claim, so it stays far below 1 KB. Only the listed runs of a paused
job (`waited`) can exceed this, up to the first claim after a resume.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from duecourse.domain.documents import from_document, to_document, without_defaults
from duecourse.domain.jobs.calendars import read_window
from duecourse.domain.jobs.cursor import Cursor, Firing, PlannedResume
from duecourse.domain.jobs.job import Deadline, MissedPolicy
from duecourse.stores import values
from duecourse.stores.keys import CURSOR, QUARANTINED, RARE, SHARDS_KEY, Item, job_key, owner_of, state_key
from duecourse.stores.table import Absent, Compare, Set, Table, Tables, Update, any_of
from duecourse_schedules import ScheduleSpec


class ShardRecord:
    """The record of the largest shard count ever used. Each writer of the due index raises it before it writes an
    entry.

    Functions are updated one after the other, and rolled back when a deployment fails. So a function can write with a
    new shard count before the tick uses that count, and the deployment can be rolled back before the tick ever does. An
    entry in a shard that no tick covers is lost. Therefore the record is written first, and its count only increases.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._recorded = 0

    def covering(self, shards: int) -> int:
        """Return `shards` after the record covers that many. The record is read once in each process. Raises
        ServiceError.
        """
        if shards > self._recorded:
            # A stale read returns a smaller number, which the conditional write detects.
            if self._read(consistent=False) < shards:
                self._raise_to(shards)
            self._recorded = shards
        return shards

    def highest(self, shards: int) -> int:
        """Return the largest count ever used, including `shards`, which is recorded. Raises ServiceError."""
        highest = self._read(consistent=True)
        if highest < shards:
            self._raise_to(shards)
        return max(highest, shards)

    def _read(self, *, consistent: bool) -> int:
        item = self._tables.get(Table.JOBS, SHARDS_KEY, consistent=consistent)
        return 0 if item is None else values.integer(item, "shards")

    def _raise_to(self, shards: int) -> None:
        # False: another writer has already recorded this count or a larger one.
        condition = any_of(Absent(), Compare("shards", "<", shards))
        self._tables.write(Update(Table.JOBS, SHARDS_KEY, (Set("shards", shards),), condition))


_PLAIN = (
    *("generation", "occurrence", "due", "after", "remaining", "lane", "precision", "tzdata", "error", "last"),
    *("ending", "bulk", "offset_seconds"),
)
"""The fields that are attributes of the same names."""


def to_item(cursor: Cursor, shards: int, *, now: float) -> Item:
    """Return the item of a cursor in a stage with `shards` shards, written at `now` (UTC seconds)."""
    rules = to_document(cursor.schedule) | {"missed": to_document(cursor.missed)}
    if cursor.schedule.on_excluded == "skip":
        del rules["on_excluded"]
    if cursor.exclude:
        rules["exclude"] = cursor.exclude
    if cursor.jitter_seconds:
        rules["jitter_seconds"] = cursor.jitter_seconds
    if cursor.deadlines:
        rules["deadlines"] = [without_defaults(each) for each in cursor.deadlines]
    return job_key(cursor.tenant, cursor.job_id, CURSOR) | values.pack(
        {
            **{name: getattr(cursor, name) for name in _PLAIN},
            # A quarantined cursor stays out of the index until it is repaired.
            "slot": cursor.slot(shards, now=now) if cursor.error is None else None,
            **({} if cursor.error is None else quarantine_mark(cursor.tenant, cursor.job_id)),
            "rules": values.document(rules),
            "ending": cursor.ending or None,
            "bulk": cursor.bulk or None,
            RARE: cursor.is_rare() or None,  # claims do not change it
            "resume_at": None if cursor.resume is None else cursor.resume.at,
            "resume_catch_up": True if cursor.resume is not None and cursor.resume.catch_up else None,
            "waited": waited(cursor),
        }
    )


def quarantine_mark(tenant: str, job_id: str) -> dict[str, str]:
    """Return the attributes with which the `state` index lists a quarantined cursor."""
    return {"state_key": state_key(tenant, QUARANTINED), "job_id": job_id}


def waited(cursor: Cursor) -> str | None:
    """Return the listed runs of a cursor as it is stored: occurrence, due time, and due time of the next one."""
    runs = [(each.occurrence, each.due, each.following) for each in cursor.waited]
    return values.document(runs) if runs else None


@lru_cache(maxsize=2_048)
def read_rules(text: str) -> Mapping[str, Any]:
    """Return the fields of a cursor that are stored as one text. Cached, since many jobs have the same rules. Raises
    KeyError, TypeError or ValueError if this version cannot read the text.
    """
    rules = values.parse(text)
    missed, exclude = rules.pop("missed"), rules.pop("exclude", ())
    jitter_seconds, deadlines = rules.pop("jitter_seconds", 0), rules.pop("deadlines", ())
    return {
        "schedule": ScheduleSpec(**rules),
        "missed": from_document(MissedPolicy, missed),
        "exclude": tuple(map(read_window, exclude)),
        "jitter_seconds": jitter_seconds,
        "deadlines": tuple(from_document(Deadline, each) for each in deadlines),
    }


def from_item(item: Item) -> Cursor:
    """Return the cursor of an item. Raises KeyError, TypeError or ValueError if this version cannot read the item."""
    tenant, job_id = owner_of(item["PK"]["S"])
    rules = read_rules(values.text(item, "rules"))
    resume_at = values.optional_integer(item, "resume_at")
    listed = values.optional_text(item, "waited")
    return Cursor(
        tenant=tenant,
        job_id=job_id,
        resume=None if resume_at is None else PlannedResume(resume_at, "resume_catch_up" in item),
        waited=tuple(Firing(at, due, at, following=following) for at, due, following in values.parse(listed or "[]")),
        **rules,
        **values.read_fields(Cursor, item, _PLAIN),
    )
