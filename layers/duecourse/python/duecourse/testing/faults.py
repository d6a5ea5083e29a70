"""Faults of stores, queues and clients: real objects with some methods replaced.

stage.run_store = around(stage.run_store, write=failing(OSError("throttled"), times=1))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any


def around(real: Any, **instead: Callable[..., Any]) -> Any:
    """Return `real` with some of its methods replaced. A function in `instead` receives the real method and then the
    arguments of the call.
    """
    return _Around(real, instead)


class _Around:
    def __init__(self, real: Any, instead: dict[str, Callable[..., Any]]) -> None:
        self._real = real
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        if name in self._instead:
            return partial(self._instead[name], getattr(self._real, name, None))
        return getattr(self._real, name)

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._real)


@dataclass
class Fault:
    """A fault for `around`. `hits` counts the calls that it affected.

    Attributes:
        act: receives the call and returns its answer, or raises.
        times: the number of calls that are affected; None means all.
        when: receives the arguments of a call and returns whether the call is affected.

    """

    act: Callable[[Callable[[], Any]], Any]
    times: int | None = None
    when: Callable[..., bool] | None = None
    hits: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __call__(self, real: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Make the call."""
        hit = self.when is None or self.when(*given, **named)
        with self._lock:  # calls may be made by several threads
            hit = hit and (self.times is None or self.hits < self.times)
            self.hits += hit
        call = partial(real, *given, **named)
        return self.act(call) if hit else call()


def before(act: Callable[[], object], *, times: int | None = None, when: Callable[..., bool] | None = None) -> Fault:
    """Return a fault for `around` that runs `act` before the call."""
    return Fault(lambda call: (act(), call())[1], times, when)


def after(act: Callable[[], object], *, times: int | None = None, when: Callable[..., bool] | None = None) -> Fault:
    """Return a fault for `around` that runs `act` between the call's effect and its response."""
    return Fault(lambda call: (call(), act())[0], times, when)


def failing(error: BaseException, *, times: int | None = None, when: Callable[..., bool] | None = None) -> Fault:
    """Return a fault for `around`: the call has no effect and raises `error`."""

    def fail() -> None:
        raise error

    return before(fail, times=times, when=when)


def lost(error: BaseException, *, times: int | None = None, when: Callable[..., bool] | None = None) -> Fault:
    """Return a fault for `around`: the call takes effect, but its response is lost, and it raises `error`."""

    def fail() -> None:
        raise error

    return after(fail, times=times, when=when)


def throttled(*, times: int | None = None, when: Callable[..., bool] | None = None) -> Fault:
    """Return a fault for `around`: the call fails as if DynamoDB had throttled it."""
    return failing(OSError("ThrottlingException: throughput exceeds the current capacity"), times=times, when=when)


def twice(*, times: int | None = None, when: Callable[..., bool] | None = None) -> Fault:
    """Return a fault for `around`: the call is executed twice, as if the client had received no response to the first
    one.
    """
    return Fault(lambda call: (call(), call())[1], times, when)


def answering(answer: Any) -> Callable[..., Any]:
    """Return a fault for `around`: the call has no effect and returns `answer`."""
    return lambda _, *__, **___: answer
