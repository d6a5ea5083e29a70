"""Operations: redrives, discards and cancellations of many runs, which continue without their caller.

An operation walks once over the runs that its filter selects, newest first, in pages. It covers the runs as they were
at its creation: a run that dies again after its redrive is not redriven again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.tenants.rate import BucketRules

MAX_RUNNING = 5
"""The maximum number of operations of a tenant that run at the same time."""

MAX_KEPT = 20
"""The number of ended operations of a tenant from which on a new operation replaces the oldest one."""

MAX_REMEMBERED = 1000
"""The maximum number of replaced operations whose idempotency keys are remembered."""

LASTS_SECONDS = DAY_SECONDS
"""How long an operation may run, in seconds. It then no longer counts as running, and the rest is not handled."""

SHOWN_SECONDS = 2 * DAY_SECONDS
"""How long an operation is kept after its creation, in seconds."""

STALLED_SECONDS = 15 * 60
"""An operation whose next page is overdue by this time (seconds) has stalled: its message is in the dead-letter queue,
or will move there.
"""

PAGE_RUNS = 100
"""The maximum number of runs of a page: a worker sends their messages within some seconds."""

PAGE_SECONDS = 5
"""The time that a page takes at the pace of its operation, in seconds, if the pace is not slower than one run in this
time. The progress is stored after each page.
"""

MAX_PER_MINUTE = 60_000
"""The maximum pace, in runs per minute."""

INSTANT_SECONDS = 0.001
"""The precision of the times at which runs die."""

OPERATION_ID = "[A-Za-z0-9_-]{1,64}"
"""The pattern of an operation's id."""


class OperationKind(StrEnum):
    """What an operation does with each run."""

    REDRIVE = "redrive"
    CANCEL = "cancel"
    DISCARD = "discard"


CANCELLED_IN_ORDER = (RunState.QUEUED, RunState.RETRYING, RunState.WAITING, RunState.RUNNING)
"""The order in which runs are cancelled: waiting runs first, so that none of them starts because an active run ended.
"""

STATES: Mapping[OperationKind, tuple[RunState, ...]] = {
    OperationKind.REDRIVE: (RunState.DEAD,),
    OperationKind.CANCEL: CANCELLED_IN_ORDER,
    OperationKind.DISCARD: (RunState.DEAD,),
}
"""The states of the runs that an operation can handle, in the order in which it handles them."""


class OperationState(StrEnum):
    """The states of an operation. All but RUNNING are final, except that an operation that has stalled is shown as
    FAILED, and continues if its message is processed after all.
    """

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class Omission(StrEnum):
    """Why a command was not sent to a run."""

    JOB_DELETED = "job_deleted"
    JOB_UNREADABLE = "job_unreadable"
    NOTHING_TO_REDRIVE = "nothing_to_redrive"
    NOT_DEAD = "not_dead"
    OUT_OF_SCOPE = "out_of_scope"


StoredMark = tuple[float, str, str, int, bool]
"""The fields of a StateMark, as an operation's item has them."""


@dataclass(frozen=True, slots=True)
class Position:
    """The place after the last handled run. `step` is the index of the state in the order of the operation. For runs
    of one job in order of their names, `before` is the local name of the last run. Otherwise, `mark` is the time at
    which that run entered its state, its id, its state, the number of its partition, and whether it is a delayed run.
    """

    step: int = 0
    before: str | None = None
    mark: StoredMark | None = None


START = Position()


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a tenant. Instants are UTC seconds.

    `note` is that of a discard. `expected` is the number of runs that the creator expects, for example from an
    estimate; it is only shown. `tags` are the tags to which the creator's scopes were limited (None: not limited).
    `request` identifies the request that created it, if it had an idempotency key. `page` is the number of pages that
    were handled, and `position` the place where the next one starts. `done`: the number of runs to which the command
    was sent. `refused`: the number of runs whose lane did not accept it. `skipped`: the number of other runs, by
    reason. `searched_to`: the time (of the list) down to which the runs were handled. The next page starts at
    `continues_at`. `writer` identifies the last writer of a page.
    """

    tenant: str
    id: str
    kind: OperationKind
    created_at: float
    created_by: str
    job_id: str | None = None
    tag: str | None = None
    states: tuple[RunState, ...] = ()
    error: str | None = None
    since: int | None = None
    until: int | None = None
    per_minute: int | None = None
    limit: int | None = None
    expected: int | None = None
    note: str | None = None
    tags: frozenset[str] | None = None
    request: str | None = None
    state: OperationState = OperationState.RUNNING
    reason: str | None = None
    page: int = 0
    position: Position = START
    done: int = 0
    refused: int = 0
    skipped: Mapping[Omission, int] = field(default_factory=dict)
    searched_to: float | None = None
    updated_at: float = 0.0
    continues_at: float = 0.0
    ended_at: float | None = None
    writer: str | None = None

    @property
    def ends_by(self) -> int:
        """When the operation ends, even if it is not complete (UTC seconds)."""
        return int(self.created_at) + LASTS_SECONDS

    @property
    def expires_at(self) -> int:
        """When the operation is deleted (UTC seconds)."""
        return int(self.created_at) + SHOWN_SECONDS

    @property
    def key(self) -> str:
        """The digest of the idempotency key; empty without a key."""
        return (self.request or "").partition(" ")[0]

    @property
    def handled(self) -> int:
        """The number of runs that count towards `limit`."""
        return self.done + self.refused

    @property
    def searched_tag(self) -> str | None:
        """The tag by which runs are searched: that of the filter, or the only tag of the creator's scopes."""
        if self.tag is not None or self.tags is None or len(self.tags) != 1:
            return self.tag
        (tag,) = self.tags
        return tag

    @property
    def where(self) -> RunFilter:
        """The filter for runs. Runs that died after the operation was created are neither redriven nor discarded."""
        until: float | None = self.until
        if self.kind is not OperationKind.CANCEL:
            now = self.created_at + INSTANT_SECONDS  # with the runs that died at that moment
            until = now if until is None else min(until, now)
        return RunFilter(self.states, self.since, until, self.error)

    def covers(self, run: Run) -> bool:
        """Return whether a run of the filter was to be handled when the operation was created. Runs that came due since
        then are not cancelled, unless they have not started: the walk passes each of these only once.
        """
        if self.kind is not OperationKind.CANCEL or run.state is RunState.QUEUED:
            return True
        return run.due <= self.created_at

    def is_running(self, now: float) -> bool:
        """Return whether the operation has not ended."""
        return self.state is OperationState.RUNNING and now < self.ends_by

    def shown_state(self, now: float) -> tuple[OperationState, str | None]:
        """Return the state at `now`, and the reason for it."""
        if self.state is not OperationState.RUNNING:
            return self.state, self.reason
        if now >= self.ends_by:
            hours = LASTS_SECONDS // 3600
            return OperationState.FAILED, f"it was not complete after {hours} hours; create another operation"
        if now > self.continues_at + STALLED_SECONDS:
            since = to_iso(int(self.continues_at))
            remedy = "its message is in the dead-letter queue or repeatedly fails; cancel it, or ask the operator"
            return OperationState.FAILED, f"it has not continued since {since}: {remedy}"
        return self.state, None

    def pace(self, rules: BucketRules) -> float:
        """Return the pace in runs per second. By default, it is half the tenant's request rate, so that the other half
        remains for requests.
        """
        return rules.rate / 2 if self.per_minute is None else self.per_minute / 60

    def page_size(self, rules: BucketRules) -> int:
        """Return the maximum number of runs of the next page. It does not use up the tenant's burst."""
        size = max(1, min(PAGE_RUNS, int(self.pace(rules) * PAGE_SECONDS), rules.burst // 2))
        return size if self.limit is None else max(1, min(size, self.limit - self.handled))


def running(operations: Iterable[Operation], now: float) -> list[Operation]:
    """Return the operations that count towards MAX_RUNNING."""
    return [each for each in operations if each.is_running(now)]


def replaced(operations: Sequence[Operation], now: float) -> Operation | None:
    """Return the ended operation that a new one replaces; None if there is room."""
    ended = [each for each in operations if not each.is_running(now)]
    return min(ended, key=lambda each: each.created_at) if len(ended) >= MAX_KEPT else None


UsedKeys = Mapping[str, tuple[str, int]]
"""The idempotency keys of replaced operations (the first characters of their digests), each with the operation's id and
the time (UTC seconds) until which it is remembered, oldest first.
"""


def used_key(operation: Operation) -> str:
    """Return the operation's key in UsedKeys."""
    return operation.key[:16]


def remembered(used: UsedKeys, gone: Operation, now: float) -> UsedKeys:
    """Return the keys that remain in use, with that of the replaced operation `gone`."""
    kept = [(key, of) for key, of in used.items() if of[1] > now]
    return dict([*kept, (used_key(gone), (gone.id, gone.expires_at))][-MAX_REMEMBERED:])


@dataclass(frozen=True, slots=True)
class HandledPage:
    """The result of a page: the number of runs to which the command was sent, that their lane refused, and that were
    skipped, and the place where the next page starts (None: there is none). `searched_to`: as in Operation.
    """

    done: int
    refused: int
    skipped: Mapping[Omission, int]
    following: Position | None
    searched_to: float | None


def after_page(
    before: Operation, handled: HandledPage, *, began: float, now: float, rules: BucketRules, writer: str
) -> Operation:
    """Return the operation after a page that began at `began`. The next page is due when the commands of this one have
    taken their time at the operation's pace.
    """
    sent = handled.done + handled.refused
    after = replace(
        before,
        page=before.page + 1,
        done=before.done + handled.done,
        refused=before.refused + handled.refused,
        skipped=dict(Counter(before.skipped) + Counter(handled.skipped)),
        searched_to=before.searched_to if handled.searched_to is None else handled.searched_to,
        updated_at=now,
        continues_at=max(now, began + sent / before.pace(rules)),
        writer=writer,
    )
    complete = handled.following is None or (after.limit is not None and after.handled >= after.limit)
    if complete or handled.following is None:
        return replace(after, state=OperationState.SUCCEEDED, ended_at=now)
    return replace(after, position=handled.following)


def failed(before: Operation, reason: str, *, now: float) -> Operation:
    """Return the operation that ends because of an error."""
    return replace(before, state=OperationState.FAILED, reason=reason, updated_at=now, ended_at=now)


def counted(found: Operation, after: Operation) -> Operation:
    """Return an operation that was cancelled while a page was handled (`found`), with the counts of that page."""
    at = max(found.updated_at, after.updated_at)
    return replace(after, state=found.state, reason=found.reason, ended_at=found.ended_at, updated_at=at)


def delay(operation: Operation, now: float, most: int) -> int:
    """Return the whole seconds until the next page starts, at most `most`."""
    return min(max(ceil(operation.continues_at - now), 0), most)
