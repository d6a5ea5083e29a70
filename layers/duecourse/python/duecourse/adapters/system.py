"""The system's time, randomness and certificate authorities, and threads for requests that can run in parallel."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, cached_property
from random import SystemRandom
from secrets import token_urlsafe
from typing import TypeVar

_NAP_SECONDS = 1.0


class SystemClock:
    """Wall-clock time."""

    def now(self) -> float:
        """The present instant, UTC epoch seconds."""
        return time.time()

    def sleep_until(self, instant: float) -> None:
        """Return at `instant` or within about a millisecond after it; never before.

        Long waits are slept in pieces, so that a correction of the machine's clock meanwhile is noticed.
        """
        while (left := instant - time.time()) > 0:
            time.sleep(min(left, _NAP_SECONDS))


class SystemRandomness:
    """Drawn from the operating system: two workers resumed from one snapshot must not draw the same."""

    def __init__(self) -> None:
        self._system = SystemRandom()

    def draw(self) -> float:
        """A number in [0, 1)."""
        return self._system.random()

    def nonce(self) -> str:
        """16 characters, 96 random bits."""
        return token_urlsafe(12)


T = TypeVar("T")
R = TypeVar("R")

MAX_WORKERS = 8
"""Requests side by side: at 10 ms a response, 800 batches a second, more than a function of one processor can make."""


class Threads:
    """ports.Executor. The threads are started with the first work that needs them, and idle until the next."""

    def __init__(self, max_workers: int = MAX_WORKERS) -> None:
        self._max_workers = max_workers

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._max_workers, thread_name_prefix="duecourse")

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """A single item is done by the caller."""
        if len(items) == 1:
            return [work(items[0])]
        futures = [self._pool.submit(work, item) for item in items]
        wait(futures)
        return [future.result() for future in futures]

    def begin(self, work: Callable[[], R]) -> Future[R]:
        """Begin something whose result is wanted later."""
        return self._pool.submit(work)


@cache
def system_trust() -> ssl.SSLContext:
    """The certificate authorities of the operating system, or botocore's copy where Python finds none."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and ssl.get_default_verify_paths().capath is None:
        from importlib.resources import files  # 10 ms, for those who need it

        context.load_verify_locations(cadata=files("botocore").joinpath("cacert.pem").read_text())
    return context
