"""The part of the tick that gives the stage more capacity before a peak, in stages with the setting `prescale`.

The plan is stored before a request is made. So a queue that may have pollers is in the plan, and a later tick removes
them, even if this process stops after any request or ticks are missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.jobs.cursor import slot_of
from duecourse.domain.maintenance.peaks import (
    MINUTE,
    Peak,
    PrescalePlan,
    PrescaleRules,
    busiest,
    may_be_peak,
    minutes_to_count,
    with_counted,
)
from duecourse.domain.maintenance.prescale import (
    PrescaleAction,
    RemovePollers,
    SetPollers,
    WarmUp,
    decide,
    refused,
    removed,
)
from duecourse.ports import AwsError, Clock, Executor, QueuePollers, ServiceError, TableThroughput
from duecourse.usecases.report import Report, format_error

if TYPE_CHECKING:
    from duecourse.stores.prescale import PrescaleStore

COUNT_SECONDS = 8
"""The maximum time for counting, in seconds. The tick has 30 s, and checks the queues before."""

LIMITED_MINUTES = 10
"""How often a budget or quota that is too small is logged while it changes nothing (minutes)."""

SIDE_BY_SIDE = 2
"""The number of concurrent counts. A page takes about 30 ms and 128 read units, and a new index has 12,000 units a
second, which rounds also use.
"""

SAMPLED_SHARDS = 8
"""The number of shards from which the queues of a peak are sampled. Shards are alike, since a hash places the jobs."""


IN_USE, QUOTA = "ResourceInUseException", "LimitExceededException"
"""The codes of a table that is being changed, and of a quota that is exceeded."""


@dataclass(frozen=True, slots=True)
class Prescale:
    """Counts the runs of the minutes that have entered the next half hour, decides, and makes the requests. An error
    only affects these: it is logged and counted, and the next tick tries again.
    """

    store: PrescaleStore
    pollers: QueuePollers
    throughput: TableThroughput
    rules: PrescaleRules
    clock: Clock
    executor: Executor

    def after_tick(self, last_tick: float | None, shards: int, report: Report) -> None:
        """Do this after a tick of this number of shards. `last_tick` is the time of the tick before (None: unknown)."""
        try:
            stored = self.store.get()
            now = self.clock.now()
            counted = self._counted(minutes_to_count(now, last_tick), shards, report)
            plan = with_counted(self.rules, stored, counted, now)
            warm = self.throughput.read() if any(each.at > now for each in plan.peaks) else None
            decision = decide(self.rules, plan, warm, now)
            if decision.limits and (decision.plan != plan or int(now) // MINUTE % LIMITED_MINUTES == 0):
                report.add("prescale_limited", reasons=decision.limits)
            saved = decision.plan if decision.plan == stored else self.store.put(decision.plan)
            if saved is None:
                return  # another tick of this minute decides
            told = {(each.at, each.says) for each in stored.history}
            if new := [each.says for each in saved.history if (each.at, each.says) not in told]:
                report.add("prescaled", decisions=new, spent=saved.spent_on(now))
            self._act(saved, decision.actions, report)
        except Exception as problem:  # noqa: BLE001 - runs start without it, only later
            self._failed(report, problem)

    def _counted(self, minutes: Sequence[int], shards: int, report: Report) -> list[Peak]:
        """Return the counts of these minutes, as far as there is time. A minute that could not be counted is left out,
        and is counted again later.
        """
        until, counted = self.clock.now() + COUNT_SECONDS, list[Peak]()
        for minute in minutes:  # the nearest ones first
            try:
                counted.append(self._count(minute, shards, until))
            except AwsError as problem:
                report.add("forecast_failed", minute=minute, error=format_error(problem))
        return counted

    def _count(self, minute: int, shards: int, until: float) -> Peak:
        since = minute * MINUTE
        slots = [slot_of(since, shard) for shard in range(shards)]
        pages = list[tuple[int, int, int]]()
        at_least = False
        for begin in range(0, shards, SIDE_BY_SIDE):
            for found, complete in self.executor.map(
                lambda slot: self._pages(slot, since, until), slots[begin : begin + SIDE_BY_SIDE]
            ):
                pages += found
                at_least |= not complete
        runs = sum(entries for *_, entries in pages)
        shares: dict[str, float] = {}
        if may_be_peak(self.rules, runs):
            sampled = Counter[str]()
            for slot in slots[:SAMPLED_SHARDS]:
                sampled += self.store.queues(slot, since, since + MINUTE - 1)
            shares = {name: entries / sampled.total() for name, entries in sampled.items()}
        return Peak(minute, runs, busiest(pages), shares, at_least)

    def _pages(self, slot: str, since: int, until: float) -> tuple[list[tuple[int, int, int]], bool]:
        """Return the pages of a slot, and whether these are all: after `until`, no further page is read."""
        pages = list[tuple[int, int, int]]()
        if self.clock.now() >= until:
            return pages, False
        for page in self.store.counts(slot, since, since + MINUTE - 1):
            pages.append(page)
            if self.clock.now() >= until:
                return pages, False
        return pages, True

    def _act(self, plan: PrescalePlan, actions: Sequence[PrescaleAction], report: Report) -> None:
        """Make the requests, and store what is known afterwards."""
        outcomes = self.executor.map(self._tried, actions) if actions else []
        now, after = self.clock.now(), plan
        for request, outcome in zip(actions, outcomes, strict=True):
            if isinstance(outcome, Exception):
                self._failed(report, outcome, type(request).__name__)
                if isinstance(request, WarmUp) and _is_refusal(outcome):
                    after = refused(after, request, now, format_error(outcome))
            elif isinstance(request, RemovePollers) and outcome:
                after = removed(after, request.queue)
        if after != plan:
            self.store.put(after)  # if another tick was faster, it finds the same

    def _tried(self, action: PrescaleAction) -> bool | Exception:
        try:
            match action:
                case SetPollers(_, source, minimum, maximum):
                    return self.pollers.set(source, minimum, maximum)
                case RemovePollers(_, source, concurrent):
                    return self.pollers.remove(source, concurrent)
                case WarmUp(table, units):
                    self.throughput.warm(table, units)
                    return True
        except Exception as problem:  # noqa: BLE001 - no request may stop the others
            return problem

    @staticmethod
    def _failed(report: Report, problem: Exception, request: str = "plan") -> None:
        report.counts["PrescalesFailed"] += 1
        report.add("prescale_failed", alarming=True, request=request, error=format_error(problem))


def _is_refusal(problem: Exception) -> bool:
    """Return whether DynamoDB will refuse the same throughput in the next minutes too, for example because of a quota
    (Amazon DynamoDB API Reference, "UpdateTable").
    """
    if not isinstance(problem, ServiceError) or problem.code == IN_USE:
        return False
    return problem.code == QUOTA or not problem.temporary
