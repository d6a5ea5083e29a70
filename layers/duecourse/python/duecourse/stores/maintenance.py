"""The maintenance functions' access to the jobs table: scans, turns and findings of the audit, and the entries and the
progress of index repair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import astuple
from functools import partial
from typing import Any

from duecourse.checks.tenants import TenantFigures, figures_of, tenant_of
from duecourse.domain.ids import to_basic
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.maintenance.audit import Turn, joined
from duecourse.domain.maintenance.index import CompletedJob, Entry, Position, RepairPass
from duecourse.domain.maintenance.tenants import TenantReport
from duecourse.domain.runs.coverage import OccurrenceRange
from duecourse.ports import Finding, IndexPage, Listed, Undecided
from duecourse.stores import cursor_item, job_item, values
from duecourse.stores.job_item import readable
from duecourse.stores.keys import CURSOR, JOB, LIMITS, RATE, TIMER_PREFIX, Item, job_key, key, owner_of
from duecourse.stores.table import (
    Absent,
    Change,
    Compare,
    Condition,
    Delete,
    Prefix,
    Present,
    Put,
    Query,
    Remove,
    Scan,
    Set,
    Table,
    Tables,
    Update,
    Value,
    all_of,
    any_of,
    changes_to,
    equal,
    holds,
    pages,
)


class ScanStore:
    """The base class of stores that scan the jobs table. One scan request evaluates `limit` items, or one megabyte (the
    maximum of DynamoDB) if `limit` is None.
    """

    def __init__(self, tables: Tables, *, limit: int | None = None) -> None:
        self._tables = tables
        self._limit = limit

    def _scan(
        self, start: str | None, only: Condition, read: tuple[str, ...], *, part: int = 0, parts: int = 1
    ) -> tuple[Sequence[Item], str | None]:
        """Return one page of the items that satisfy `only`, with the attributes in `read`, and the position of the
        next page (None: there is none).
        """
        first = None if start is None else values.parse(start)
        page = self._tables.scan(Scan(Table.JOBS, None, part, parts, self._limit, first, only, read))
        return page.items, None if page.last is None else values.document(page.last)

    def _save(self, key: Item, position: Position, attributes: Mapping[str, object]) -> bool:
        """Write a position and further attributes over its previous version. Returns False if the stored item has
        another version.
        """
        stand = {"start": position.start, "counts": values.document(dict(position.counts)), "version": position.version}
        condition = any_of(Absent(), equal("version", position.version - 1))
        return self._tables.write(Put(Table.JOBS, key | values.pack({**stand, **attributes}), condition)).held


def _position(item: Item) -> dict[str, Any]:
    """Return the fields of a Position, without `done`."""
    return {
        "start": values.optional_text(item, "start"),
        "counts": values.parse(values.text(item, "counts")),
        "version": values.integer(item, "version"),
    }


TURNS = "AUDIT#TURNS"
FINDINGS = "AUDIT#FINDINGS"
OPEN = "AUDIT#OPEN"

FINDINGS_KEPT_SECONDS = 30 * DAY_SECONDS
"""How long findings, turns and the figures of tenants are kept, in seconds."""

_TURN = ("segment", "segments", "low", "high", "done")


class AuditStore(ScanStore):
    """The jobs of the audit's turns, and its findings."""

    def jobs(self, segment: int, segments: int, start: str | None) -> Listed[Job, str]:
        """Return the next page of a segment's jobs, without their payloads. Jobs that cannot be read are logged and
        left out. May be stale.
        """
        items, following = self._scan(start, equal("SK", JOB), job_item.WITHOUT_PAYLOAD, part=segment, parts=segments)
        found: list[Job | None] = [readable(job_item.from_item, item) for item in items]
        return Listed([job for job in found if job is not None], following)

    def after(self, job: Job) -> str:
        """Return the position after a job of a page."""
        return values.document(job_key(job.tenant, job.id, JOB))

    def turns(self) -> list[Turn]:
        """Return the last turn of each segment. Strongly consistent."""
        return [_turn(item) for item in self._query(TURNS)]

    def save(self, turn: Turn, *, now: float) -> bool:
        """Overwrite the turn's previous version. Return False if another audit has written it in the meantime."""
        own = {name: getattr(turn, name) for name in _TURN}
        stand = own | {"saved_at": now, "expires_at": int(now) + FINDINGS_KEPT_SECONDS}
        where = key(TURNS, f"{turn.segments:04d}/{turn.segment:04d}")
        return self._save(where, turn, stand)

    def known(self, finding: Finding) -> bool:
        """Return whether the finding is stored. Strongly consistent."""
        return self._tables.get(Table.JOBS, _key(finding)) is not None

    def keep(self, finding: Finding, *, now: float) -> None:
        """Store a finding. Idempotent."""
        stand = _found(finding.kind, finding.tenant, finding.job_id, [finding.range], now) | {"run_id": finding.run_id}
        self._tables.write(Put(Table.JOBS, _key(finding) | values.pack(stand)))

    def open(self, limit: int) -> list[Undecided]:
        """Return the jobs with undecided ranges; jobs with the oldest ranges come first. Jobs that cannot be read are
        logged and left out. Strongly consistent.
        """
        read = [readable(_undecided, item) for item in self._query(OPEN, limit)]
        return sorted((each for each in read if each is not None), key=lambda each: each.ranges[0].first)

    def undecided(self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], *, now: float) -> bool:
        """Add ranges to the job's undecided ranges. Return whether there were none before."""
        while True:  # until no other write happens between the read and the write
            item = self._tables.get(Table.JOBS, _open_key(tenant, job_id))
            standing = None if item is None else _undecided(item)
            before = Undecided(tenant, job_id, (), version=0) if standing is None else standing
            if self._write(before, joined(before.ranges, ranges), now):
                return standing is None

    def settle(self, standing: Undecided, left: Sequence[OccurrenceRange], *, now: float) -> bool:
        """Replace a job's undecided ranges by `left`. Return False, and write nothing, if they were written
        in the meantime.
        """
        if left:
            return self._write(standing, joined((), left), now)
        key = _open_key(standing.tenant, standing.job_id)
        return self._tables.write(Delete(Table.JOBS, key, _standing(standing))).held

    def _write(self, before: Undecided, ranges: Sequence[OccurrenceRange], now: float) -> bool:
        stand = _found("open", before.tenant, before.job_id, ranges, now) | {
            "gaps": values.document([[each.first, each.last, each.count] for each in ranges]),
            "version": before.version + 1,
        }
        item = _open_key(before.tenant, before.job_id) | values.pack(stand)
        return self._tables.write(Put(Table.JOBS, item, _standing(before))).held

    def _query(self, partition: str, limit: int | None = None) -> Iterator[Item]:
        return pages(self._tables, Query(Table.JOBS, partition, consistent=True, limit=limit))


def _found(kind: str, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], now: float) -> dict[str, object]:
    return {
        "kind": kind,
        "tenant": tenant,
        "job_id": job_id,
        "first": ranges[0].first,
        "last": max(each.last for each in ranges),
        "count": sum(each.count for each in ranges),
        "found_at": now,
        "expires_at": int(now) + FINDINGS_KEPT_SECONDS,
    }


def _key(finding: Finding) -> Item:
    where = f"{to_basic(finding.range.first)}-{to_basic(finding.range.last)}#{finding.tenant}#{finding.job_id}"
    return key(FINDINGS, "#".join(filter(None, (where, finding.kind, finding.run_id))))


def _open_key(tenant: str, job_id: str) -> Item:
    return key(OPEN, f"{tenant}#{job_id}")


def _standing(before: Undecided) -> Condition:
    """Return the condition that the item is unchanged since it was read. Version 0 means that there is no item."""
    return Absent() if before.version == 0 else equal("version", before.version)


def _undecided(item: Item) -> Undecided:
    stored = values.parse(values.text(item, "gaps"))
    ranges = tuple(OccurrenceRange(first, last, count) for first, last, count in stored)
    if not ranges:
        raise ValueError("the item has no open occurrences")
    return Undecided(
        values.text(item, "tenant"), values.text(item, "job_id"), ranges, version=values.integer(item, "version")
    )


def _turn(item: Item) -> Turn:
    return Turn(**values.read_fields(Turn, item, _TURN), **_position(item))


PASS_KEY = key("REPAIR", "LAST")
REPORT_KEY = key("REPAIR", "TENANTS")

_READ = (
    "PK", "SK", "slot", "due", "occurrence", "after", "remaining", "generation", "rules", "lane", "precision",
    "tzdata", "error", "last", "state", "updated_at", "expires_at", "resume_at", "resume_catch_up", "keyed",
    "state_key",
)  # fmt: skip
"""The attributes of a cursor, and the state and last change of a job. DynamoDB also charges for the others."""

_FIGURES = ("job_id", "jobs", "free", "closed", "closed_at")
"""The attributes that the figures of a tenant also need."""


class RepairStore(ScanStore):
    """The entries of the due index, and the progress of index repair.

    With `figures`, pages have the figures of tenants, whose items are part of the same scan.
    """

    def __init__(self, tables: Tables, *, limit: int | None = None, figures: bool = False) -> None:
        super().__init__(tables, limit=limit)
        self._figures = figures

    def page(self, start: str | None) -> IndexPage:
        """Return the next page of all entries. May be stale."""
        only: list[Condition] = [equal("SK", CURSOR), equal("SK", JOB), Prefix("SK", TIMER_PREFIX)]
        if self._figures:
            only += [Prefix("SK", LIMITS), all_of(equal("SK", RATE), Present("closed"))]
        items, following = self._scan(start, any_of(*only), (*_READ, *_FIGURES) if self._figures else _READ)
        figures = [pair for item in items if (pair := readable(_figures, item))] if self._figures else []
        items = [item for item in items if not item["PK"]["S"].startswith("TENANT#")]
        jobs = [item for item in items if item["SK"]["S"] == JOB]
        states = {item["PK"]["S"]: _state(item) for item in jobs}
        unkeyed = {item["PK"]["S"] for item in jobs if not values.flag(item, "keyed")}
        entries = (readable(partial(_entry, states, unkeyed), item) for item in items if item["SK"]["S"] != JOB)
        completed = (readable(_completed, item) for item in jobs if states[item["PK"]["S"]] is JobState.COMPLETED)
        return IndexPage(
            entries=[each for each in entries if each is not None],
            completed=[each for each in completed if each is not None],
            following=following,
            figures=figures,
        )

    def place(self, entry: Entry, slot: str, cursor: Cursor | None = None) -> bool:
        """Move an entry to a slot. With `cursor`, also write its occurrence, and remove the entry's error if `cursor`
        has none. Return False, and write nothing, if the entry differs from the one that was read.
        """
        stand = _stand(entry)
        changes: list[Change] = [Set("slot", slot)]
        if cursor is not None:
            moved = {"due": cursor.due, "occurrence": cursor.occurrence, "tzdata": cursor.tzdata}
            changes += [Set(name, value) for name, value in moved.items() if value is not None]
            if cursor.error is None and stand.get("error") is not None:
                changes += [Remove("error"), *map(Remove, cursor_item.quarantine_mark("", ""))]
        condition = all_of(Present(), holds(stand))
        return self._tables.write(Update(Table.JOBS, key(*entry.key), tuple(changes), condition)).held

    def list_quarantined(self, entry: Entry) -> bool:
        """Add a cursor that 1.0.0 has quarantined to the `state` index. Return False, and write nothing, if it differs
        from the one that was read.
        """
        changes = changes_to(cursor_item.quarantine_mark(entry.tenant, entry.job_id))
        condition = all_of(Present("error"), holds(_stand(entry)))
        return self._tables.write(Update(Table.JOBS, key(*entry.key), changes, condition)).held

    def last_pass(self) -> RepairPass | None:
        """Return the position of the last pass; None before the first one. Strongly consistent."""
        item = self._tables.get(Table.JOBS, PASS_KEY)
        if item is None:
            return None
        tenants = _tenants(item) if "tenants" in item else None
        return RepairPass(float(item["begun_at"]["N"]), done="finished_at" in item, tenants=tenants, **_position(item))

    def save(self, position: RepairPass, *, now: float) -> bool:
        """Overwrite the position's previous version. Return False if another invocation has written it since."""
        stand: dict[str, object] = {"begun_at": position.begun_at, "finished_at": now if position.done else None}
        if position.tenants is not None and not position.done:  # then they are in the report
            stand["tenants"] = _stored(position.tenants)
        return self._save(PASS_KEY, position, stand)


class TenantReports:
    """The report of the jobs of all tenants."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def last(self) -> TenantReport | None:
        """Return the last report; None before the first one. Strongly consistent."""
        item = self._tables.get(Table.JOBS, REPORT_KEY)
        return None if item is None else TenantReport(float(item["as_of"]["N"]), _tenants(item))

    def keep(self, report: TenantReport) -> None:
        """Store the report, unless a later one is stored. Idempotent."""
        stand = {
            "as_of": report.as_of,
            "tenants": _stored(report.tenants),
            "expires_at": int(report.as_of) + FINDINGS_KEPT_SECONDS,
        }
        condition = any_of(Absent(), Compare("as_of", "<=", report.as_of))
        self._tables.write(Put(Table.JOBS, REPORT_KEY | values.pack(stand), condition))


def _stored(tenants: Mapping[str, TenantFigures]) -> str:
    return values.document({name: list(astuple(figures)) for name, figures in tenants.items()})


def _tenants(item: Item) -> dict[str, TenantFigures]:
    stored = values.parse(values.text(item, "tenants"))
    return {name: TenantFigures(*figures) for name, figures in stored.items()}


def _figures(item: Item) -> tuple[str, TenantFigures] | None:
    tenant, figures = tenant_of(item["PK"]["S"], item["SK"]["S"]), figures_of(item)
    return None if tenant is None or figures is None else (tenant, figures)


def _state(item: Item) -> JobState | None:
    """Return the state of a job, or None if this version does not know the state."""
    stored = values.optional_text(item, "state")
    return JobState(stored) if stored is not None and stored in set(JobState) else None


def _stand(entry: Entry) -> dict[str, Value | None]:
    """Return the values that an entry has as long as no other writer changes it."""
    stand: dict[str, Value | None] = {"slot": entry.slot, "due": entry.due}
    if (was := entry.cursor) is not None:
        stand |= {name: getattr(was, name) for name in ("occurrence", "after", "generation", "error")}
        stand["resume_at"] = None if was.resume is None else was.resume.at
    return stand


def _completed(item: Item) -> CompletedJob:
    tenant, job_id = owner_of(item["PK"]["S"])
    return CompletedJob(tenant, job_id, float(item["updated_at"]["N"]))


def _entry(states: Mapping[str, JobState | None], unkeyed: AbstractSet[str], item: Item) -> Entry:
    """Return the entry of an item. A cursor whose job is on another page counts as one of a job with a key."""
    partition, sort = item["PK"]["S"], item["SK"]["S"]
    tenant, job_id = owner_of(partition)
    cursor, unreadable = None, False
    if sort == CURSOR:
        try:
            cursor = cursor_item.from_item(item)
        except (KeyError, TypeError, ValueError, AttributeError):
            unreadable = True
    return Entry(
        key=(partition, sort),
        tenant=tenant,
        job_id=job_id,
        slot=values.optional_text(item, "slot"),
        due=values.optional_integer(item, "due"),
        cursor=cursor,
        unreadable=unreadable,
        state=states.get(partition),
        sent=sort.startswith(TIMER_PREFIX) and "expires_at" in item,
        keyed=sort == CURSOR and partition not in unkeyed,
        listed=sort == CURSOR and "state_key" in item,
    )
