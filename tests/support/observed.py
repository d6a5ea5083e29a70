"""A world whose metrics are kept: what its use cases report goes through telemetry as in the functions, and what AWS
says of queues and functions is read off their state once a minute.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools import Logger, Metrics

from duecourse.ports import Depth, InlineExecutor, Outgoing, OutgoingOperation
from duecourse.telemetry import publish
from duecourse.usecases.dispatch.tick import Tick
from duecourse.usecases.dispatch.watch import SHARDS, StageWatch
from duecourse.usecases.report import Report
from tests.support.jobs import NOON
from tests.support.limits import MemoryMark
from tests.support.metric_data import MetricData, dimensions
from tests.support.tables import Tables
from tests.support.template import resources, template
from tests.support.wheel import Held, Wheel
from tests.support.world import World

SHARD_QUEUE_RETENTION_SECONDS = 300
MAINTENANCE = ("Reconcile", "Repair", "Audit")


@dataclass
class DatedWheel(Wheel):
    """A wheel that knows how old its messages are."""

    sent_at: dict[str, float] = field(default_factory=dict)

    def send(self, outgoing: Sequence[Outgoing | OutgoingOperation]) -> list[bool]:
        accepted = super().send(outgoing)
        self.sent_at |= {one.message.nonce: self.clock.now() for one in outgoing}
        return accepted

    @property
    def oldest(self) -> float | None:
        """Seconds since the oldest message was sent, delayed ones too; None without any."""
        ages = [self.clock.now() - self.sent_at[held.message.nonce] for held in self._held]
        return max(ages, default=None)


@dataclass
class Shards:
    """ports.ShardQueue: when each shard's ticks that nobody has taken were sent. Also what a tick needs to know of the
    shards: one, with the entries of `cursors`.
    """

    waiting: list[float] = field(default_factory=list)
    refuses: bool = False
    now: Callable[[], float] = lambda: NOON
    world: World | None = None

    def highest_shards(self, shards: int) -> int:
        return shards

    def has_due(self, slot: str, until: float, rare_until: float | None = None) -> bool:
        assert self.world is not None
        return self.world.cursors.has_due(slot, until, rare_until)

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        if self.refuses:
            return list(shards)
        self.waiting += [self.now() for _ in shards]
        return []

    @property
    def oldest(self) -> float | None:
        """Seconds since the oldest tick was sent; SQS drops those of more than five minutes."""
        self.waiting = [at for at in self.waiting if self.now() - at <= SHARD_QUEUE_RETENTION_SECONDS]
        return self.now() - self.waiting[0] if self.waiting else None


@dataclass
class Queues:
    """ports.QueueDepths of a world: its lane and the shard queue; `set` says what others hold, `answers` what they say
    next."""

    observed: Observed
    set: dict[str, Depth] = field(default_factory=dict)
    answers: dict[str, list[Depth]] = field(default_factory=dict)

    def depth_of(self, queue: str) -> Depth:
        if self.answers.get(queue):
            return self.answers[queue].pop(0)
        if queue in self.set:
            return self.set[queue]
        if queue == SHARDS:
            return Depth(0 if self.observed.ticks.oldest is None else len(self.observed.ticks.waiting), 0, 0)
        if queue == self.observed.watched:
            now = self.observed.world.clock.now()
            visible = sum(held.visible <= now for held in self.observed.held)
            return Depth(visible, self.observed.in_flight, len(self.observed.held) - visible)
        return Depth(0, 0, 0)


@dataclass
class Source:
    """ports.EventSource that says what it is set to."""

    broken: str | None = None

    def problem(self) -> str | None:
        return self.broken


@dataclass
class Quota:
    """ports.ConcurrencyQuota that is what the stage is configured for, unless it is set to less."""

    configured: int = 1_000
    granted: int = 1_000

    def executions(self) -> int:
        return self.granted


class Told(list[Report]):
    """The reports of a world, each given on to whoever keeps the metrics."""

    def __init__(self, listener: Callable[[Report], None]) -> None:
        super().__init__()
        self._listener = listener

    def append(self, report: Report) -> None:
        super().append(report)
        self._listener(report)


class Observed:
    """`world` is where things happen, `data` what CloudWatch has of it; `lane` is that of its queue
    (`bulk`: its bulk queue) and its worker."""

    def __init__(self, tables: Tables, *, lane: str = "normal", stage: str = "prod", bulk: bool = False) -> None:
        self.world = World(tables)
        self.lane = lane
        self.queue = f"Lane{lane.capitalize()}{'Bulk' if bulk else ''}Url"
        self.wheel = DatedWheel(self.world.clock)
        self.world.wheel = self.wheel
        self.world.reports = Told(self._report)
        self.data = MetricData()
        self.taken = 0
        self.ticks = Shards(now=self.world.clock.now, world=self.world)
        self.watched = f"{lane} bulk" if bulk else lane
        self.in_flight = 0
        self.queues: Any = Queues(self)
        self.source = Source()
        self.quota = Quota()
        self.mark = MemoryMark(NOON - 60)
        self.silent: set[str] = set()
        self.stage = stage
        self.namespace = f"Duecourse/{stage}"
        self.outputs = template(stage)["Outputs"]
        for minute in range(10):  # a system that has been running
            self._invoked("Tick", NOON - 60 * minute, failed=False)
        self.maintain(NOON - 60)

    def publish(self, report: Report, **told: str) -> None:
        """What a handler does with its use case's report."""
        self.listen(lambda: publish(report, Logger(), Metrics(namespace=self.namespace, service="duecourse"), **told))

    def listen(self, function: Callable[[], Any]) -> None:
        """Keep what a function writes to its log as metrics of now. Raises what it raises."""
        written = io.StringIO()
        try:
            with contextlib.redirect_stdout(written):
                function()
        finally:
            for line in written.getvalue().splitlines():
                if '"_aws"' in line:
                    self.data.put_emf(line, self.world.clock.now())

    def minutes(
        self, count: int, *, ticking: bool = True, dispatching: bool = True, working: bool = True, each: Any = None
    ) -> None:
        """Let minutes pass; at each the clock ticks, what is due is dispatched and worked on, queues are looked at."""
        for _ in range(count):
            at = (self.world.clock.now() // 60 + 1) * 60
            if working:
                self.world.until(at, ticking=False)
            self.world.clock.set(at)
            if ticking:
                self.tick()
            if dispatching and ticking:
                self.ticks.waiting.clear()
                self.world.dispatch()
            if working:
                self.world.work()
            self.maintain(self.world.clock.now())
            if each is not None:
                each()
            self.look()

    def invoke(self, function: str, call: Callable[[], Any]) -> None:
        """Invoke the function that an output names, as Lambda counts it."""
        failed = 0
        try:
            self.listen(call)
        except BaseException:  # noqa: BLE001 - whatever ends an invocation is its error, a killed process too
            failed = 1
        self.of_function(function, "Invocations", 1)
        self.of_function(function, "Errors", failed)
        self._of_version(function, failed)

    def of_function(self, function: str, metric: str, value: float) -> None:
        """What Lambda says of a function, at this moment."""
        name = self.outputs[f"{function}Function"]["Value"]
        self.put("AWS/Lambda", metric, {"FunctionName": name}, value)

    def _of_version(self, function: str, failed: int) -> None:
        """Errors of the version that a function's alias has, if it has one."""
        name = self.outputs[f"{function}Function"]["Value"]
        for alias in resources(self.stage, "AWS::Lambda::Alias").values():
            if alias["Properties"]["FunctionName"] == name:
                of = {"Resource": {"Fn::Join": ["", [name, ":live"]]}}
                version = {"ExecutedVersion": alias["Properties"]["FunctionVersion"]}
                self.put("AWS/Lambda", "Errors", {"FunctionName": name} | of | version, failed)

    def answered(self, status: int) -> None:
        """What API Gateway counts of an answer."""
        self.put("AWS/ApiGateway", "Count", {"ApiId": self.outputs["ApiId"]["Value"]}, 1)
        self.put("AWS/ApiGateway", "5xx", {"ApiId": self.outputs["ApiId"]["Value"]}, float(status >= 500))
        self.put("AWS/ApiGateway", "4xx", {"ApiId": self.outputs["ApiId"]["Value"]}, float(400 <= status < 500))

    def of_queue(self, output: str, metric: str, value: float) -> None:
        """What SQS says of a queue."""
        reference = self.outputs[output]["Value"]["Ref"]
        self.put("AWS/SQS", metric, {"QueueName": {"Fn::GetAtt": [reference, "QueueName"]}}, value)

    def look(self) -> None:
        """What SQS says of the queues now; nothing of one that is empty, as far as ages go."""
        now, lane = self.world.clock.now(), self.queue
        visible = sum(held.visible <= now for held in self.held)
        self.of_queue(lane, "NumberOfMessagesReceived", self.taken)
        self.taken = 0
        self.of_queue(lane, "ApproximateNumberOfMessagesVisible", visible)
        self.of_queue("DeadLetterQueueUrl", "ApproximateNumberOfMessagesVisible", len(self.wheel.dead_letters))
        for output, age in ((lane, self.wheel.oldest), ("ShardQueueUrl", self.ticks.oldest)):
            if age is not None:
                self.of_queue(output, "ApproximateAgeOfOldestMessage", age)

    @property
    def held(self) -> Sequence[Held]:
        """What is in the lane."""
        return self.wheel._held

    def maintain(self, at: float, *, without: str = "", failing: str = "") -> None:
        """The rules start the functions that look for what went wrong, but for one that is not started, or fails."""
        for name in MAINTENANCE:
            if name != without:
                self._invoked(name, at, failed=name == failing)
            if name not in (without, failing) and name not in self.silent:
                self.mark.beat(name.lower(), at)

    def _invoked(self, function: str, at: float, *, failed: bool) -> None:
        of = dimensions({"FunctionName": self.outputs[f"{function}Function"]["Value"]})
        self.data.put("AWS/Lambda", "Invocations", of, at, 1)
        self.data.put("AWS/Lambda", "Errors", of, at, float(failed))

    @property
    def watch(self) -> StageWatch:
        """What the tick looks at."""
        clock, lanes = self.world.clock, ("high", "normal", "low", "long")
        bulk, letters = tuple(f"{lane} bulk" for lane in lanes), ("archive", "events")
        parts = (self.queues, self.source, self.mark, clock, InlineExecutor(), lanes, bulk, letters)
        return StageWatch(*parts, self.quota, self.quota.configured)

    def tick(self) -> None:
        """A tick, as Lambda counts it."""
        at = self.world.clock.now()
        tick = Tick(self.ticks, self.ticks, self.mark, self.world.clock, InlineExecutor(), 1, 300, self.watch)  # type: ignore[arg-type]
        report = tick()
        self.publish(report, function="tick")
        self._invoked("Tick", at, failed=bool(report.counts["TicksRefused"]))

    def _report(self, report: Report) -> None:
        """Whose it is can be told by what it says last."""
        last = report.events[-1].action if report.events else ""
        if last in ("dispatched", "reconciled"):
            self.publish(report, function={"dispatched": "dispatch", "reconciled": "reconcile"}[last])
        else:
            self.taken += report.counts["MessagesReceived"]
            self.publish(report, function="execute", lane=self.lane)

    def put(self, namespace: str, metric: str, of: dict[str, Any], *values: float) -> None:
        """Values of a metric at this moment."""
        self.data.put(namespace, metric, dimensions(of), self.world.clock.now(), *values)
