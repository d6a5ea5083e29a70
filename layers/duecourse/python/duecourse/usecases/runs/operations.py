"""Operations: the API creates and cancels them, and workers carry them out, one page for each message.

A worker handles a page in this order: search, take tokens, send the commands, store the progress, send the message of
the next page. If it dies in between, the message is delivered again: it repeats the page, whose commands are
idempotent, or only sends the next message. A repeated page no longer finds the runs that have left the list since then,
so that they are not counted, and the limit can be exceeded by a page. If two messages handle the same page, only one of
them stores its progress and sends the next message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.operations import (
    MAX_RUNNING,
    START,
    HandledPage,
    Omission,
    Operation,
    OperationKind,
    OperationState,
    Position,
    StoredMark,
    after_page,
    counted,
    delay,
    failed,
    remembered,
    replaced,
    running,
    used_key,
)
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.tenants.rate import Charge, free
from duecourse.limits import LOST_RACES, MAX_DELAY_SECONDS
from duecourse.messages import OperationMessage
from duecourse.ports import OutgoingOperation, StateMark, StoreBusyError
from duecourse.usecases.jobs.change import RequestKey
from duecourse.usecases.jobs.job_errors import JobUnknownError, KeyReusedError
from duecourse.usecases.report import Report
from duecourse.usecases.runs.commands import ManyCommands
from duecourse.usecases.runs.lists import FoundRuns, History, RunSearch, check_known
from duecourse.usecases.runs.requests import LaneUnavailableError
from duecourse.usecases.tenants import Limits, TenantClosedError
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage

if TYPE_CHECKING:
    from duecourse.ports import Received
    from duecourse.settings import RoundSettings
    from duecourse.stores.operations import AllOperations
    from duecourse.usecases.parts import Parts

ESTIMATED_PAGES, ESTIMATED_RUNS = 20, 100
"""The maximum number of pages that an estimate reads, and of runs in each."""

ESTIMATE_SECONDS = 10.0
"""After this time an estimate returns a lower bound."""

CREATION_SECONDS = 60
"""How long a message waits for its operation, which is written after the message was sent (seconds): longer than a
request of the API can last.
"""

CREATION_PAUSE_SECONDS = 5
"""The delay in seconds with which the first message is sent, so that its operation usually exists."""

OVERDUE_SECONDS = 300
"""A page that has not started by this time (seconds) after it was due may have no message: longer than a message of the
lane is hidden.
"""

RETRY_SECONDS = 20
"""The seconds after which a message is received again if its operation is not written yet, or if a queue refused all
messages.
"""


class OperationUnknownError(Exception):
    """There is no such operation."""


class OperationQuotaError(Exception):
    """The maximum number of operations of the tenant are running."""


class OperationReplacedError(Exception):
    """The operation that was created with the caller's key (its id is the argument) has ended and was replaced."""


class OperationEndedError(Exception):
    """The operation has ended in the `state`."""

    def __init__(self, operation_id: str, state: OperationState) -> None:
        super().__init__(operation_id)
        self.state = state


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of the runs that an operation covers, and the place after it (None: there is no further run).
    `following_run`: the place after each of its runs.
    """

    runs: Sequence[Run]
    following_run: Sequence[Position]
    following: Position | None

    def after(self, count: int) -> Position | None:
        """Return the place after the first runs of the page."""
        return self.following if count >= len(self.runs) else self.following_run[count - 1]


@dataclass(frozen=True, slots=True)
class Walk:
    """Finds the runs of an operation, page by page: those of the first state, then of the next one, each newest first.

    Runs of one job that have not ended are found in its history, because the index lists only some of them. That is one
    walk for all states, from the latest occurrence.
    """

    search: RunSearch
    history: History

    def page(self, operation: Operation, at: Position, size: int, charge: Charge = free) -> FoundPage:
        """Return the next page. It may be short or empty and still have a next page. Raises JobUnknownError at the
        start if there is neither the job nor a record of its runs. `charge` is called before delayed runs are read.
        """
        where, job_id = operation.where, operation.job_id
        if job_id is not None and operation.kind is OperationKind.CANCEL:
            return self._of_job(operation, job_id, where, at, size)
        mark = None if at.mark is None else _mark(at.mark)
        wanted = RunFilter((operation.states[at.step],), where.since, where.until, where.error)
        tenant, tag = operation.tenant, operation.searched_tag
        # Only a cancellation has the state QUEUED; the delayed runs of all jobs follow the waiting ones.
        delayed = RunState.QUEUED in wanted.states
        found = self.search.page(
            tenant, wanted, limit=size, before=mark, job_id=job_id, tag=tag, delayed=delayed, charge=charge
        )
        kept = [each for each in found.found if operation.covers(each.run)]
        return FoundPage(
            [each.run for each in kept],
            [_position(at.step, each.mark) for each in kept],
            _following(at.step, found, len(operation.states)),
        )

    def _of_job(self, operation: Operation, job_id: str, where: RunFilter, at: Position, size: int) -> FoundPage:
        tag = operation.searched_tag
        page = self.history.page(operation.tenant, job_id, limit=size, before=at.before, wanted=where, tag=tag)
        runs = [run for run in page.items if operation.covers(run)]
        following = None if page.following is None else Position(before=page.following)
        return FoundPage(runs, [Position(before=run.name.local) for run in runs], following)


def _mark(stored: StoredMark) -> StateMark:
    at, run_id, state, partition, delayed = stored
    return StateMark(at, run_id, RunState(state), partition, delayed)


def _position(step: int, mark: StateMark) -> Position:
    return Position(step, mark=(mark.at, mark.run_id, mark.state.value, mark.partition, mark.delayed))


def _following(step: int, found: FoundRuns, steps: int) -> Position | None:
    if found.following is not None:
        return _position(step, found.following)
    return Position(step + 1) if step + 1 < steps else None


def _searched_to(position: Position | None) -> float | None:
    return None if position is None or position.mark is None else position.mark[0]


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many runs an operation would handle now, and how many it would skip, by reason. `more`: there may be further
    runs, because the search is bounded.
    """

    runs: int
    skipped: dict[Omission, int]
    more: bool


@dataclass(frozen=True, slots=True)
class Operations:
    """Creates, lists and cancels the operations of tenants."""

    parts: Parts[RoundSettings]
    walk: Walk
    commands: ManyCommands

    def draft(
        self,
        tenant: str,
        kind: OperationKind,
        *,
        by: str,
        tags: frozenset[str] | None,
        request: RequestKey | None,
        **chosen: Any,
    ) -> Operation:
        """Return a new operation, which is not stored yet. `chosen` has the fields of its filter, its pace and its
        limit.
        """
        return Operation(
            tenant,
            f"op-{self.parts.randomness.nonce()}",
            kind,
            now := self.parts.clock.now(),
            by,
            tags=tags,
            request=None if request is None else f"{request.digest} {request.request}",
            updated_at=now,
            continues_at=now,
            **chosen,
        )

    def estimate(self, wanted: Operation, charge: Charge = free) -> Estimate:
        """Count the runs that the operation would handle, up to a bound. `charge` counts the pages. Raises
        JobUnknownError.
        """
        clock = self.parts.clock
        until, at = clock.now() + ESTIMATE_SECONDS, START
        runs, skipped = 0, Counter[Omission]()
        for number in range(ESTIMATED_PAGES):
            if number:
                charge(2)
            found = self.walk.page(wanted, at, ESTIMATED_RUNS, charge)
            counts = self.commands.send_many(wanted.kind, found.runs, dry_run=True, tags=wanted.tags)
            runs, skipped = runs + counts.sent, skipped + Counter(counts.skipped)
            following = found.after(counts.done)
            if wanted.limit is not None and runs >= wanted.limit:
                return Estimate(wanted.limit, dict(skipped), more=False)
            if following is None:
                return Estimate(runs, dict(skipped), more=False)
            if clock.now() > until:
                break
            at = following
        return Estimate(runs, dict(skipped), more=True)

    def create(self, wanted: Operation) -> Operation:
        """Create the operation and return it. A repeated request returns the operation of the first one. The message
        is sent first, so that an operation that exists always has one. It is dropped if the operation is not created.

        Raises OperationQuotaError, OperationReplacedError, JobUnknownError, KeyReusedError, LaneUnavailableError or
        StoreBusyError; nothing is done then.
        """
        store, sent = self.parts.jobs.operations, False
        for _ in range(LOST_RACES):
            now, standing = self.parts.clock.now(), store.all(wanted.tenant)
            if (first := _repeated(wanted, standing, now)) is not None:
                return first
            if len(running(standing.items, now)) >= MAX_RUNNING:
                raise OperationQuotaError
            if not sent:
                if (job_id := wanted.job_id) is not None:
                    check_known(self.parts.runs, wanted.tenant, job_id, self.parts.jobs.get(wanted.tenant, job_id))
                self._send_first(wanted)
                sent = True
            gone = replaced(standing.items, now)
            used = remembered(standing.used, gone, now) if gone is not None and gone.key else None
            if store.create(wanted, standing.version, gone, used):
                return wanted
        raise StoreBusyError("the operations")

    def _send_first(self, wanted: Operation) -> None:
        nonce, now = self.parts.randomness.nonce(), self.parts.clock.now()
        message = OperationMessage(wanted.tenant, wanted.id, wanted.page, now, nonce)
        if not self.parts.lanes.send([OutgoingOperation(message, CREATION_PAUSE_SECONDS)])[0]:
            raise LaneUnavailableError(wanted.id)

    def get(self, tenant: str, operation_id: str) -> Operation:
        """Return the operation. Raises OperationUnknownError."""
        found = self.parts.jobs.operations.get(tenant, operation_id)
        if found is None or found.expires_at <= self.parts.clock.now():
            raise OperationUnknownError(operation_id)
        return found

    def all(self, tenant: str) -> Sequence[Operation]:
        """Return the tenant's operations, newest first."""
        found, now = self.parts.jobs.operations.all(tenant).items, self.parts.clock.now()
        kept = [each for each in found if each.expires_at > now]
        return sorted(kept, key=lambda each: (-each.created_at, each.id))

    def cancel(self, operation: Operation) -> Operation:
        """Cancel the operation: no further page starts. Return it as it is now. Idempotent. Raises OperationEndedError
        or OperationUnknownError.
        """
        found: Operation | None = operation
        if operation.state is OperationState.RUNNING:
            found = self.parts.jobs.operations.cancel(operation, now=self.parts.clock.now())
        if found is None:
            raise OperationUnknownError(operation.id)
        if found.state is not OperationState.CANCELLED:
            raise OperationEndedError(found.id, found.state)
        return found


@dataclass(frozen=True, slots=True)
class CarryOn:
    """Handles the messages of operations. A page takes a token of the tenant, and each command another one, as they
    would if the tenant sent them. If there are none, the page waits.
    """

    parts: Parts[RoundSettings]
    walk: Walk
    commands: ManyCommands
    limits: Limits
    received: Received

    def __call__(self, message: OperationMessage, received: ReceivedMessage, report: Report) -> Disposition:
        """Handle a message. Any exception leaves it in its queue."""
        now = self.parts.clock.now()
        operation = self.parts.jobs.operations.get(message.tenant, message.operation)
        if operation is None:
            if now < message.sent_at + CREATION_SECONDS:
                return self._later(received, report, "its operation is not written yet")
            return _drop(report, "its operation was not created, or was deleted")
        if not operation.is_running(now):
            return _drop(report, "the operation has ended")
        if message.page == operation.page:
            return self._handle(operation, message, received, report)
        repeated = received.receive_count > 1 or now > operation.continues_at + OVERDUE_SECONDS
        if message.page == operation.page - 1 and repeated:
            # A worker stored this page, and may have died before it sent the next message. A message that was redriven
            # from the dead-letter queue has a new count.
            return self._send(operation, received, report)
        return _drop(report, "another message has handled the page")

    def _handle(
        self, operation: Operation, message: OperationMessage, received: ReceivedMessage, report: Report
    ) -> Disposition:
        began, rules = self.parts.clock.now(), self.limits.rules
        try:
            found = self.walk.page(operation, operation.position, operation.page_size(rules))
        except JobUnknownError:
            found = FoundPage((), (), None)  # it was deleted, and its records have expired
        try:
            wait = self.limits.charge(operation.tenant, 1 + len(found.runs))
        except TenantClosedError as error:
            return self._end(operation, failed(operation, f"the tenant is {error.closed.state}", now=began), report)
        if wait is not None:
            return self._wait(operation, message, ceil(wait), received, report)
        try:
            sent = self.commands.send_many(
                operation.kind,
                found.runs,
                by=operation.created_by,
                tags=operation.tags,
                operation=operation.id,
                note=operation.note,
            )
        except LaneUnavailableError:
            return self._later(received, report, "the queues accept no messages")
        following = found.after(sent.done)
        handled = HandledPage(sent.sent, sent.refused, sent.skipped, following, _searched_to(following))
        now, writer = self.parts.clock.now(), f"{received.request_id}/{message.nonce}"
        after = after_page(operation, handled, began=began, now=now, rules=rules, writer=writer)
        report.counts["SendsRefused"] += sent.refused
        report.add(
            "operation_page_handled",
            kind=operation.kind,
            sent=sent.sent,
            refused=sent.refused,
            skipped=dict(sent.skipped),
        )
        if after.state is not OperationState.RUNNING:
            return self._end(operation, after, report)
        standing = self.parts.jobs.operations.handle(operation, after)
        return (
            self._send(after, received, report) if standing is None else self._lost(operation, after, standing, report)
        )

    def _end(self, before: Operation, after: Operation, report: Report) -> Disposition:
        standing = self.parts.jobs.operations.handle(before, after)
        if standing is not None:
            return self._lost(before, after, standing, report)
        report.add("operation_ended", state=after.state, reason=after.reason, done=after.done)
        return Disposition.ACK

    def _lost(self, before: Operation, after: Operation, standing: Operation, report: Report) -> Disposition:
        """Add the counts of the page to an operation that was cancelled in the meantime. Otherwise another message has
        handled the same page.
        """
        if standing.page == before.page and after.page > before.page:
            self.parts.jobs.operations.handle(standing, counted(standing, after))
        return _drop(report, "the operation was cancelled, or another message has handled the page")

    def _send(self, operation: Operation, received: ReceivedMessage, report: Report) -> Disposition:
        """Send the message of the next page."""
        now, nonce = self.parts.clock.now(), self.parts.randomness.nonce()
        following = OperationMessage(operation.tenant, operation.id, operation.page, now, nonce)
        wait = delay(operation, now, MAX_DELAY_SECONDS)
        return self._sent(OutgoingOperation(following, wait), received, report)

    def _wait(
        self, operation: Operation, message: OperationMessage, seconds: int, received: ReceivedMessage, report: Report
    ) -> Disposition:
        """Send a copy of the message, because a wait is no failed delivery. Record the wait, because the operation has
        not stalled.
        """
        report.add("operation_delayed", seconds=seconds)
        waiting = replace(operation, continues_at=self.parts.clock.now() + seconds)
        if self.parts.jobs.operations.handle(operation, waiting) is not None:
            return _drop(report, "the operation was cancelled, or another message has handled the page")
        copy = message.again(nonce=self.parts.randomness.nonce())
        return self._sent(OutgoingOperation(copy, min(seconds, MAX_DELAY_SECONDS)), received, report)

    def _sent(self, outgoing: OutgoingOperation, received: ReceivedMessage, report: Report) -> Disposition:
        if self.parts.lanes.send([outgoing])[0]:
            return Disposition.ACK
        return self._later(received, report, "the queue does not accept the next message")

    def _later(self, received: ReceivedMessage, report: Report, reason: str) -> Disposition:
        report.add("message_left", until=self.parts.clock.now() + RETRY_SECONDS, reason=reason)
        self.received.postpone(received.receipt, RETRY_SECONDS)
        return Disposition.RETAIN


def _repeated(wanted: Operation, standing: AllOperations, now: float) -> Operation | None:
    """Return the operation that an earlier request with the same key created. Raises KeyReusedError if it was another
    request, or OperationReplacedError.
    """
    if not wanted.key:
        return None
    first = next((each for each in standing.items if each.key == wanted.key), None)
    if first is not None and first.request != wanted.request:
        raise KeyReusedError
    gone, until = standing.used.get(used_key(wanted), ("", 0))
    if first is None and until > now:
        raise OperationReplacedError(gone)
    return first


def _drop(report: Report, reason: str) -> Disposition:
    report.add("message_dropped", reason=reason, asked="operation")
    return Disposition.ACK
