"""A whole scheduler on a settable clock: the published stage over any tables, and what people, the reconciler and index
repair do in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock as ThreadLock
from typing import Any

from duecourse.api.api import Api
from duecourse.domain.ids import RunIdentity
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.jobs.cursor import PlannedResume, bucket_of, plan
from duecourse.domain.jobs.job import Job, Lane, Precision
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import HttpTarget, Outcome, Returned
from duecourse.messages import COMMANDS, MessageKind, RunMessage
from duecourse.ports import Call, Clock, DeadLetterQueue, Outgoing
from duecourse.stores import maintenance
from duecourse.stores.cursors import CursorStore
from duecourse.stores.maintenance import RepairStore, TenantReports
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, failing, lost
from duecourse.testing.stage import Stage, settings_of_a_test
from duecourse.testing.stores import Stores
from duecourse.usecases.dispatch.claim import outgoing
from duecourse.usecases.dispatch.round import DispatchRules
from duecourse.usecases.jobs.change import Draft, Edited
from duecourse.usecases.maintenance.calendar_check import CalendarCheck
from duecourse.usecases.maintenance.index_repair import CleanUp, IndexCheck, IndexRepair, TenantCount
from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters
from duecourse.usecases.report import Report
from duecourse.usecases.runs.commands import CommandSender
from duecourse.usecases.runs.requests import BackfillStarted, Later, OwnPayload, RunRequest
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, cursor
from tests.support.wheel import Held, Wheel

RULES = DispatchRules(shards=1, lookahead=300, horizon=840)
FUNCTION_SECONDS = 120
ANNA = RunRequest("anna")


class Killed(BaseException):
    """The process is gone: nothing catches this, nothing is tidied up."""


def dying(cursors: CursorStore, *, after: bool = False) -> Any:
    """A cursor store whose process is killed at its first claim: before it (nothing claimed) or after it."""
    return around(cursors, claim=(lost if after else failing)(Killed()))


@dataclass
class RecordedCalls:
    """ports.Caller: answers as told, and remembers who was called when."""

    clock: SettableClock
    answer: Callable[[Call], Outcome] = lambda _: Returned("fine")
    calls: list[tuple[str, int, float]] = field(default_factory=list)
    _lock: ThreadLock = field(default_factory=ThreadLock, repr=False)

    tokens: list[str | None] = field(default_factory=list)

    def call(self, call: Call) -> Outcome:
        with self._lock:
            self.calls.append((str(call.run.name), call.run.attempt, self.clock.now()))
            self.tokens.append(call.callback_token)
        return self.answer(call)

    @property
    def runs(self) -> list[str]:
        """The run of each call, in order."""
        return [run for run, _, _ in self.calls]


class World(Stage):
    """Time is `clock`; `until` lets minutes pass: ticks at each full minute, workers whenever a message is visible."""

    def __init__(self, tables: Stores, *, at: float = NOON, rules: DispatchRules = RULES) -> None:
        clock = SettableClock(at)
        settings = replace(
            settings_of_a_test(), shards=rules.shards, lookahead_seconds=rules.lookahead, horizon_seconds=rules.horizon
        )
        super().__init__(clock, RecordedCalls(clock), settings, tables)
        self.tables: Any = tables  # many tests read tables of an emulator directly
        self.caller: RecordedCalls
        self.wheel: Wheel = Wheel(clock)
        self.worker_clock: Clock = clock
        self.lease_seconds: int = FUNCTION_SECONDS
        self.round_id: str | None = None
        """What the dispatcher's invocations are called."""
        self.reports: list[Report] = []
        for shard in range(rules.shards):
            self.cursors.advance_watermark(shard, bucket_of(at - 2 * 3600))

    def add(self, job: Job) -> Job:
        """Write the job and send its first two minutes at once, as the API does."""
        standing = cursor(job)
        assert self.jobs.create(job, standing)
        made = plan(standing, now=self.clock.now(), horizon=120)
        self.wheel.send(outgoing(standing, made, now=self.clock.now(), nonce=self.randomness.nonce))
        return job

    @property
    def office(self) -> Office:
        """What people ask for over the API."""
        return Office(self)

    def dispatch(self, cursors: CursorStore | None = None, shard: int = 0) -> Report:
        """One round, on this world's cursor store unless another one is given."""
        report = self.round_of_dispatch(cursors)(shard, self.clock.now() + 45, self.round_id)
        self.note(report)
        return report

    def tick(self, minute: int) -> None:
        """A round for each shard."""
        for shard in range(self.settings.shards):
            self.dispatch(shard=shard)

    def next_tick(self) -> int:
        """Each full minute."""
        return (int(self.clock.now()) // 60 + 1) * 60

    def worker(self, lane: Lane = Lane.NORMAL, clock: Clock | None = None) -> LaneWorker:
        """A worker of a lane."""
        return super().worker(lane, self.worker_clock if clock is None else clock)

    def handle(self, held: Held) -> None:
        """Hand a received message to a worker of its lane."""
        batch = self.worker(held.lane)([self.wheel.received(held)], self.clock.now() + self.lease_seconds)
        self.note(batch.report)
        if batch.retained:
            self.wheel.put_back(held)

    def note(self, report: Report) -> None:
        """Keep it."""
        self.reports.append(report)

    def reconcile(self, queue: DeadLetterQueue | None = None) -> Report:
        """A call of the dead-letter reconciler, on this world's queue unless another one is given."""
        wiring = self.wiring()
        effects = wiring.effects(wiring.forwarder(self.wheel, None))
        reconciler = ReconcileDeadLetters(
            parts=wiring,
            queue=queue or self.wheel.dead_letter_queue,
            transitions=wiring.transitions(effects),
            effects=effects,
        )
        report = reconciler(self.clock.now() + 60)
        self.note(report)
        return report

    def repair(
        self,
        *,
        store: RepairStore | None = None,
        seconds: float = 600,
        every_seconds: int = DAY_SECONDS,
        reports: TenantReports | None = None,
    ) -> Report:
        """Index repair, on this world's store unless another one is given. With `reports`, it counts tenants."""
        store = store or maintenance.RepairStore(self.tables.both())
        index = IndexCheck(self.wiring(), store)
        clean_up = CleanUp(self.jobs, self.run_store, self.clock, retention_days=90)
        calendars = CalendarCheck(self.api_at(self.clock).calendars, self.clock)
        tenants = None if reports is None else TenantCount(reports, self.clock)
        repair = IndexRepair(store, (index, clean_up, calendars), self.clock, every_seconds, tenants)
        report = repair(self.clock.now() + seconds)
        self.note(report)
        return report

    def tell(self, message: RunMessage) -> None:
        """Put a message into its lane, as the API does, and let a worker have it."""
        self.wheel.send([Outgoing(message, 0)])
        self.work()

    def about(self, run: Run, kind: MessageKind, **fields: Any) -> RunMessage:
        """The message that the API sends about a run's present attempt."""
        return CommandSender(self.wheel, self.clock, self.randomness).message(COMMANDS[kind](**fields), run)

    def queued_about(self, job_id: str, second: int, kind: MessageKind, **fields: Any) -> RunMessage:
        """The message that the API sends about a run that is queued and has no record yet."""
        found = self.jobs.get("default", job_id)
        assert found is not None
        at = int(NOON) + second
        return RunMessage(
            RunIdentity(tenant="default", job_id=job_id, occurrence=at, due=at, generation=found.generation),
            lane=found.lane,
            not_before=self.clock.now(),
            nonce=self.randomness.nonce(),
            command=COMMANDS[kind](**fields),
        )

    def runs(self, job_id: str) -> list[Run]:
        """The job's records, oldest first."""
        return self.run_store.page("default", job_id, limit=1000, before=None)[::-1]

    def states(self, job_id: str) -> list[tuple[int, RunState]]:
        """Seconds after NOON and state of each record, oldest first."""
        return [(run.occurrence - int(NOON), run.state) for run in self.runs(job_id)]

    def count(self, metric: str) -> int:
        """A metric over all reports so far."""
        return sum(report.counts[metric] for report in self.reports)


@dataclass(frozen=True)
class Office:
    """What people ask for over the API of a world; `clock` is that of the API's machine, the world's own unless given.

    A job is `tick-tock` unless another one is named.
    """

    world: World
    clock: Clock | None = None

    @property
    def api(self) -> Api:
        """The API."""
        return self.world.api_at(self.world.clock if self.clock is None else self.clock)

    def create(self, expression: str, job_id: str = "tick-tock", **asked: Any) -> Job:
        """Create a job, and send its first runs at once."""
        target = HttpTarget("http://127.0.0.1:9/hook")
        draft = Draft(
            tenant="default",
            id=job_id,
            schedule=ScheduleSpec(expression),
            target=target,
            precision=Precision.SECOND,
            **asked,
        )
        return self.api.jobs.create(draft).view.job

    def edit(self, job_id: str = "tick-tock", expression: str | None = None, **changes: Any) -> Edited:
        """Change a job."""

        def draft_for(found: Job) -> Draft:
            asked = {name: getattr(found, name) for name in Draft.__dataclass_fields__} | changes
            if expression is not None:
                asked["schedule"] = ScheduleSpec(expression)
            return Draft(**asked)

        return self.api.editing.patch("default", job_id, draft_for)

    def pause(self, job_id: str = "tick-tock", *, until: int | None = None) -> None:
        """Pause a job, until it is resumed or until an instant."""
        end = None if until is None else PlannedResume(until)
        self.api.pausing.pause("default", job_id, end=end)

    def resume(self, job_id: str = "tick-tock", *, catch_up: bool = False) -> None:
        """Resume a job."""
        self.api.pausing.resume("default", job_id, catch_up=catch_up)

    def delete(self, job_id: str = "tick-tock") -> Job:
        """Delete a job; what it was."""
        return self.api.jobs.delete("default", job_id)

    def job(self, job_id: str = "tick-tock") -> Job:
        """A job as it is now."""
        return self.api.manual.job("default", job_id)

    def run(
        self,
        payload: OwnPayload | None = None,
        *,
        key: str | None = None,
        job_id: str = "tick-tock",
        later: Later | None = None,
    ) -> Run:
        """Run a job, now unless `later` is given."""
        return self.api.manual.run(self.job(job_id), RunRequest("anna", key), payload, later)

    def listed(self, *states: RunState, limit: int = 20, job_id: str = "tick-tock") -> list[Run]:
        """The newest runs of a job in these states (all, if none is named), over all pages of `limit`."""
        wanted = RunFilter(states or tuple(RunState))
        found, before = list[Run](), None
        while True:
            page = self.api.history.page("default", job_id, limit=limit, before=before, wanted=wanted)
            found += page.items
            if (before := page.following) is None:
                return found

    def backfill(self, asked: Backfill, *, key: str | None = None) -> BackfillStarted:
        """Start a backfill."""
        return self.api.backfills.start(self.job(), asked, RunRequest("anna", key))

    def skip(self, count: int = 1, *, key: str | None = None) -> list[Run]:
        """Skip what comes next."""
        return self.api.skip_next.skip(self.job(), count, RunRequest("anna", key))

    def record(self, run: Run) -> Run:
        """A run as it is now."""
        return self.api.runs.get("default", str(run.name))

    def seconds(self, state: RunState = RunState.SUCCEEDED, job_id: str = "tick-tock") -> list[int]:
        """Seconds after NOON of the occurrences that the records in a state cover."""
        return [second for second, found in self.world.states(job_id) if found is state]


@dataclass
class Payloads:
    """What the target was given, call by call; the first `failing` of them fail as told."""

    failing: list[Outcome] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)

    def __call__(self, call: Call) -> Outcome:
        self.given.append(call.job.payload)
        return self.failing.pop(0) if self.failing else Returned("fine")


class Mortal(World):
    """A world whose queue delivers the message of a dead worker again."""

    def handle(self, held: Held) -> None:
        try:
            super().handle(held)
        except Killed:
            self.wheel.put_back(held)
