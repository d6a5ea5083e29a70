"""A stage that lives in simulated time: ticks, event sources, the API, and the targets that its jobs call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.prove.cloud import Cloud
from tests.prove.executions import StateMachines
from tests.prove.faults import Faults
from tests.prove.functions import Functions, Invocation
from tests.prove.machine import machine
from tests.prove.plan import START, Conditions, Plan
from tests.prove.queues import Message, Queue, record
from tests.prove.simulation import Simulation, Task
from tests.prove.stage import Deployed, EventSource, Rule
from tests.prove.targets import SUCCESS, TargetCall, Targets
from tests.support.api_events import api_event

POLL_SECONDS = 0.02
GHOST_SECONDS = 5
"""A message that comes again after this time is one whose delete was not seen by all of SQS's servers."""

RETRY_SECONDS = 60
"""After which EventBridge starts a function again that has failed."""


@dataclass(frozen=True)
class Reply:
    """An answer of the API. `status` None: none came, and nobody knows whether the request had an effect."""

    status: int | None
    document: Any
    asked: float
    answered: float

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass
class Asked:
    """A request to the API and its answer."""

    method: str
    path: str
    body: Any
    reply: Reply


@dataclass(eq=False)
class Source:
    """An event source mapping at work."""

    settings: EventSource
    queue: Queue
    running: int = 0


class World:
    """One stage and what surrounds it, as a plan says."""

    def __init__(self, plan: Plan, deployed: Deployed, begin: float = 0.0) -> None:
        """`begin`: so many seconds after START."""
        self.plan = plan
        self.begins = START + begin
        self.deployed = deployed
        random = Random(f"{plan.seed}/world")
        self.simulation = Simulation(self.begins, Random(f"{plan.seed}/order"))
        machine.begin(self.simulation, plan.seed)
        self.random = random
        self.conditions: Conditions = plan.conditions
        self.faults = Faults(plan.faults)
        self.asked: list[Asked] = []
        self.queues = self._queues()
        self.cloud = Cloud(self.simulation, deployed, self.faults, self.queues, latencies=Random(f"{plan.seed}/wire"))
        self.functions = Functions(self.simulation, Random(f"{plan.seed}/skew"), plan.conditions.skew)
        self.sources = [Source(each, self.queues[each.queue]) for each in deployed.sources]
        self.targets = Targets(self.simulation, self.faults, self._behave, self._called, self._answer)
        self.machines = StateMachines(self.simulation, plan, self.targets, self.queues[deployed.ends])
        self.cloud.machines = self.machines
        self.called: Callable[[TargetCall], None] = lambda _: None
        self.calm = False
        for rule in deployed.rules:
            if deployed.functions[rule.function].folder != "audit":
                self._schedule(rule)

    def _behave(self, call: TargetCall) -> tuple[str, float]:
        return self.plan.behaviour(call.run, call.attempt, call.began)

    def _answer(self, call: TargetCall) -> bytes:
        """What a successful call returns; `{attempt}` in the plan's answer is that of the call."""
        body = self.plan.targets.get(call.job, {}).get("body")
        return SUCCESS if body is None else json.dumps(body).replace("{attempt}", str(call.attempt)).encode()

    def _called(self, call: TargetCall) -> None:
        self.called(call)

    # Queues and event sources.

    def _queues(self) -> dict[str, Queue]:
        made = {
            name: Queue(settings, self.simulation, self._arrived) for name, settings in self.deployed.queues.items()
        }
        for queue in made.values():
            if queue.settings.dead_letters is not None:
                queue.dead_letters = made[queue.settings.dead_letters]
        return made

    @property
    def lanes(self) -> list[Queue]:
        """The queues that hold messages of runs."""
        return [each for each in self.queues.values() if each.dead_letters is not None]

    @property
    def dead_letters(self) -> Queue:
        """The dead-letter queue of the lanes."""
        found = self.lanes[0].dead_letters
        assert found is not None
        return found

    def _arrived(self, queue: Queue, instant: float) -> None:
        for source in self.sources:
            if source.queue is queue:
                poll = self.random.uniform(0, POLL_SECONDS)
                self.simulation.at(instant + poll, lambda source=source: self._pump(source))  # type: ignore[misc]

    def _pump(self, source: Source) -> None:
        function = self.deployed.functions[source.settings.function]
        stopped = self.conditions.stopped(self.simulation.now)
        if function.folder == "execute" and stopped is not None:
            self.simulation.at(stopped, lambda: self._pump(source))
            return
        while source.running < source.settings.concurrency:
            batch = source.queue.receive(self.random.randint(1, source.settings.batch))
            if not batch:
                return
            if function.folder == "execute" and not self.calm:
                for message in batch:
                    self._double(source.queue, message)
            self._hand_over(source, batch)

    def _double(self, queue: Queue, message: Message) -> None:
        """SQS delivers at least once: now and then twice, at the same time or later."""
        if not message.doubled and self.random.random() < self.conditions.doubled:
            message.doubled = True
            wait = self.random.choice((0.0, 0.01, self.random.uniform(0, 5), self.random.uniform(0, 300)))
            instant = self.simulation.now + wait
            ghost = wait > GHOST_SECONDS
            copy = Message(message.id, message.body, message.group, instant, message.sent, doubled=True, ghost=ghost)
            queue.put(copy)

    def _hand_over(self, source: Source, batch: list[Message]) -> None:
        source.running += 1
        receipts = {message.id: message.receipt for message in batch}

        def done(ended: Invocation) -> None:
            source.running -= 1
            if not ended.died and ended.error is None:
                failed = set()
                if source.settings.partial:
                    failed = {each["itemIdentifier"] for each in (ended.answer or {}).get("batchItemFailures", ())}
                for name, receipt in receipts.items():
                    if name not in failed:
                        source.queue.delete(receipt)
            self._pump(source)

        event = {"Records": [record(message, source.settings.queue) for message in batch]}
        self.functions.invoke(self.deployed.functions[source.settings.function], event, done)

    # Rules.

    def _schedule(self, rule: Rule) -> None:
        function = self.deployed.functions[rule.function]
        offset = 0.0 if function.folder == "tick" else self.random.uniform(0, rule.seconds)
        count = 0

        def fire() -> None:
            nonlocal count
            times = self.conditions.ticks(count, self.simulation.now) if function.folder == "tick" else 1
            for _ in range(times):
                late = self.random.uniform(0, 2)
                self.simulation.at(self.simulation.now + late, lambda: self._start(rule, retry=True))
            count += 1
            self.simulation.at(self.begins + offset + count * rule.seconds, fire)

        self.simulation.at(self.begins + offset, fire)

    def _start(self, rule: Rule, *, retry: bool) -> None:
        def done(ended: Invocation) -> None:
            if retry and (ended.died or ended.error is not None):
                again = self.simulation.now + RETRY_SECONDS
                self.simulation.at(again, lambda: self._start(rule, retry=False))

        event = {"version": "0", "id": "1", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {}}
        self.functions.invoke(self.deployed.functions[rule.function], event, done)

    # The API.

    def read(self, path: str, query: Mapping[str, str] | None = None) -> Reply:
        """GET it, as a client that waits where the API asks it to."""
        for _ in range(10):
            reply = self.ask("GET", path, query=query)
            if reply.status not in (429, 503):
                break
            self.simulation.sleep(2)
        return reply

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        token: str = "",
        key: str | None = None,
    ) -> Reply:
        """Make a request to the API, and wait for its answer. `key` is its idempotency key."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        if key is not None:
            headers["idempotency-key"] = key
        asked = self.simulation.now
        event = api_event(
            method,
            path,
            query=query,
            body=None if body is None else json.dumps(body),
            headers=headers or None,
        )
        waiting = self.simulation.current
        assert waiting is not None
        ended: list[Invocation] = []

        def done(invocation: Invocation) -> None:
            ended.append(invocation)
            self.simulation.release(answered)

        answered = Task(lambda: None, self.simulation.outside)
        self.functions.invoke(self.deployed.function(method, path), event, done)
        self.simulation.wait(answered)
        answer = ended[0].answer
        status = None if answer is None else int(answer["statusCode"])
        text = "" if answer is None else answer.get("body", "")
        reply = Reply(status, json.loads(text) if text else None, asked, self.simulation.now)
        self.asked.append(Asked(method, path, body, reply))
        return reply
