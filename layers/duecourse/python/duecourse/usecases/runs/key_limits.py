"""Stored limits of concurrency keys, and the runs that have a place of a key or wait for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.ids import key_queue
from duecourse.domain.jobs.job import SharedLimit
from duecourse.domain.runs.overlap import PAUSE_PLACE, KeyLimit, Lock, limit_values
from duecourse.domain.runs.states import Queued, Retrying, Run, RunState
from duecourse.gates.gate import SPREAD_SECONDS, KeyBusyError, share_of
from duecourse.gates.places import MAX_TAKE_OVERS, Overlaps
from duecourse.gates.runner import GateItems
from duecourse.limits import LOST_RACES
from duecourse.messages import RunMessage
from duecourse.ports import StoreBusyError
from duecourse.usecases.jobs.job_errors import ANYTHING, Precondition
from duecourse.usecases.report import Report
from duecourse.usecases.worker.wait_queue import WaitQueue

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts

KIND = "limit"

MAX_SHOWN = 100
"""The maximum number of waiting runs that are shown."""

MAX_COUNTED = 1000
"""The maximum number of waiting runs that are counted."""

MAX_WAITING_READ = 200
"""The maximum number of queued runs of all keys, and of retrying runs, that a list reads, the newest first."""


class KeyUnknownError(Exception):
    """The key has no stored limit, and none of its runs is active or waits."""


class NoStoredLimitError(Exception):
    """The key has no stored limit."""


class NoPlaceError(Exception):
    """The run has no place of the key."""


class PlaceTakenAgainError(Exception):
    """Each time the place of the run was released, the run took it again."""


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """A key: its stored limit (None: the limits of its jobs apply), the runs that have its places, by name (None: the
    run is about to start), the number of runs that wait for a place (at most MAX_COUNTED), and the first of them.
    `at_gates` has the runs that a gate makes wait, by its name, in the order of their instants, among the newest
    MAX_WAITING_READ in each state. No run starts before `paused_until` (UTC seconds; None: no pause). `shown` has the
    fields of the document of the key about the states of gates; `quiet`: these states show nothing that matters.
    `complete`: no run was too old for `at_gates`.
    """

    key: str
    stored: KeyLimit | None
    active: Mapping[str, Run | None]
    waiting: int
    first: Sequence[RunMessage]
    at_gates: Mapping[str, Sequence[Queued | Retrying]]
    paused_until: float | None
    shown: Mapping[str, object]
    quiet: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key in a list, with the numbers of the runs that wait for a place, and for each gate by its name, among the
    newest MAX_WAITING_READ runs in each state.
    """

    key: str
    stored: KeyLimit | None
    waiting: int
    at_gates: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class KeyLimitsInUse:
    """Reads and writes limits of keys. A change takes effect at the next start, and starts runs that wait."""

    parts: Parts[TableSettings]
    gates: GateItems
    overlaps: Overlaps
    wait_queue: WaitQueue

    def get(self, tenant: str, key: str) -> KeyStatus:
        """Return the status of a key. Raises KeyUnknownError, but not if a run that was not read may wait."""
        found = self.status(tenant, key)
        in_use = found.active or found.waiting or any(found.at_gates.values()) or not found.quiet
        if found.stored is None and not in_use and not found.paused_until and found.complete:
            raise KeyUnknownError(key)
        return found

    def status(self, tenant: str, key: str) -> KeyStatus:
        """Return the status of a key, even if the key is unknown."""
        queue, now, gates = key_queue(key), self.parts.clock.now(), self.gates.gates
        states = {gate.name: self.parts.wait_queues.state(tenant, key, gate) for gate in gates}
        runs, complete = self._waiting(tenant)
        waiting = [run for run in runs if run.wait is not None and run.wait.key == key]
        waiting.sort(key=lambda run: (run.not_before or 0.0, run.run_id))
        pause = self.parts.runs.locks(tenant, queue).get(PAUSE_PLACE)
        pauses = [0.0 if pause is None else pause.until, *(gate.paused_until(states[gate.name]) for gate in gates)]
        shown: dict[str, object] = {}
        for gate in gates:
            shown |= gate.document(states[gate.name], now)
        return KeyStatus(
            key=key,
            stored=self.parts.jobs.key_limits.get(tenant, key),
            active={lock.holder: run for lock, run in self.overlaps.holders(tenant, key).values()},
            waiting=self.parts.wait_queues.length(tenant, queue, limit=MAX_COUNTED),
            first=self.parts.wait_queues.waiting(tenant, queue, limit=MAX_SHOWN),
            at_gates={
                gate.name: [run for run in waiting if run.wait is not None and run.wait.gate == gate.name]
                for gate in gates
            },
            paused_until=max(pauses) if max(pauses) > now else None,
            shown=shown,
            quiet=all(gate.unused(states[gate.name]) for gate in gates),
            complete=complete,
        )

    def _waiting(self, tenant: str) -> tuple[list[Queued | Retrying], bool]:
        """Return the newest MAX_WAITING_READ runs in each state, and whether these are all."""
        states = (RunState.QUEUED, RunState.RETRYING)
        found = [self.parts.runs.by_state(tenant, [state], limit=MAX_WAITING_READ) for state in states]
        runs = [run for each in found for run in each if isinstance(run, Queued | Retrying)]
        return runs, all(len(each) < MAX_WAITING_READ for each in found)

    def page(self, tenant: str, *, limit: int, after: str | None) -> tuple[list[ListedKey], str | None, bool]:
        """Return a page of the keys that have a stored limit or waiting runs, the key after which the next page
        begins, and whether all waiting runs were read. The page begins after the key `after`.
        """
        page = self.parts.jobs.key_limits.page(tenant, limit=limit, after=after)
        runs, complete = self._waiting(tenant)
        at_gates = {
            gate.name: Counter(run.wait.key for run in runs if run.wait is not None and run.wait.gate == gate.name)
            for gate in self.gates.gates
        }
        waiting = Counter(run.key for run in runs if isinstance(run, Queued) and run.wait is None and run.key)
        stored = {each.key: each for each in page.items}
        others = {
            key
            for key in set(waiting).union(*at_gates.values())
            if key > (after or "") and (page.following is None or key <= page.following)
        }
        keys = sorted(stored.keys() | others)
        following = keys[limit - 1] if len(keys) > limit else page.following
        listed = (
            ListedKey(key, stored.get(key), waiting[key], {name: count[key] for name, count in at_gates.items()})
            for key in keys[:limit]
        )
        return list(listed), following, complete

    def put(
        self,
        tenant: str,
        key: str,
        concurrency: int | None,
        *limits: SharedLimit | None,
        by: str,
        expected: Precondition = ANYTHING,
    ) -> bool:
        """Store the limits of a key, and start the first run that waits for a place, which starts the next one. Return
        whether there was no stored limit before. Raises JobVersionError, StoreBusyError or WaitQueueUnavailableError.
        """
        limit = KeyLimit(tenant, key, limit_values(concurrency, *limits), self.parts.clock.now(), by)
        store = self.parts.jobs.key_limits
        created = self._replace(limit, expected) if expected.about_version else store.put(limit)
        self._start(tenant, key)
        return created

    def _replace(self, limit: KeyLimit, expected: Precondition) -> bool:
        store, created = self.parts.jobs.key_limits, False
        for _ in range(LOST_RACES):
            found = store.get(limit.tenant, limit.key)
            if found == limit:  # this request has written it, without a response
                return created
            expected.check_version(None if found is None else found.tag, KIND)
            created = found is None
            if store.replace(limit, found):
                return created
        raise StoreBusyError(f"the limit of {limit.key}")

    def delete(self, tenant: str, key: str, expected: Precondition = ANYTHING) -> None:
        """Delete the limit of a key: the limits of its jobs apply again. Raises NoStoredLimitError, JobVersionError,
        StoreBusyError or WaitQueueUnavailableError.
        """
        if expected.about_version:
            self._delete(tenant, key, expected)
            deleted = True
        else:
            deleted = self.parts.jobs.key_limits.delete(tenant, key)
        self._start(tenant, key)
        if not deleted:
            raise NoStoredLimitError(key)

    def _delete(self, tenant: str, key: str, expected: Precondition) -> None:
        store, tried = self.parts.jobs.key_limits, False
        for _ in range(LOST_RACES):
            found = store.get(tenant, key)
            if found is None and tried:  # this request has deleted it, without a response
                return
            if found is None:
                raise NoStoredLimitError(key)
            expected.check_version(found.tag, KIND)
            tried = True
            if store.delete(tenant, key, found):
                return
        raise StoreBusyError(f"the limit of {key}")

    def release(self, tenant: str, key: str, run_id: str) -> None:
        """Take the places of a key from a run, which continues, and start the first waiting run. Raises
        KeyUnknownError, NoPlaceError, PlaceTakenAgainError or WaitQueueUnavailableError.
        """
        released, left = False, True
        for _ in range(MAX_TAKE_OVERS):
            taken = {lock.holder for lock, _ in self.overlaps.holders(tenant, key).values()}
            locks = self.parts.runs.locks(tenant, key_queue(key)) if run_id in taken else {}
            # Also those of its earlier attempts, which would count again.
            held = {place: lock for place, lock in locks.items() if lock.holder == run_id}
            runs, empty = self.parts.runs, Lock("", self.parts.clock.now())
            done = [runs.lock(tenant, key_queue(key), empty, held[place], place=place) is None for place in held]
            released, left = released or any(done), not all(done)
            if not left:
                break
        # Also if the run has no place: an earlier request may have released it and then failed.
        self._start(tenant, key)
        if left:
            raise PlaceTakenAgainError(run_id)
        if not released:
            self.get(tenant, key)
            raise NoPlaceError(run_id)

    def hold(self, tenant: str, key: str, until: float) -> None:
        """Start no attempt with the key before `until` (UTC seconds): its places and its gates are closed until then.
        A hold or pause that ends later remains. Raises KeyBusyError.
        """
        self.overlaps.pause_key(tenant, key, until)
        self.gates.hold(tenant, key, until)

    def close(self, tenant: str, key: str) -> None:
        """Close the circuit breaker of the key and end its pause. Start the first run that waits for a place, and let
        the runs that wait for a gate which has opened (the newest MAX_WAITING_READ in each state) try again within
        SPREAD_SECONDS. Raises KeyBusyError or WaitQueueUnavailableError.
        """
        now, queue = self.parts.clock.now(), key_queue(key)
        self.gates.open(tenant, key)
        pause = self.parts.runs.locks(tenant, queue).get(PAUSE_PLACE)
        for _ in range(MAX_TAKE_OVERS):
            if pause is None or pause.until <= now:
                break
            pause = self.parts.runs.lock(tenant, queue, Lock("", now), pause, place=PAUSE_PLACE)
            if pause is None:
                break
        else:
            raise KeyBusyError(key)
        self._start(tenant, key)
        soon = now + SPREAD_SECONDS  # runs that try again by then need no further message
        waking = {gate.name for gate in self.gates.gates if gate.wakes}
        woken = [
            run
            for run in self._waiting(tenant)[0]
            if run.wait is not None
            and run.wait.key == key
            and run.wait.gate in waking
            and (run.not_before or now) > soon
        ]
        self.wait_queue.try_again(woken, lambda run: now + SPREAD_SECONDS * share_of(run.run_id))

    def _start(self, tenant: str, key: str) -> None:
        self.wait_queue.call_next(tenant, key_queue(key), Report())
