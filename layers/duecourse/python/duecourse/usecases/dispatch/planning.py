"""Plans of cursors, in groups that are sent and claimed together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.plan import Plan, plan
from duecourse.domain.jobs.policies import MissedMode
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.ports import BrokenCursor, Clock, RunStore
from duecourse.usecases.report import Report, in_words
from duecourse.usecases.unreadable import UNREADABLE

MIN_GROUP = 100
"""Cursors: ten full batches of messages, four of claims."""

MAX_GROUP = 1000
"""The throughput of a DynamoDB partition (1,000 write units a second), so one group a second is a shard's full
speed."""

GROUP_FIRINGS = 2000
"""A group ends earlier when its cursors fire often, so that memory stays flat."""


MAX_FAILED_SECONDS = 10
"""After reads of records that failed have taken this long, a round reads no more of them: its other cursors are due."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A cursor and its plan."""

    cursor: Cursor
    plan: Plan


@dataclass(slots=True)
class GroupSize:
    """How many cursors are sent and claimed together: few at first, twice as many after each group without throttling.

    Cursors that were sent and not claimed are sent again by the next round. So groups start small, and are halved when
    the table throttles.
    """

    cursors: int = MIN_GROUP

    def went(self, *, well: bool) -> None:
        """Adjust the size after a group."""
        self.cursors = min(2 * self.cursors, MAX_GROUP) if well else max(self.cursors // 2, MIN_GROUP)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A cursor that is to be quarantined, and why."""

    cursor: Cursor | BrokenCursor
    error: str


@dataclass(frozen=True, slots=True)
class Planning:
    """Plans pages of the due index up to `horizon` seconds ahead. `runs` are read for `run_all` jobs that missed more
    than `max_missed`: occurrences that ran on time were not missed. A cursor whose records cannot be read now is left
    to the next round: `report` counts and names it.
    """

    clock: Clock
    horizon: int
    runs: RunStore
    report: Report
    failed: list[float] = field(default_factory=list)
    """How long each read took that failed (s)."""

    def groups(
        self, page: Sequence[Cursor | BrokenCursor], size: GroupSize, rejected: list[Rejected]
    ) -> Iterator[list[Planned]]:
        """The groups of a page, each of the size that `size` has by then; a cursor that the page has twice is planned
        once. Cursors that cannot be read or planned are added to `rejected`.
        """
        group: list[Planned] = []
        firings = 0
        known: set[tuple[str, str]] = set()
        for cursor in page:
            planned = self._plan(cursor, rejected)
            if planned is None or (key := (planned.cursor.tenant, planned.cursor.job_id)) in known:
                continue
            known.add(key)
            group.append(planned)
            firings += len(planned.plan.firings)
            if len(group) >= size.cursors or firings >= GROUP_FIRINGS:
                yield group
                group, firings = [], 0
        if group:
            yield group

    def again(self, won: Sequence[Planned], until: float, rejected: list[Rejected]) -> list[Planned]:
        """The cursors that are still due by `until` after their claim, planned again."""
        left = (planned.plan.cursor for planned in won)
        plans = (self._plan(cursor, rejected) for cursor in left if cursor.due is not None and cursor.due <= until)
        return [planned for planned in plans if planned is not None]

    def _plan(self, cursor: Cursor | BrokenCursor, rejected: list[Rejected]) -> Planned | None:
        match cursor:
            case BrokenCursor():
                rejected.append(Rejected(cursor, cursor.error))
            case Cursor(error=str(error)):
                # Quarantined, and put back into the index by an older version: no claim would take it.
                rejected.append(Rejected(cursor, error))
            case Cursor():
                now = self.clock.now()
                made = self._made(cursor, now, rejected)
                if made is None or cursor.missed.mode is not MissedMode.RUN_ALL or not made.skipped:
                    return None if made is None else Planned(cursor, made)
                on_time = self._on_time(cursor, made)
                anew = self._made(cursor, now, rejected, on_time) if on_time else made
                return None if on_time is None or anew is None else Planned(cursor, anew)
        return None

    def _made(self, cursor: Cursor, now: float, rejected: list[Rejected], on_time: Collection[int] = ()) -> Plan | None:
        """The plan; None for a cursor that cannot be planned. Nothing is read here, so each error is the cursor's."""
        try:
            return plan(cursor, now=now, horizon=self.horizon, on_time=on_time)
        except (ScheduleError, ExclusionError) as problem:
            rejected.append(Rejected(cursor, str(problem)))
        except UNREADABLE as problem:
            rejected.append(Rejected(cursor, f"the cursor cannot be planned: {problem!r}"))
        return None

    def _on_time(self, cursor: Cursor, made: Plan) -> frozenset[int] | None:
        """The missed occurrences of a plan that have a run of their own; None if the records cannot be read now. An
        error of the store says nothing about the cursor.
        """
        first, last = made.firings[0].occurrence if made.firings else made.skipped[0].first, made.skipped[-1].last
        began = self.clock.now()
        if sum(self.failed) > MAX_FAILED_SECONDS:
            self._defer(cursor, made, "reads of this round that failed have taken too long")
            return None
        try:
            known = self.runs.between(cursor.tenant, cursor.job_id, first - 1, last, strongly=True)
        except Exception as problem:  # noqa: BLE001 - no error of the store may stop its shard or quarantine the cursor
            self.failed.append(self.clock.now() - began)
            self._defer(cursor, made, in_words(problem))
            return None
        return frozenset(record.occurrence for record in known if not record.caught_up)

    def _defer(self, cursor: Cursor, made: Plan, error: str) -> None:
        whose = {"tenant": cursor.tenant, "job_id": cursor.job_id}
        self.report.counts["ClaimsDeferred"] += 1
        self.report.add("claim_deferred", alarming=True, reason=made.reason, error=error, **whose)
