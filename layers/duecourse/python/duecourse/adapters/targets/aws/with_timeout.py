"""A time-out for what knows none."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from duecourse.adapters.targets.http.deadline import Deadline

T = TypeVar("T")


def with_timeout(deadline: Deadline, ask: Callable[[], T], name: str) -> T:
    """What `ask` returns or raises; TimeoutError when the deadline comes first.

    It runs in a thread of its own, called `name`. These are the only threads that may outlive their call: what they ask
    must hold nothing, change nothing that matters, and end by itself.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as problem:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(problem)

    left = deadline.left()
    Thread(target=run, name=name, daemon=True).start()
    return answer.result(timeout=left)
