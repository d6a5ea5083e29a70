"""Plans due cursors, and creates the messages of the planned firings, the writes of a claim in addition to the cursor,
and the records of skipped occurrences. Also sends the messages of timers that are due soon.

Nothing needs to happen after a claim: records of skipped occurrences are written in the claim's transaction, and a job
whose schedule has ended is completed before the claim. If the last run is still active, the claimed cursor stays in the
index as `ending` until another round has checked it: the worker that ends the last run then finds that the schedule is
over.

The messages of due timers are sent before the timers are deleted. After a crash in between, the next round repeats
both, and workers drop the repeated messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from math import ceil, floor
from typing import TYPE_CHECKING

from duecourse.domain.ids import RunIdentity
from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS, DAY_SECONDS, HOLD_SECONDS
from duecourse.domain.jobs.cursor import Cursor, Firing, Plan, SkippedRange, plan
from duecourse.domain.jobs.document import ChangeAction, changed
from duecourse.domain.jobs.job import Deadline, EventKind, Job, Lane, MissedMode, Precision
from duecourse.domain.jobs.pause import PauseChange, is_over, resume_as_planned
from duecourse.domain.runs.coverage import OccurrenceRange, left_to_resume, unrecorded
from duecourse.domain.runs.states import Run, Skipped
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import RunMessage, deadline_checks
from duecourse.ports import (
    BrokenCursor,
    Claim,
    Claimed,
    ClaimResult,
    Clock,
    Executor,
    Lanes,
    Outgoing,
    Randomness,
    Timer,
)
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_over
from duecourse.usecases.report import UNREADABLE, Report, format_error
from duecourse.usecases.run_counts import RunCounts
from duecourse.usecases.write_retry import WriteRetry
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.stores.cursors import CursorStore
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.runs import RunStore

MAX_RECORDS = 50
"""The maximum number of records of one range. Together with a job, its cursor and its tags they fit into a transaction
of 100 writes.
"""

CATCH_UP_RUNS = 60
"""How many caught-up runs of a lane a round sends to the queue for seats; the others go through the bulk queue, so that
a catch-up does not delay the runs of other tenants that are due. If each call takes a minute, as many runs of each of
16 shards occupy the 100 workers of a lane (stage prod) for a minute.
"""


@dataclass(frozen=True, slots=True)
class Skipping:
    """Creates the records of skipped occurrences. They are kept for `run_retention_days`."""

    runs: RunStore
    clock: Clock
    run_retention_days: int
    counts: RunCounts

    def records(self, cursor: Cursor, ranges: Iterable[SkippedRange]) -> tuple[Run, ...]:
        """Return the records of ranges that `cursor` passes, for the parts that have no record yet. Some occurrences
        may have been enqueued without a claim (by the API, or by a dispatcher that died) and may have run or be
        waiting. The existing records are read strongly consistently, and the write requires that the new ones do not
        exist.
        """
        return tuple(self._record(cursor, part) for skipped in ranges for part in self._parts(cursor, skipped))

    def _parts(self, cursor: Cursor, skipped: SkippedRange) -> Iterable[SkippedRange]:
        known = self.runs.between(cursor.tenant, cursor.job_id, skipped.first - 1, skipped.last, strongly=True)
        whole = OccurrenceRange(skipped.first, skipped.last, skipped.count)
        for part in unrecorded(cursor.occurrences(), whole, known, most=MAX_RECORDS):
            yield replace(skipped, first=part.first, last=part.last, count=part.count)

    def _record(self, cursor: Cursor, skipped: SkippedRange) -> Run:
        return Skipped(
            RunIdentity(
                tenant=cursor.tenant,
                job_id=cursor.job_id,
                occurrence=skipped.first,
                due=cursor.occurrences().due(skipped.first),
                generation=cursor.generation,
                count=skipped.count,
                through=skipped.last if skipped.count > 1 else None,
            ),
            lane=cursor.lane,
            reason=skipped.reason,
            fencing_token="dispatch",
            expires_at=int(self.clock.now()) + self.run_retention_days * DAY_SECONDS,
        )


MIN_GROUP = 100
"""The minimum number of cursors in a group: ten full batches of messages, four of claims."""

MAX_GROUP = 1000
"""The maximum number of cursors in a group. A DynamoDB partition has a throughput of 1,000 write units per second, so
one group per second is the full speed of a shard.
"""

GROUP_FIRINGS = 2000
"""A group ends at this number of firings, to limit memory if its cursors fire often."""


MAX_FAILED_SECONDS = 10
"""When failed reads of records have taken this long (seconds), a round stops reading records, because its other cursors
are due.
"""


@dataclass(frozen=True, slots=True)
class Planned:
    """A cursor and its plan."""

    cursor: Cursor
    plan: Plan


@dataclass(slots=True)
class GroupSize:
    """The number of cursors that are sent and claimed together. It doubles after each group without throttling.

    Cursors that were sent but not claimed are sent again by the next round. Therefore groups start small, and are
    halved when the table throttles.
    """

    cursors: int = MIN_GROUP

    def record_outcome(self, *, well: bool) -> None:
        """Adjust the size after a group was claimed."""
        self.cursors = min(2 * self.cursors, MAX_GROUP) if well else max(self.cursors // 2, MIN_GROUP)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A cursor to be quarantined, and the reason."""

    cursor: Cursor | BrokenCursor
    error: str


def report_quarantine(rejected: Rejected, report: Report, *, done: bool = True) -> None:
    """Count and log a cursor that is quarantined (`done`), or could not be."""
    report.counts["CursorsQuarantined"] += done
    match rejected.cursor:
        case Cursor(tenant=tenant, job_id=job_id):
            whose = {"tenant": tenant, "job_id": job_id}
        case BrokenCursor(key=key):
            whose = {"job_id": key[0]}
    report.add("cursor_quarantined", alarming=True, error=rejected.error, done=done, **whose)


@dataclass(frozen=True, slots=True)
class Planning:
    """Plans pages of the due index up to `horizon` seconds ahead. For `run_all` jobs that missed more than `max_missed`
    occurrences, it reads `runs`, since occurrences that ran on time were not missed. A cursor whose records cannot be
    read now is left to the next round, and is counted and listed in `report`.
    """

    clock: Clock
    horizon: int
    runs: RunStore
    report: Report
    failed: list[float] = field(default_factory=list)
    """The duration of each failed read (seconds)."""

    def groups(
        self, page: Sequence[Cursor | BrokenCursor], size: GroupSize, rejected: list[Rejected]
    ) -> Iterator[list[Planned]]:
        """Yield the groups of a page, each with the size that `size` currently has. A cursor that appears twice in the
        page is planned once. Cursors that cannot be read or planned are added to `rejected`.
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
        """Plan the cursors again that are still due by `until` after their claim."""
        left = (planned.plan.cursor for planned in won)
        plans = (self._plan(cursor, rejected) for cursor in left if cursor.due is not None and cursor.due <= until)
        return [planned for planned in plans if planned is not None]

    def _plan(self, cursor: Cursor | BrokenCursor, rejected: list[Rejected]) -> Planned | None:
        match cursor:
            case BrokenCursor():
                rejected.append(Rejected(cursor, cursor.error))
            case Cursor(error=str(error)):
                # Quarantined, and put back into the index by an older version. No claim would accept it.
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
        """Return the plan; None for a cursor that cannot be planned. Nothing is read here, so any error is caused by
        the cursor.
        """
        try:
            return plan(cursor, now=now, horizon=self.horizon, on_time=on_time)
        except (ScheduleError, ExclusionError) as problem:
            rejected.append(Rejected(cursor, str(problem)))
        except UNREADABLE as problem:
            rejected.append(Rejected(cursor, f"the cursor cannot be planned: {problem!r}"))
        return None

    def _on_time(self, cursor: Cursor, made: Plan) -> frozenset[int] | None:
        """Return the plan's missed occurrences that have their own run; None if the records cannot be read now. An
        error of the store does not mean that the cursor is broken.
        """
        first, last = made.firings[0].occurrence if made.firings else made.skipped[0].first, made.skipped[-1].last
        began = self.clock.now()
        if sum(self.failed) > MAX_FAILED_SECONDS:
            self._defer(cursor, made, "the failed reads of this round took too long")
            return None
        try:
            known = self.runs.between(cursor.tenant, cursor.job_id, first - 1, last, strongly=True)
        except Exception as problem:  # noqa: BLE001 - no error of the store may stop its shard or quarantine the cursor
            self.failed.append(self.clock.now() - began)
            self._defer(cursor, made, format_error(problem))
            return None
        return frozenset(each.occurrence for each in known if not (each.caught_up or left_to_resume(each)))

    def _defer(self, cursor: Cursor, made: Plan, error: str) -> None:
        whose = {"tenant": cursor.tenant, "job_id": cursor.job_id}
        self.report.counts["ClaimsDeferred"] += 1
        self.report.add("claim_deferred", alarming=True, reason=made.reason, error=error, **whose)


PAUSE_ENDED = "the planned end of the pause"
"""The reason in the history of a job that resumed automatically."""


def end_pause(jobs: JobStore, skipping: Skipping, job: Job, cursor: Cursor, change: PauseChange) -> bool:
    """Write the `change` of a job whose pause has reached its planned end, in one transaction with the records of the
    occurrences that the pause covered. Return False if the job or its cursor changed in the meantime.
    """
    records = skipping.records(cursor, change.skipped)
    record = changed(ChangeAction.RESUMED, job, change.job, None, PAUSE_ENDED)
    if not jobs.change(job, cursor, change.job, change.cursor, records, record):
        return False
    skipping.counts.add_skipped(records)
    return True


def settled(jobs: JobStore, skipping: Skipping, job: Job, cursor: Cursor, now: float) -> bool:
    """End the pause of a job that a request is about to change, if its planned end has passed. Return False if there is
    nothing to do; otherwise the job must be read again.
    """
    if not is_over(job, now):
        return False
    with suppress(ScheduleError, ExclusionError):  # the job stays paused until its schedule is changed
        if (change := resume_as_planned(job, cursor, now=now)) is not None:
            end_pause(jobs, skipping, job, cursor, change)
            return True
    return False


@dataclass(frozen=True, slots=True)
class Resumed:
    """The cursor of a job whose pause ends. `in_advance`: the job is still paused, and its occurrences after the end
    are sent without a claim.
    """

    cursor: Cursor
    in_advance: bool = False


@dataclass(frozen=True, slots=True)
class Claiming:
    """Creates claims from plans, and ends pauses. With `announcements`, it publishes the skipped ranges that a job's
    `events` include.
    """

    jobs: JobStore
    skipping: Skipping
    clock: Clock
    announcements: Announcements | None = None

    def is_plain(self, made: Plan) -> bool:
        """Return whether the claim of this plan only moves the cursor."""
        return not made.skipped and not self._is_over(made)

    def claim(self, planned: Planned) -> Claim:
        """Return the claim of a plan. Raises the error of a store that does not respond; nothing is written then, and
        the next round repeats it.
        """
        cursor, moved = planned.cursor, planned.plan.cursor
        records = self.skipping.records(cursor, planned.plan.skipped)
        if self._is_over(planned.plan):
            over = complete_if_over(self.jobs, self.skipping.runs, moved, at=self.clock.now(), besides=records)
            if not over and cursor.occurrence is not None:
                moved = replace(moved, ending=True, due=cursor.due)
        return Claim(cursor, moved, records)

    def resume(self, paused: Cursor) -> Resumed | None:
        """End the pause of a job at its planned end. Before that, only return what is sent in advance. None if it is
        too early for both, or if the job or its pause has changed since the index was read. Raises the errors of
        `resume_as_planned` and of the store.
        """
        # The job is read before its cursor: if the job changes in between, the write fails.
        job = self.jobs.get(paused.tenant, paused.job_id)
        cursor = self.jobs.get_cursor(paused.tenant, paused.job_id)
        if job is None or cursor is None:
            return None
        now = self.clock.now()
        change = resume_as_planned(job, cursor, now=now)
        if change is None:
            return None
        if not is_over(job, now):
            return Resumed(change.cursor, in_advance=True)
        return Resumed(change.cursor) if end_pause(self.jobs, self.skipping, job, cursor, change) else None

    def tell(self, planned: Planned, records: Sequence[Run], report: Report) -> None:
        """Count and announce the missed and skipped occurrences of a successful claim."""
        made = planned.plan
        if made.cursor.error is not None:
            report_quarantine(Rejected(planned.cursor, made.cursor.error), report)
        skipped = sum(record.count for record in records)
        missed = skipped + sum(firing.count for firing in made.firings if firing.caught_up)
        report.counts["Skipped"] += skipped
        self.skipping.counts.add_skipped(records)
        for record in records:
            self._announce(record, report)
        if missed:
            report.counts["Missed"] += missed
            cursor = made.cursor
            report.add("caught_up", tenant=cursor.tenant, job_id=cursor.job_id, missed=missed, reason=made.reason)

    def _is_over(self, made: Plan) -> bool:
        """Return whether the schedule has ended and its last occurrence may have run."""
        left = made.cursor
        if left.occurrence is not None or left.error is not None:
            return False
        return left.last is None or left.last <= self.clock.now() + CLOCKS_DIFFER_SECONDS

    def _announce(self, record: Run, report: Report) -> None:
        """Publish a skipped range. The cursor does not contain the job's `events`, so the job is read. Such ranges are
        rare.
        """
        if self.announcements is None:
            return
        job = self.jobs.get(record.tenant, record.job_id)
        if job is None or not (job.notify or set(job.events) & {EventKind.ALL, EventKind.LATE}):
            return
        try:
            self.announcements.publish(record, job, report)
        except Exception as problem:  # noqa: BLE001 - no notice may stop the round; the record is written
            report.counts["NoticesRefused"] += 1
            whose = {"tenant": job.tenant, "job_id": job.id}
            report.add("notice_refused", alarming=True, reason=format_error(problem), cause="missed", **whose)


ALIGNED_SECONDS = 0.15
"""A message that is sent within this time (seconds) after the start of a second counts as sent at its start."""

HELD_FIRINGS = 2
"""The maximum number of firings of a group that does not wait for the start of a second. Their workers hold them
instead, for less than a second each. A worker has half the memory of a dispatcher, and often holds several runs at
once, so this never costs more.
"""


def outgoing(
    cursor: Cursor,
    plan: Plan,
    *,
    now: float,
    nonce: Callable[[], str],
    correlation_id: str | None = None,
    crowded: bool = False,
    held: bool = False,
) -> list[Outgoing]:
    """Return one message per firing, each with the delay that makes it visible at its due second if it is sent at
    `now`. `correlation_id` identifies the request or round that enqueues the messages. `crowded`: caught-up runs go
    through the bulk queue. `held`: see `delay`.
    """
    over = plan.cursor.occurrence is None and plan.cursor.error is None
    final = plan.firings[-1] if plan.firings and over else None
    return [
        Outgoing(
            delay_seconds=delay(firing.due, cursor.precision, now, held=held),
            message=message(
                replace(cursor, bulk=True) if crowded and firing.caught_up else cursor,
                firing,
                now=now,
                nonce=nonce(),
                final=firing is final,
                correlation_id=correlation_id,
            ),
        )
        for firing in plan.firings
    ]


def checks_of(
    starts: Sequence[Outgoing], deadlines: Sequence[Deadline], timezone: str, *, now: float, nonce: Callable[[], str]
) -> list[Outgoing]:
    """Return the messages that check the deadlines of the runs that `starts` start."""
    checks = [check for start in starts for check in deadline_checks(start.message, deadlines, timezone, nonce)]
    return [Outgoing(check, delay(ceil(check.not_before), Precision.SECOND, now)) for check in checks]


def delay(due: int, precision: Precision, now: float, *, held: bool = False) -> int:
    """Return the delay of a message in whole seconds, rounded up so that it is not visible early.

    A message that is sent 0.3 s after the start of a second becomes visible 0.3 s after its due second. If it is
    `held`, it becomes visible 0.7 s before its due second, and its worker holds it. Messages of jobs with precision
    `exact` become visible one second earlier (up to two, if they are not sent at the start of a second), and their
    worker holds them.
    """
    match precision:
        case Precision.SECOND:
            wait = floor(due - now + ALIGNED_SECONDS) if held else ceil(due - now)
        case Precision.EXACT:
            wait = floor(due - HOLD_SECONDS - now + ALIGNED_SECONDS)
    return min(max(wait, 0), MAX_DELAY_SECONDS)


def message(
    cursor: Cursor, firing: Firing, *, now: float, nonce: str, final: bool = False, correlation_id: str | None = None
) -> RunMessage:
    """Return the message of a firing. Its first attempt may start when it is due."""
    return RunMessage(
        RunIdentity(
            tenant=cursor.tenant,
            job_id=cursor.job_id,
            occurrence=firing.occurrence,
            due=firing.due,
            generation=cursor.generation,
            count=firing.count,
            through=firing.through if firing.count > 1 else None,
            correlation_id=correlation_id,
        ),
        lane=cursor.lane,
        bulk=cursor.bulk,
        not_before=float(firing.due),
        nonce=nonce,
        caught_up_at=now if firing.caught_up else None,
        following=firing.following,
        # A range is read with the rules that created it, even if the job changes before it runs.
        rules=cursor.rules if firing.count > 1 else None,
        final=final,
    )


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """The results of a group's claims. `refused` contains the table's errors."""

    won: list[Planned]
    refused: list[tuple[Planned, str]]
    failed: str | None
    """The reason for which a claim failed, other than its condition; None if there is no such claim."""
    throttled: int
    all_sent: bool

    @property
    def well(self) -> bool:
        """Whether the lanes accepted all messages and the table throttled no request."""
        return self.all_sent and not self.throttled and self.failed is None


@dataclass(frozen=True, slots=True)
class SendAndClaim:
    """Sends the messages of a group and claims its cursors. `shards` is the shard count for claimed cursors. `executor`
    concurrently creates the claims that need reads.
    """

    cursors: CursorStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    claiming: Claiming
    executor: Executor
    shards: int
    correlation_id: str | None = None
    """The correlation id of the messages."""
    caught_up: Counter[Lane] = field(default_factory=Counter)
    """The caught-up runs that were sent to the queue for seats, by lane."""

    def __call__(
        self, group: list[Planned], retry: WriteRetry, report: Report, *, aligned: bool = True
    ) -> ClaimOutcome:
        """Send the messages, and claim the cursors whose messages were all accepted. Throttled claims are retried with
        `retry`, because their messages are already sent. Nothing else is sent until these retries end. `aligned`: wait
        for the start of the next second before sending, so that messages become visible at the start of their second,
        or let workers hold them if they are few.
        """
        sent = self.send(group, report, aligned=aligned)
        wanted = self._claims(sent, report)
        claims = retry.write_all(partial(self.cursors.claim, shards=self.shards), [claim for _, claim in wanted])
        done = _sorted(wanted, claims, all_sent=len(wanted) == len(group))
        counted = [claimed.result for claimed in claims]
        report.counts["ClaimsWon"] += len(done.won)
        report.counts["ClaimsLost"] += counted.count(ClaimResult.LOST)
        report.counts["ClaimsRefused"] += len(done.refused)
        report.counts["ClaimsFailed"] += counted.count(ClaimResult.FAILED) + counted.count(ClaimResult.BUSY)
        report.counts["StatementsThrottled"] += done.throttled
        for (planned, claim), claimed in zip(wanted, claims, strict=True):
            if claimed.result is ClaimResult.WON:
                self.claiming.tell(planned, claim.records, report)
        return done

    def send(self, group: list[Planned], report: Report, *, aligned: bool = True) -> list[Planned]:
        """Send the messages of a group without claims. Return the cursors whose messages were all accepted."""
        held = aligned and _is_held(group)
        now = self._aligned(group) if aligned and not held else self.clock.now()
        nonce, named = self.randomness.nonce, self.correlation_id
        batches = [
            outgoing(
                p.cursor, p.plan, now=now, nonce=nonce, correlation_id=named, crowded=self._is_crowded(p), held=held
            )
            for p in group
        ]
        for planned, batch in zip(group, batches, strict=True):
            if planned.cursor.deadlines:
                zone = planned.cursor.schedule.timezone
                batch.extend(checks_of(batch, planned.cursor.deadlines, zone, now=now, nonce=nonce))
        flat: list[Outgoing] = list(chain.from_iterable(batches))
        accepted = iter(self.lanes.send(flat) if flat else [])
        sent: list[Planned] = []
        for planned, batch in zip(group, batches, strict=True):
            fine = [next(accepted) for _ in batch]
            report.counts["Enqueued"] += sum(fine[: len(planned.plan.firings)])
            if all(fine):
                sent.append(planned)
            else:
                report.counts["SendsRefused"] += fine.count(False)
                whose = {"tenant": planned.cursor.tenant, "job_id": planned.cursor.job_id}
                report.add("send_refused", alarming=True, refused=fine.count(False), **whose)
        return sent

    def _is_crowded(self, planned: Planned) -> bool:
        """Return whether the queue for seats has no room for the caught-up runs of this plan in this round; otherwise
        count them.
        """
        late, lane = sum(firing.caught_up for firing in planned.plan.firings), planned.cursor.lane
        if planned.cursor.bulk or not late:
            return False
        if self.caught_up[lane] + late > CATCH_UP_RUNS:
            return True
        self.caught_up[lane] += late
        return False

    def _aligned(self, group: Iterable[Planned]) -> float:
        """Wait for the start of the next second if this makes messages visible at the start of their second. Return the
        time after the wait.
        """
        now = self.clock.now()
        waits = any(planned.plan.firings and planned.plan.firings[-1].due > now for planned in group)
        if waits and now % 1 > ALIGNED_SECONDS:
            self.clock.sleep_until(int(now) + 1)
            return self.clock.now()
        return now

    def _claims(self, sent: list[Planned], report: Report) -> list[tuple[Planned, Claim]]:
        """Return the claims of these plans. Most claims only move the cursor. A claim whose records cannot be read now
        is left to the next round.
        """
        claims: list[tuple[Planned, Claim]] = []
        others: list[Planned] = []
        for planned in sent:
            if self.claiming.is_plain(planned.plan):
                claims.append((planned, Claim(planned.cursor, planned.plan.cursor)))
            else:
                others.append(planned)
        read = self.executor.map(lambda one: self._claim(one, report.part()), others) if others else ()
        for planned, claim, part in read:
            report.merge(part)
            if claim is not None:
                claims.append((planned, claim))
        return claims

    def _claim(self, planned: Planned, report: Report) -> tuple[Planned, Claim | None, Report]:
        try:
            return planned, self.claiming.claim(planned), report
        except Exception as problem:  # noqa: BLE001 - no error of one claim may stop the others
            whose = {"tenant": planned.cursor.tenant, "job_id": planned.cursor.job_id}
            report.counts["ClaimsDeferred"] += 1
            report.add(
                "claim_deferred", alarming=True, reason=planned.plan.reason, error=format_error(problem), **whose
            )
            return planned, None, report


def _is_held(group: Iterable[Planned]) -> bool:
    """Return whether workers hold the messages of a group. The checks of deadlines are not held."""
    firings = sum(len(planned.plan.firings) for planned in group)
    return firings <= HELD_FIRINGS and not any(planned.cursor.deadlines for planned in group)


def _sorted(wanted: list[tuple[Planned, Claim]], claims: list[Claimed], *, all_sent: bool) -> ClaimOutcome:
    """Return the claims by result. A claim is lost if another dispatcher has already made it."""
    won: list[Planned] = []
    refused: list[tuple[Planned, str]] = []
    failed: str | None = None
    for (planned, claim), claimed in zip(wanted, claims, strict=True):
        match claimed.result:
            case ClaimResult.WON:
                same = claim.moved is planned.plan.cursor
                won.append(planned if same else Planned(planned.cursor, replace(planned.plan, cursor=claim.moved)))
            case ClaimResult.REFUSED:
                refused.append((planned, claimed.error or "refused"))
            case ClaimResult.FAILED | ClaimResult.BUSY:
                failed = claimed.error or "no reason given"
            case ClaimResult.LOST:
                pass
    return ClaimOutcome(won, refused, failed, sum(claimed.throttled for claimed in claims), all_sent)


OUT_OF_TIME = "out of time; the next tick continues"

GROUP_TIMERS = 100
"""The number of timers sent and cleared together: ten full batches of messages, four of deletions."""


def send_due_timers(
    timers: Sequence[Timer], store: CursorStore, lanes: Lanes, retry: WriteRetry, report: Report
) -> str | None:
    """Send and delete the timers, and retry throttled deletions. Return the reason if it stopped early: the time is up,
    or a deletion failed for a reason other than its condition. In the second case, further messages would only be sent
    again later. If the table rejects a deletion permanently, the timer is reported and every round sends it again; the
    other timers continue.
    """
    for begin in range(0, len(timers), GROUP_TIMERS):
        now = retry.clock.now()
        if now >= retry.deadline:
            return OUT_OF_TIME
        group = timers[begin : begin + GROUP_TIMERS]
        accepted = lanes.send([_outgoing(timer, retry.randomness, now) for timer in group])
        sent = [timer for timer, fine in zip(group, accepted, strict=True) if fine]
        cleared = retry.write_all(store.clear, sent)
        results = Counter(each.result for each in cleared)
        refused = [each.error for each in cleared if each.result is ClaimResult.REFUSED]
        failed = len(cleared) - len(refused) - results[ClaimResult.WON] - results[ClaimResult.LOST]
        report.counts["WakesSent"] += len(sent)
        report.counts["SendsRefused"] += len(group) - len(sent)
        report.counts["ClaimsLost"] += results[ClaimResult.LOST]
        report.counts["ClaimsRefused"] += len(refused)
        report.counts["ClaimsFailed"] += failed
        report.counts["StatementsThrottled"] += sum(each.throttled for each in cleared)
        if len(sent) < len(group):
            report.add("send_refused", alarming=True, reason="timers", refused=len(group) - len(sent))
        if refused:
            report.add("claims_refused", alarming=True, reason="timers", count=len(refused), error=refused[0])
        if failed:
            return "a timer could not be cleared"
    return None


def _outgoing(timer: Timer, randomness: Randomness, now: float) -> Outgoing:
    """Return the timer's message with a new nonce. A timer that could not be deleted is sent again. With the nonce of a
    dead run and another message id, its message would count as a redrive.
    """
    message = timer.message.again(nonce=randomness.nonce())
    return Outgoing(message, delay(timer.due, Precision.SECOND, now))
