"""A whole scheduler in danger: processes die, answers are lost, and what recovers is what recovers in production."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from duecourse.domain.jobs.job import Precision
from duecourse.domain.targets.targets import HttpTarget
from duecourse.stores.cursors import CursorStore
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.report import Report
from duecourse_schedules import ScheduleSpec
from tests.support.client_faults import Fault, FaultyClient
from tests.support.fault_table.danger import Danger
from tests.support.fault_table.points import DELETE
from tests.support.fault_table.ports import FaultyBus, FaultyLanes, FaultyNotices, Target
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.wheel import Held
from tests.support.world import World

RECONCILER_SECONDS = 300
ASK_AGAIN_SECONDS = 5
ASKED_AT_MOST = 4


class Stage(World):
    """A world whose components are processes that may die. A message whose receiver died comes again; a caller that got
    no answer asks again; a round is followed by the next tick's; the dead-letter reconciler goes every five minutes.
    """

    def __init__(self, tables: Tables, danger: Danger) -> None:
        self.danger = danger
        super().__init__(replace(tables, client=FaultyClient(tables.client, danger.of_request)))
        danger.clock = self.clock
        self.stored = tables
        self.target = Target(self.clock, danger)
        self.wheel = FaultyLanes(self.wheel, danger, self.randomness)  # type: ignore[assignment]
        self.caller = self.target  # type: ignore[assignment]
        self.notices, self.bus = FaultyNotices(danger=danger), FaultyBus(danger=danger)
        self.asked_again = 0
        self.reconciled: list[Report] = []
        self.repaired: list[Report] = []

    # What goes by itself.

    def dispatch(self, cursors: CursorStore | None = None, shard: int = 0) -> Report:
        _, report = self.danger.process("dispatch", lambda: World.dispatch(self, cursors, shard))
        if int(self.clock.now()) // 60 % (RECONCILER_SECONDS // 60) == 0:
            self.reconcile_once()
        return report or Report()

    def work(self) -> None:
        while (held := self.wheel.receive()) is not None:
            deadline = self.clock.now() + self.lease_seconds
            self.target.killed_at = deadline
            lived, left = self.danger.process("worker", partial(self._handle, held, deadline))
            if left or not lived:
                self.wheel.put_back(held)

    def _handle(self, held: Held, deadline: float) -> bool:
        """Whether the message stays in its queue: the worker left it, or its deletion failed."""
        batch = self.worker()([self.wheel.received(held)], deadline)
        self.reports.append(batch.report)
        if batch.retained:
            return True
        return self.danger.of_port(DELETE, "") in (Fault.DIES_BEFORE, Fault.REFUSED)

    def reconcile_once(self) -> None:
        """The dead-letter reconciler, whether or not it lives to its end."""
        _, report = self.danger.process("reconciler", self.reconcile)
        self.reconciled += [] if report is None else [report]

    def repair_once(self) -> None:
        """Index repair, a day after the one before."""
        _, report = self.danger.process("index repair", self.repair)
        self.repaired += [] if report is None else [report]

    def at(self, second: float, *, ticking: bool = True) -> None:
        """Let time pass until that second after NOON; `ticking`: whether rounds of dispatch are run meanwhile."""
        if NOON + second > self.clock.now():
            self.until(NOON + second, ticking=ticking)

    # What people do.

    def ask(self, request: Callable[[], object], *over: type[Exception]) -> bool:
        """A caller asks the API, and asks again after no answer or a failure; False where it says that it is `over`."""
        for _ in range(ASKED_AT_MOST):
            try:
                lived, _ = self.danger.process("api", request)
            except over:
                return False
            except Exception:  # noqa: BLE001 - a 5xx of any kind
                lived = False
            if lived:
                return True
            self.asked_again += 1
            self.until(self.clock.now() + ASK_AGAIN_SECONDS)
        raise AssertionError("the API did not answer")

    def put(self, expression: str, job_id: str = "tick-tock", **asked: Any) -> None:
        """PUT a job."""
        draft = Draft(
            tenant="default",
            id=job_id,
            schedule=ScheduleSpec(expression),
            target=HttpTarget("http://127.0.0.1:9/hook"),
            precision=Precision.SECOND,
            **asked,
        )
        self.ask(lambda: self.office.api.editing.put("default", job_id, lambda _: draft))
