"""Workers with a fault in their wait queue, which a search has to find."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from duecourse.domain.ids import OfRun
from duecourse.domain.jobs.job import Breaker, Job, JobSnapshot, Lane, Rate
from duecourse.domain.runs.overlap import Lock, LockRequest, Wait
from duecourse.domain.runs.states import Queued, Retrying, Run
from duecourse.domain.runs.transitions import has_turn
from duecourse.gates.breaker import BreakerGate, BreakerState
from duecourse.gates.gate import At, Pass, Starting, Write
from duecourse.gates.places import Held, LockResult, Overlaps, Places
from duecourse.gates.rate import SPENT, RateGate, Spent
from duecourse.gates.runner import AnyGate
from duecourse.messages import RunMessage
from duecourse.ports import Conflict
from duecourse.stores.runs import RunStore
from duecourse.stores.table import Remove
from duecourse.usecases.report import Report
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.effects import SideEffects
from duecourse.usecases.worker.requeue import Requeue
from duecourse.usecases.worker.wait_queue import WaitQueue
from duecourse.usecases.worker.work_item import Disposition, WorkItem
from tests.support.parts import with_parts


class CallingQueue(WaitQueue):
    """Sends a call each time that one is wanted, whether or not another one is on its way."""

    __slots__ = ()

    def received(self, message: RunMessage) -> int | None:
        return None

    def _call(self, first: Sequence[RunMessage], report: Report) -> None:
        for each in first:
            self._watched(each)
            self._send(replace(each, call=each.nonce), self.parts.clock.now())


class CallingEffects(SideEffects):
    """Calls the next run for each message of a run that waited, whether or not it removed anything from it."""

    __slots__ = ()

    def leave_wait_queue(
        self, message: RunMessage, run: Run | None, report: Report, *, waited: Queued | None = None
    ) -> None:
        self.wait_queue.leave(message, run)
        self.wait_queue.call_next(message.tenant, message.wait_queue, report)


class KeepingQueue(WaitQueue):
    """Does not remove the call that it has received."""

    __slots__ = ()

    def received(self, message: RunMessage) -> int | None:
        return None


class BlindOverlaps(Overlaps):
    """Knows a lock to be free only if there is none."""

    __slots__ = ()

    def free(self, job: Job, ended: Run | None = None) -> int:
        return int(self.runs.locked(job.tenant, job.id) is None)


class RecklessOverlaps(Overlaps):
    """Takes the lock from its holder without a look at the holder's record."""

    __slots__ = ()

    def _take(self, job: Job, wanted: Lock, asks: LockRequest, record: Run | None, before: int | None) -> LockResult:
        held = self.runs.locked(job.tenant, job.id)
        taken = self.runs.lock(job.tenant, job.id, wanted, held) is None
        return Held() if taken else Wait("another run was first")


class PlacesWithin(Overlaps):
    """Does not count the runs in places beyond the limit."""

    __slots__ = ()

    def _active(self, places: Places, held: dict[int, Lock], mine: str, record: Run | None) -> set[int]:
        within = {place: lock for place, lock in held.items() if place < places.limit}
        return super()._active(places, within, mine, record)


class EachPlace(Overlaps):
    """Counts a run as often as it has a place."""

    __slots__ = ()

    def _active(self, places: Places, held: dict[int, Lock], mine: str, record: Run | None) -> set[int]:
        one = super()._active
        return {each for place, lock in held.items() for each in one(places, {place: lock}, mine, record)}


class KeepingEffects(SideEffects):
    """Calls no run that waits for the place of a key that a run has given back."""

    __slots__ = ()

    def _give_key_back(self, item: WorkItem, run: Run, job: JobSnapshot) -> None:
        return


class LonelyStart(Overlaps):
    """Does not call the next runs once the last call has been received."""

    __slots__ = ()

    def free_beside(self, job: Job, run: Run, queue: str, limit: int | None) -> Callable[[], int] | None:
        return None


class OpenPlaces(Overlaps):
    """Takes the first place, whatever is in the others."""

    __slots__ = ()

    def _take_place(self, places: Places, wanted: Lock, record: Run | None, in_turn: OfRun | None) -> LockResult:
        held = self.runs.locks(places.tenant, places.wait_queue)
        place = next((each for each in range(places.limit) if each not in held), 0)
        taken = self.runs.lock(places.tenant, places.wait_queue, wanted, held.get(place), place=place) is None
        return Held() if taken else Wait("another run was first")


class PushyStart(Overlaps):
    """Takes a free place although it is for a run ahead in the wait queue."""

    __slots__ = ()

    def _ahead(self, places: Places, run: OfRun) -> tuple[list[str], dict[int, Lock] | None]:
        return [], None


class HastyQueue(WaitQueue):
    """Counts the free places before it removes its call."""

    __slots__ = ()

    def left(
        self,
        message: RunMessage,
        run: Run | None,
        queue: str,
        report: Report,
        *,
        free: Callable[[], int] | None,
        waited: Queued | None = None,
    ) -> None:
        counted = 0 if free is None else free()
        super().left(message, run, queue, report, free=lambda: counted, waited=waited)


class PrepaidRate(RateGate):
    """A run that has waited for its instant in turn starts without paying."""

    def enter(self, state: Spent, start: Starting[Rate]) -> Pass | At | Write[Spent]:
        if has_turn(start.continued, self.name, start.key, start.now, waited=start.waited):
            return Pass()
        return super().enter(state, start)


class UnconditionalRate(RateGate):
    """Counts a start although another worker has counted one since the counters were read."""

    def enter(self, state: Spent, start: Starting[Rate]) -> Pass | At | Write[Spent]:
        decided = super().enter(state, start)
        return replace(decided, condition=None) if isinstance(decided, Write) else decided


class AnyProbes(BreakerGate):
    """Replaces the breaker whatever it is now, so that each attempt after its end is a probe."""

    def enter(self, state: BreakerState, start: Starting[Breaker]) -> Pass | At | Write[BreakerState]:
        decided = super().enter(state, start)
        return replace(decided, condition=None) if isinstance(decided, Write) else decided


class RestartedRate(RateGate):
    """Forgets the starts before a change of the rate."""

    def enter(self, state: Spent, start: Starting[Rate]) -> Pass | At | Write[Spent]:
        decided = super().enter(state, start)
        if not isinstance(decided, Write) or len(decided.changes) < len(SPENT):
            return decided
        step = next(change for change in decided.changes if change.name == "step")
        return replace(decided, changes=(step, *(Remove(name) for name in SPENT if name != "step")))


class PlacelessRuns:
    """Does not record that a run that waits for its next attempt has a place of its key."""

    def __init__(self, of: RunStore) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        waits = isinstance(run, Retrying) and run.wait is not None
        return self._of.write(replace(run, key=None) if waits else run, previous)


class ForgetfulRequeue(Requeue):
    """Does not send the message of a run that waits for a rate."""

    __slots__ = ()

    def defer(
        self, item: WorkItem, previous: Run | None, not_before: float, reason: str, *, lane: Lane | None = None
    ) -> Disposition:
        return Disposition.ACK


def prepaying(worker: LaneWorker) -> LaneWorker:
    """An instant given to a waiting run counts as a paid start."""
    return _with_gate(worker, PrepaidRate())


def overpaying(worker: LaneWorker) -> LaneWorker:
    """Starts are paid without a condition."""
    return _with_gate(worker, UnconditionalRate())


def restarting(worker: LaneWorker) -> LaneWorker:
    """A changed rate begins anew."""
    return _with_gate(worker, RestartedRate())


def placeless(worker: LaneWorker) -> LaneWorker:
    """A run that waits for the rate before its next attempt has no place."""
    runs: Any = PlacelessRuns(worker.starter.parts.runs)
    return replace(worker, starter=with_parts(worker.starter, runs=runs))


def forgetting(worker: LaneWorker) -> LaneWorker:
    """A run that waits for a rate has no message."""
    requeue = ForgetfulRequeue(**_fields(worker.starter.requeue))
    return replace(worker, starter=replace(worker.starter, requeue=requeue))


def doubling(worker: LaneWorker) -> LaneWorker:
    """Each call of a run that has ended calls the next one twice, as in the release before 6."""
    effects = worker.effects
    return _with(
        worker, CallingEffects(**(_fields(effects) | {"wait_queue": CallingQueue(**_fields(worker.wait_queue))}))
    )


def never_received(worker: LaneWorker) -> LaneWorker:
    """The first call of a wait queue remains recorded: no other one is sent."""
    return _with(worker, replace(worker.effects, wait_queue=KeepingQueue(**_fields(worker.wait_queue))))


def blind(worker: LaneWorker) -> LaneWorker:
    """The end of a run, whose item of the lock remains, does not count as its release."""
    return _with_overlaps(worker, BlindOverlaps)


def reckless(worker: LaneWorker) -> LaneWorker:
    """Each run takes the lock."""
    return _with_overlaps(worker, RecklessOverlaps)


def within(worker: LaneWorker) -> LaneWorker:
    """Runs beyond a lowered limit do not count."""
    return _with_overlaps(worker, PlacesWithin)


def each_place(worker: LaneWorker) -> LaneWorker:
    """A run that copies of its message put into two places counts twice."""
    return _with_overlaps(worker, EachPlace)


def keeping(worker: LaneWorker) -> LaneWorker:
    """The end of a run calls no run that waits for its key."""
    return _with(worker, KeepingEffects(**_fields(worker.effects)))


def lonely(worker: LaneWorker) -> LaneWorker:
    """A start does not call the next run."""
    return _with_overlaps(worker, LonelyStart)


def as_it_is(worker: LaneWorker) -> LaneWorker:
    """No fault."""
    return worker


def releasing(worker: LaneWorker) -> LaneWorker:
    """No fault: places are released by a write, whatever the limit."""
    return _with_overlaps(worker, Overlaps, released_from=1)


def pushy(worker: LaneWorker) -> LaneWorker:
    """A start does not leave places for the runs ahead."""
    return _with_overlaps(worker, PushyStart)


def hasty(worker: LaneWorker) -> LaneWorker:
    """A start counts the free places too early."""
    return _with(worker, replace(worker.effects, wait_queue=HastyQueue(**_fields(worker.wait_queue))))


def opened(worker: LaneWorker) -> LaneWorker:
    """Each run takes a place."""
    return _with_overlaps(worker, OpenPlaces)


def probing(worker: LaneWorker) -> LaneWorker:
    """Each attempt after an open breaker becomes its probe, whoever was first."""
    return _with_gate(worker, AnyProbes())


def _with_gate(worker: LaneWorker, gate: AnyGate) -> LaneWorker:
    gates, items = worker.starter.gates, worker.starter.gates.items
    each = tuple(gate if one.name == gate.name else one for one in items.gates)
    return replace(worker, starter=replace(worker.starter, gates=replace(gates, items=replace(items, gates=each))))


def _with_overlaps(worker: LaneWorker, kind: type[Overlaps], **changes: Any) -> LaneWorker:
    overlaps = kind(**_fields(worker.starter.overlaps) | changes)
    changed = _with(worker, replace(worker.effects, overlaps=overlaps))
    gates = replace(changed.starter.gates, places=overlaps)
    return replace(changed, starter=replace(changed.starter, overlaps=overlaps, gates=gates))


def _with(worker: LaneWorker, effects: SideEffects) -> LaneWorker:
    waits, transitions = effects.wait_queue, replace(worker.transitions, effects=effects)
    starter = replace(worker.starter, transitions=transitions, wait_queue=waits)
    return replace(worker, starter=starter, transitions=transitions, effects=effects, wait_queue=waits)


def _fields(of: WaitQueue | SideEffects | Overlaps | Requeue) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__dataclass_fields__}
