"""Clocks and clients that fail in the ways the real ones do, and stores that count."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duecourse.testing.clock import SettableClock


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
