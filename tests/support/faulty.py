"""Stores and clocks that fail in the ways the real ones do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from duecourse.domain.runs.states import Run
from duecourse.ports import Conflict, RunStore
from duecourse.testing.clock import SettableClock
from tests.support.world import Killed

Judge = Callable[[Run], bool]
"""Whether a write is hit."""


@dataclass
class FaultyRuns:
    """ports.RunStore: a write that `dies_before` or `dies_after` names kills its process there, one that `answers_lost`
    names is applied and then sent again by the SDK, as after a time-out; each hits once.
    """

    store: RunStore
    dies_before: Judge = lambda _: False
    dies_after: Judge = lambda _: False
    answers_lost: Judge = lambda _: False
    hits: list[Run] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def write(self, run: Run, previous: Run | None) -> Conflict | None:
        if not self.hits and self.dies_before(run):
            self.hits.append(run)
            raise Killed
        conflict = self.store.write(run, previous)
        if not self.hits and self.dies_after(run):
            self.hits.append(run)
            raise Killed
        if not self.hits and self.answers_lost(run):
            self.hits.append(run)
            return self.store.write(run, previous)
        return conflict


@dataclass
class CountedStore:
    """Any store: the name of each method that is called is added to `requests`."""

    store: Any
    requests: list[str]

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.store, name)

        def call(*with_: Any, **named: Any) -> Any:
            self.requests.append(name)
            return real(*with_, **named)

        return call


@dataclass
class FailingStore:
    """Any store: one method raises `error` where it is called with something that `hits`."""

    store: Any
    method: str
    error: Exception
    hits: Callable[..., bool] = lambda *_, **__: True
    failed: int = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.store, name)
        return partial(self._call, real) if name == self.method else real

    def _call(self, real: Callable[..., Any], *with_: Any, **named: Any) -> Any:
        if self.hits(*with_, **named):
            self.failed += 1
            raise self.error
        return real(*with_, **named)


@dataclass
class ThrottledStore:
    """Any store: one method is refused, as many `times` as it is called with something that `hits`."""

    store: Any
    method: str
    times: int = 1
    hits: Callable[..., bool] = lambda *_: True
    refused: int = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.store, name)
        return partial(self._call, real) if name == self.method else real

    def _call(self, real: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if self.refused < self.times and self.hits(*args):
            self.refused += 1
            raise OSError("ThrottlingException: throughput exceeds the current capacity")
        return real(*args, **named)


@dataclass
class Skewed:
    """ports.Clock: a machine whose clock is `seconds` ahead (or behind)."""

    clock: SettableClock
    seconds: float

    def now(self) -> float:
        return self.clock.now() + self.seconds

    def sleep_until(self, instant: float) -> None:
        self.clock.sleep_until(instant - self.seconds)


@dataclass
class ThrottledClient:
    """A DynamoDB client that lets a batch's statements fail one by one: `fails(n)` says whether the n-th statement
    (from 0, over all batches) is throttled. What is throttled is not executed; the others are, by the real client.
    """

    client: Any
    fails: Callable[[int], bool]
    count: int = 0
    batches: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def batch_execute_statement(self, Statements: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - boto3's word
        self.batches += 1
        numbered = [(self.count + index, statement) for index, statement in enumerate(Statements)]
        self.count += len(Statements)
        fine = [statement for number, statement in numbered if not self.fails(number)]
        answers = iter(self.client.batch_execute_statement(Statements=fine)["Responses"] if fine else [])
        throttled = {"Error": {"Code": "ThrottlingError", "Message": "Throughput exceeds the current capacity"}}
        return {"Responses": [throttled if self.fails(number) else next(answers) for number, _ in numbered]}
