"""Records of runs, wait queues, and requests for runs in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import islice

from duecourse.domain.ids import RunName, to_basic
from duecourse.domain.runs.breaker import BreakerState
from duecourse.domain.runs.callbacks import Heartbeat
from duecourse.domain.runs.coverage import Recorded, recorded
from duecourse.domain.runs.overlap import Lock, QueuePosition, position_in
from duecourse.domain.runs.rate import Change, Spent, moved
from duecourse.domain.runs.states import Run, Running, RunState, Waiting, heartbeat_until, is_written_as, state_since
from duecourse.messages import RunMessage
from duecourse.ports import Conflict, Input, LastRun, StateMark, Watch
from duecourse.testing.memory.items import Items

_AFTER_SUFFIXES = "~"
"""Sorts after every suffix of a run's name."""


@dataclass(frozen=True)
class MemoryRunStore:
    """Implementation of ports.RunStore."""

    items: Items

    def get(self, tenant: str, job_id: str, local: str) -> Run | None:
        return self.items.run(tenant, job_id, local)

    def get_many(self, tenant: str, names: Collection[RunName]) -> dict[RunName, Run]:
        found = {name: self.get(tenant, name.job_id, name.local) for name in names}
        return {name: run for name, run in found.items() if run is not None}

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        with self.items.lock:
            standing = self.get(run.tenant, run.job_id, run.name.local)
            if (standing is None) if previous is None else (standing is not None and _same(standing, previous)):
                self.items.put_run(run)
                return None
            return None if standing is not None and is_written_as(run, standing) else Conflict(standing)

    def page(self, tenant: str, job_id: str, *, limit: int, before: str | None, strongly: bool = True) -> list[Run]:
        with self.items.lock:
            return list(islice(self.items.records[tenant, job_id].before(before), limit))

    def last(self, tenant: str, job_id: str, *, limit: int, before: str) -> list[LastRun]:
        return [LastRun(run.name, run.state) for run in self.page(tenant, job_id, limit=limit, before=before)]

    def between(
        self,
        tenant: str,
        job_id: str,
        low: int,
        high: int,
        *,
        strongly: bool,
        backfills: bool = False,
        limit: int | None = None,
    ) -> list[Recorded]:
        with self.items.lock:
            found = self.items.records[tenant, job_id].within(to_basic(low + 1), to_basic(high) + _AFTER_SUFFIXES)
            read = islice(found, limit)
            return [recorded(run) for run in read if not run.suffix or (backfills and run.name.backfilled)]

    def has_items(self, tenant: str, job_id: str) -> bool:
        key, items = (tenant, job_id), self.items
        return (
            key in items.watches
            or any(of[key] for of in (items.inputs, items.wait_queues) if key in of)
            or (key in items.records and bool(items.records[key].names))
        )

    def heartbeat(self, run: Run, beat: Heartbeat) -> Conflict | None:
        with self.items.lock:
            standing = self.get(run.tenant, run.job_id, run.name.local)
            if not isinstance(standing, Running | Waiting) or (standing.attempt, standing.callback_hash) != (
                run.attempt,
                run.callback_hash,
            ):
                return Conflict(standing)
            if beat.until is not None and heartbeat_until(standing) != heartbeat_until(run):
                return Conflict(standing)
            self.items.put_run(beat.beaten(standing))
            return None

    def list_running(self, run: Running) -> None:
        with self.items.lock:
            standing = self.get(run.tenant, run.job_id, run.name.local)
            if isinstance(standing, Running) and is_written_as(run, standing):
                self.items.put_run(replace(standing, listed=True))

    def by_state(
        self,
        tenant: str,
        states: Iterable[RunState],
        *,
        limit: int,
        before: StateMark | None = None,
        job_id: str | None = None,
    ) -> list[Run]:
        wanted = frozenset(states)
        with self.items.lock:
            of_tenant = (run for (owner, _, _), run in self.items.listed.items() if owner == tenant)
            found = [run for run in of_tenant if run.state in wanted and job_id in (None, run.job_id)]
        found.sort(key=_newest_first)
        if before is not None:
            # A mark without a run precedes all entries of its instant.
            mark = (-before.at, before.state.value, before.run_id) if before.run_id else (-before.at, "~", "")
            found = [run for run in found if _newest_first(run) > mark]
        return found[:limit]

    def lock(self, tenant: str, job_id: str, lock: Lock, previous: Lock | None, *, place: int = 0) -> Lock | None:
        with self.items.lock:
            standing = self.locks(tenant, job_id).get(place)
            if standing not in (None, previous, lock):
                return standing
            if place:
                self.items.further_locks[tenant, job_id][place] = lock
            else:
                self.items.locks[tenant, job_id] = lock
            return None

    def locked(self, tenant: str, job_id: str) -> Lock | None:
        return self.items.locks.get((tenant, job_id))

    def locks(self, tenant: str, job_id: str) -> dict[int, Lock]:
        with self.items.lock:
            first = self.locked(tenant, job_id)
            return ({} if first is None else {0: first}) | self.items.further_locks[tenant, job_id]


def _same(standing: Run, read: Run) -> bool:
    """Return whether the record is the one that was read. Only the attributes in the table's condition are compared."""

    def looked_at(run: Run) -> tuple[object, ...]:
        return run.state, run.attempt, run.fencing_token, heartbeat_until(run), run.heartbeat_at

    return looked_at(standing) == looked_at(read)


def _newest_first(run: Run) -> tuple[float, str, str]:
    return -state_since(run), run.state.value, run.run_id


@dataclass(frozen=True)
class MemoryWaitQueues:
    """Implementation of ports.WaitQueues."""

    items: Items

    def hold(self, message: RunMessage, *, expires_at: int) -> None:
        with self.items.lock:
            self.items.held[message.tenant, message.job_id][message.name.local] = message

    def held(self, tenant: str, job_id: str) -> list[RunMessage]:
        with self.items.lock:
            return list(self.items.held[tenant, job_id].values())

    def let_go(self, message: RunMessage) -> None:
        with self.items.lock:
            self.items.held[message.tenant, message.job_id].pop(message.name.local, None)

    def enter(self, message: RunMessage, *, expires_at: int) -> bool:
        place = position_in(message.line, message)
        with self.items.lock:
            line = self.items.wait_queues[message.tenant, message.line]
            if place in line and line[place].starts >= message.starts:
                return False
            line[place] = message
            return True

    def leave(self, tenant: str, job_id: str, place: QueuePosition, *, through: int | None = None) -> bool:
        with self.items.lock:
            entry = self.items.wait_queues[tenant, job_id].get(place)
            if entry is None or (through is not None and entry.starts > through):
                return False
            del self.items.wait_queues[tenant, job_id][place]
            return True

    def waiting(self, tenant: str, job_id: str, *, limit: int, newest: bool = False) -> list[RunMessage]:
        with self.items.lock:
            line = self.items.wait_queues[tenant, job_id]
            return [line[place] for place in sorted(line, reverse=newest)[:limit]]

    def length(self, tenant: str, job_id: str, *, limit: int) -> int:
        return min(len(self.items.wait_queues[tenant, job_id]), limit)

    def spent(self, tenant: str, key: str, *, strongly: bool = False) -> Spent:
        return self.items.rates.get((tenant, key), Spent())

    def spend(self, tenant: str, key: str, move: Change, *, expires_at: int) -> tuple[bool, Spent]:
        with self.items.lock:
            made, spent = moved(self.spent(tenant, key), move)
            self.items.rates[tenant, key] = spent
            return made, spent

    def breaker(self, tenant: str, key: str, *, strongly: bool = False) -> BreakerState:
        return self.items.breakers.get((tenant, key), BreakerState())

    def count_failure(self, tenant: str, key: str, *, expires_at: int) -> BreakerState:
        with self.items.lock:
            state = self.breaker(tenant, key)
            state = self.items.breakers[tenant, key] = replace(state, failures=state.failures + 1)
            return state

    def set_breaker(
        self, tenant: str, key: str, state: BreakerState, previous: BreakerState, *, expires_at: int
    ) -> tuple[bool, BreakerState]:
        with self.items.lock:
            standing = self.breaker(tenant, key)
            if standing == previous:
                standing = self.items.breakers[tenant, key] = state
            return standing == state, standing

    def watch(self, tenant: str, job_id: str) -> Watch | None:
        return self.items.watches.get((tenant, job_id))

    def set_watch(
        self, tenant: str, job_id: str, watch: Watch | None, previous: Watch | None, *, expires_at: int
    ) -> bool:
        with self.items.lock:
            standing = self.watch(tenant, job_id)
            if (standing and (standing.nonce, standing.calls)) != (previous and (previous.nonce, previous.calls)):
                return False
            if watch is None:
                self.items.watches.pop((tenant, job_id), None)
            else:
                self.items.watches[tenant, job_id] = watch
            return True

    def remove_calls(self, tenant: str, job_id: str, calls: Collection[str]) -> Watch | None:
        with self.items.lock:
            standing = self.watch(tenant, job_id)
            if standing is not None:
                standing = self.items.watches[tenant, job_id] = replace(standing, calls=standing.calls - set(calls))
            return standing


@dataclass(frozen=True)
class MemoryInputs:
    """Implementation of ports.Inputs."""

    items: Items

    def put(self, tenant: str, job_id: str, wanted: Input) -> Input | None:
        with self.items.lock:
            standing = self.items.inputs[tenant, job_id].setdefault(wanted.suffix, wanted)
        return None if standing == wanted else standing

    def get(self, tenant: str, job_id: str, suffix: str) -> Input | None:
        return self.items.inputs[tenant, job_id].get(suffix)

    def mark_sent(self, tenant: str, job_id: str, suffix: str) -> None:
        with self.items.lock:
            if (standing := self.get(tenant, job_id, suffix)) is not None:
                self.items.inputs[tenant, job_id][suffix] = replace(standing, sent=True)
