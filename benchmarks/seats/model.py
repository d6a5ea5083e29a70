"""A simulation of one lane of stage prod, message by message: queues, Lambda's pollers, batches, and tenants with slow
calls.

Executions take batches of messages from a queue. An execution is busy until the slowest call of its batch has ended.
Pollers start with five executions, and add five a second while messages wait. SQS delivers messages of quiet tenants
before those of noisy ones (fair queues, by their documented thresholds).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import count
from math import ceil
from random import Random

from benchmarks.burst.limits import FIRST_POLLERS, POLLER_GROWTH

MINUTE = 60.0
BATCH_SECONDS = 0.1
"""The time that a batch takes in addition to its slowest call (docs/sizing.md)."""

SKIPPED_SECONDS = 0.01
"""The time for a run that is skipped by `overlap: skip`, because another run of its job is active."""

NOISY_SHARE, NOISY_IN_FLIGHT = 0.1, 30
"""A tenant is a noisy neighbour if it has more than this share of a queue's messages in flight, and at least this
number (Amazon SQS Developer Guide, "How Amazon SQS fair queues work").
"""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with `jobs` that fire every minute, all in one second or `spread` over the minute, and with calls of
    `seconds`. Of each `chain` of jobs only the first fires; each other job starts when the previous one has ended, as
    in a workflow.
    """

    name: str
    jobs: int
    seconds: float
    spread: bool = True
    chain: int = 1


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane with `executions` at the same time for each queue, and batches of `batch` messages. `seats`: the seats of
    a tenant (None: one queue for all, as before seats existed).
    """

    executions: int
    batch: int
    seats: int | None


@dataclass(slots=True)
class Message:
    """A firing: its due time (s), its tenant and job, the duration of its call, and the number of jobs that
    follow it.
    """

    due: float
    tenant: str
    job: int
    seconds: float
    followed: int = 0


@dataclass(slots=True)
class _Queue:
    """A queue and its executions."""

    lane: Lane
    waiting: dict[str, deque[Message]] = field(default_factory=dict)
    flying: Counter[str] = field(default_factory=Counter)
    busy: int = 0
    allowed: float = FIRST_POLLERS.value
    grown_at: float = 0.0
    alive: dict[tuple[str, int], float] = field(default_factory=dict)
    starts: list[tuple[Message, float]] = field(default_factory=list)
    following: list[Message] = field(default_factory=list)

    def run(self, messages: Iterable[Message]) -> list[tuple[Message, float]]:
        """Process all messages. Return each with its start time."""
        number = count()
        events: list[tuple[float, int, Message | list[Message] | None]] = [
            (each.due, next(number), each) for each in messages
        ]
        heapify(events)
        growing = False
        while events:
            now, _, what = heappop(events)
            if isinstance(what, Message):
                self.waiting.setdefault(what.tenant, deque()).append(what)
            elif what is None:
                growing = False
                self.allowed = min(self.allowed + 1, float(self.lane.executions))
            else:
                self.busy -= 1
                self.flying.subtract(each.tenant for each in what)
            for ends, batch in self._take(now):
                heappush(events, (ends, next(number), batch))
            for each in self.following:
                heappush(events, (each.due, next(number), each))
            self.following.clear()
            if not growing and any(self.waiting.values()) and self.allowed < self.lane.executions:
                growing = True
                heappush(events, (now + MINUTE / POLLER_GROWTH.value, next(number), None))
        return self.starts

    def _take(self, now: float) -> Iterator[tuple[float, list[Message]]]:
        """Yield batches for the free executions. Waiting messages are distributed among them."""
        while (idle := int(min(self.allowed, self.lane.executions)) - self.busy) > 0:
            left = sum(map(len, self.waiting.values()))
            if not left:
                return
            batch = [self._next() for _ in range(min(self.lane.batch, ceil(left / idle)))]
            self.busy += 1
            yield now + max(self._begin(each, now) for each in batch) + BATCH_SECONDS, batch

    def _next(self) -> Message:
        """Return the oldest message of the quiet tenants or, if there is none, of the noisy tenant with the fewest
        messages in flight.
        """
        whole = sum(self.flying.values())

        def rank(tenant: str) -> tuple[int, float]:
            flies = self.flying[tenant]
            noisy = flies >= NOISY_IN_FLIGHT and flies > whole * NOISY_SHARE
            return (1, flies) if noisy else (0, self.waiting[tenant][0].due)

        tenant = min((name for name, kept in self.waiting.items() if kept), key=rank)
        self.flying[tenant] += 1
        return self.waiting[tenant].popleft()

    def _begin(self, message: Message, now: float) -> float:
        """Return how long the message keeps its execution busy (s)."""
        job = message.tenant, message.job
        if self.alive.get(job, 0.0) > now:
            return SKIPPED_SECONDS
        self.starts.append((message, now))
        self.alive[job] = now + message.seconds
        if message.followed:
            due, followed = now + message.seconds, message.followed - 1
            self.following.append(replace(message, due=due, job=message.job + 1, followed=followed))
        return message.seconds


def lateness(lane: Lane, tenants: Sequence[Tenant], of: str, *, minutes: int, seed: int) -> list[float]:
    """Return the lateness (s) of each run of the tenant `of`, in ascending order."""
    messages = [each for tenant in tenants for each in _firings(tenant, minutes, Random(f"{seed} {tenant.name}"))]
    if lane.seats is None:
        starts = _Queue(lane).run(messages)
    else:
        seated = [each for each in messages if each.job < lane.seats]
        starts = _Queue(lane).run(seated)
        starts += _Queue(lane).run(each for each in messages if each.job >= (lane.seats or 0))
    return sorted(at - message.due for message, at in starts if message.tenant == of)


def _firings(tenant: Tenant, minutes: int, chance: Random) -> Iterator[Message]:
    for job in range(0, tenant.jobs, tenant.chain):
        second = float(chance.randrange(60)) if tenant.spread else 0.0
        for minute in range(minutes):
            yield Message(minute * MINUTE + second, tenant.name, job, tenant.seconds, tenant.chain - 1)
