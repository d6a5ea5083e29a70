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
    """The system clock."""

    def now(self) -> float:
        return time.time()

    def sleep_until(self, instant: float) -> None:
        """Return at `instant` or within about a millisecond after it, never before.

        Long waits are divided, so that a correction of the machine's clock during the wait has an effect.
        """
        while (left := instant - time.time()) > 0:
            time.sleep(min(left, _NAP_SECONDS))


class SystemRandomness:
    """Randomness of the operating system: two workers that are resumed from the same snapshot must not draw the same
    numbers.
    """

    def __init__(self) -> None:
        self._system = SystemRandom()

    def draw(self) -> float:
        return self._system.random()

    def nonce(self) -> str:
        return token_urlsafe(12)  # 16 characters with 96 random bits


T = TypeVar("T")
R = TypeVar("R")

MAX_WORKERS = 8
"""The number of concurrent requests. At 10 ms a response this allows 800 batches a second, more than a function with
one processor can send.
"""


class Threads:
    """Implementation of ports.Executor. Threads are started when work needs them, and are then kept
    for further work.
    """

    def __init__(self, max_workers: int = MAX_WORKERS) -> None:
        self._max_workers = max_workers

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._max_workers, thread_name_prefix="duecourse")

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return the results of `work` for all items. A single item is processed in the calling thread."""
        if len(items) == 1:
            return [work(items[0])]
        futures = [self._pool.submit(work, item) for item in items]
        wait(futures)
        return [future.result() for future in futures]

    def begin(self, work: Callable[[], R]) -> Future[R]:
        """Start work whose result is needed later."""
        return self._pool.submit(work)


@cache
def system_trust() -> ssl.SSLContext:
    """Return the certificate authorities of the operating system, or those of botocore if Python finds none."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and ssl.get_default_verify_paths().capath is None:
        from importlib.resources import files  # takes 10 ms, so it is imported only here

        context.load_verify_locations(cadata=files("botocore").joinpath("cacert.pem").read_text())
    return context
