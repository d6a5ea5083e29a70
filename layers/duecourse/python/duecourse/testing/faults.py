"""Faults of stores, queues and clients: real objects with some methods replaced.

stage.run_store = around(stage.run_store, write=failing(OSError("throttled"), times=1))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
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


def before(act: Callable[[], object], *, times: int | None = None) -> Callable[..., Any]:
    """For `around`: run `act` before the call. `times` limits it to the first calls."""
    calls = count()

    def call(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if times is None or next(calls) < times:
            act()
        return real(*given, **named)

    return call


def after(act: Callable[[], object], *, times: int | None = None) -> Callable[..., Any]:
    """For `around`: run `act` between the call's effect and its response. `times` limits it to the first calls."""
    calls = count()

    def call(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
        answer = real(*given, **named)
        if times is None or next(calls) < times:
            act()
        return answer

    return call


def failing(error: BaseException, *, times: int | None = None) -> Callable[..., Any]:
    """For `around`: the call has no effect and raises `error`. `times` limits it to the first calls."""

    def fail() -> None:
        raise error

    return before(fail, times=times)


def answering(answer: Any) -> Callable[..., Any]:
    """For `around`: the call has no effect and returns `answer`."""
    return lambda _, *__, **___: answer
