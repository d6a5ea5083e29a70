"""A world with an audit, whose jobs are edited as by the API."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from duecourse.domain.jobs.job import Lane
from duecourse.domain.maintenance.audit import Turn
from duecourse.ports import Claim, ClaimResult, Depth
from duecourse.stores import maintenance
from duecourse.stores.maintenance import AuditStore
from duecourse.usecases.maintenance.audit import Audit
from duecourse.usecases.report import Report
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.wheel import Wheel
from tests.support.world import World

HOUR = 3600
EMPTY = Depth(0, 0, 0)


@dataclass
class WheelDepths:
    """Implementation of ports.Depths: the set depth for every lane that is not `full`; None: the messages
    in the wheel.
    """

    wheel: Wheel
    fixed: Depth | None = EMPTY
    full: set[Lane] = field(default_factory=set)

    def depth(self, lane: Lane) -> Depth | None:
        if lane in self.full:
            return Depth(3, 0, 0)
        return self.fixed or Depth(len(self.wheel), 0, 0)


class AuditedWorld(World):
    """A world whose first audit begins at NOON."""

    def __init__(self, tables: Tables, *, limit: int | None = None) -> None:
        super().__init__(tables)
        self.audits: AuditStore = maintenance.AuditStore(tables.both(), limit=limit)
        self.depths = WheelDepths(self.wheel)
        assert self.audits.save(Turn(0, 1, int(NOON) - HOUR, int(NOON), done=True), now=NOON)

    def auditor(self, segments: int = 1) -> Audit:
        parts: Any = self.wiring()
        parts.audit_store, parts.depths = self.audits, self.depths
        days = {"lookahead_seconds": 300, "horizon_seconds": 840, "run_retention_days": 90}
        parts.settings = SimpleNamespace(**days, audit_segments=segments)
        audit: Audit = parts.audit
        return audit

    def audit(self, *, hour: int | None = None, segments: int = 1, seconds: float = 600) -> Report:
        """Run the audit of the hour that begins this many hours after NOON, or the current one. It has `seconds`."""
        if hour is not None:
            self.clock.set(NOON + hour * HOUR + 60)
        report = self.auditor(segments)(self.clock.now() + seconds)
        self.reports.append(report)
        return report

    def lose(self, job_id: str, second: int) -> None:
        """Delete the record of the occurrence at that second after NOON."""
        record = next(run for run in self.runs(job_id) if run.occurrence == int(NOON) + second)
        key = {"PK": {"S": f"JOB#default#{job_id}"}, "SK": {"S": f"RUN#{record.name.local}"}}
        self.tables.client.delete_item(TableName=self.tables.runs, Key=key)

    def findings(self, kind: str) -> list[tuple[str, int, int, int]]:
        """Return job, first and last occurrence (seconds after NOON) and count of the findings of a kind."""
        pages = self.tables.client.get_paginator("scan").paginate(TableName=self.tables.jobs)
        items = [item for page in pages for item in page["Items"] if item["PK"]["S"].startswith("AUDIT#")]
        found = [item for item in items if item.get("kind") == {"S": kind}]
        seconds = [tuple(int(item[name]["N"]) - int(NOON) for name in ("first", "last")) for item in found]
        return sorted(
            (item["job_id"]["S"], first, last, int(item["count"]["N"]))
            for item, (first, last) in zip(found, seconds, strict=True)
        )

    def moved_past(self, job_id: str, second: int) -> None:
        """Make a claim that sends nothing: it moves the cursor to that second after NOON."""
        standing = self.jobs.get_cursor("default", job_id)
        assert standing is not None
        at = int(NOON) + second
        moved = replace(standing, occurrence=at, due=standing.occurrences().due(at), after=at - 1)
        (claimed,) = self.cursors.claim([Claim(standing, moved)], 1)
        assert claimed.result is ClaimResult.WON
