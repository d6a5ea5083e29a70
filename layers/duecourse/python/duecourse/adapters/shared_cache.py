"""A cache that the threads of a process share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Generic, TypeVar

from duecourse.ports import Clock

Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)


AGAIN_SECONDS = 5
"""After a failed fetch, a stale value is used for this time before the next fetch, in seconds."""


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    value: Value = field(repr=False)
    fetched: float
    until: float


@dataclass(slots=True, eq=False)  # not frozen: Python 3.11 fails to create a subscripted class that is frozen
class SharedCache(Generic[Value]):
    """Caches the `kept` values that were used last. Errors are not cached. Safe to share between threads: concurrent
    callers for the same key wait for one fetch, so a batch of ten runs sends one request. A fetch must not have the
    deadline of its caller.

    After an error `stale_after` of a fetch, a value (but not None) that was fetched less than `stale_seconds` ago is
    returned. Any other error is raised, since it is a defect.
    """

    clock: Clock
    kept: int = 256
    stale_after: type[Exception] | None = None
    stale_seconds: float = 0.0
    _known: OrderedDict[Hashable, _Entry[Value]] = field(default_factory=OrderedDict, init=False, repr=False)
    _asked: dict[Hashable, Future[Value]] = field(default_factory=dict, init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def get(self, key: Key, fetch: Callable[[Key], tuple[Value, float]]) -> Value:
        """Return the value of a key. `fetch` is called if it is not cached, and returns the value and the seconds for
        which it is cached. Raises the exceptions of `fetch`.
        """
        with self._lock:
            known = self._known.get(key)
            if known is not None and self.clock.now() < known.until:
                self._known.move_to_end(key)
                return known.value
            answer = self._asked.get(key)
            first = answer is None
            if answer is None:
                answer = self._asked[key] = Future()
        if first:
            self._fetch(key, fetch, answer)
        return answer.result()

    def drop(self, key: Hashable, *, before: float) -> bool:
        """Forget a value that was fetched before this time (UTC seconds). Return whether there was one."""
        with self._lock:
            known = self._known.get(key)
            if known is None or known.fetched >= before:
                return False
            del self._known[key]
            return True

    def _stale(self, key: Hashable, problem: BaseException) -> _Entry[Value] | None:
        """Return the expired value that is used after this error, and keep it for AGAIN_SECONDS."""
        known, now = self._known.get(key), self.clock.now()
        if known is None or known.value is None or self.stale_after is None:
            return None
        if not isinstance(problem, self.stale_after) or now - known.fetched >= self.stale_seconds:
            return None
        self._known[key] = replace(known, until=now + AGAIN_SECONDS)
        return known

    def _fetch(self, key: Key, fetch: Callable[[Key], tuple[Value, float]], answer: Future[Value]) -> None:
        try:
            value, seconds = fetch(key)
        except BaseException as problem:  # noqa: BLE001 - raised in all threads that wait for the response
            with self._lock:
                del self._asked[key]
                stale = self._stale(key, problem)
            if stale is None:
                answer.set_exception(problem)
            else:
                answer.set_result(stale.value)
            return
        now = self.clock.now()
        with self._lock:
            self._known[key] = _Entry(value, now, now + seconds)
            self._known.move_to_end(key)
            if len(self._known) > self.kept:
                self._known.popitem(last=False)
            del self._asked[key]
        answer.set_result(value)
