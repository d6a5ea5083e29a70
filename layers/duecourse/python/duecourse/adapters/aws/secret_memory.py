"""Secrets as they were fetched a moment ago, in memory only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock

from duecourse.ports import Clock

KNOWN_SECONDS = 60
"""How long a secret is believed: a rotated one is used within a minute."""

UNKNOWN_SECONDS = 5
"""How long it is believed that there is none."""

_KEPT = 256


@dataclass(frozen=True, slots=True)
class _Known:
    value: str | None = field(repr=False)
    until: float


class SecretMemory:
    """Remembers answers, but no failures. Safe to share between threads: who asks for what is being fetched waits for
    that very answer, so a batch of ten runs makes one request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._asked: dict[str, Future[str | None]] = {}
        self._lock = Lock()

    def get(self, path: str, fetch: Callable[[str], str | None]) -> str | None:
        """The secret at that path, or None where there is none; `fetch(path)` is asked when that is not known.

        Raises what `fetch` raises.
        """
        with self._lock:
            known = self._known.get(path)
            if known is not None and self._clock.now() < known.until:
                self._known.move_to_end(path)
                return known.value
            answer = self._asked.get(path)
            first = answer is None
            if answer is None:
                answer = self._asked[path] = Future()
        if first:
            self._fetch(path, fetch, answer)
        return answer.result()

    def _fetch(self, path: str, fetch: Callable[[str], str | None], answer: Future[str | None]) -> None:
        try:
            value = fetch(path)
        except BaseException as problem:  # noqa: BLE001 - raised by everybody who waits for the answer
            with self._lock:
                del self._asked[path]
            answer.set_exception(problem)
            return
        until = self._clock.now() + (UNKNOWN_SECONDS if value is None else KNOWN_SECONDS)
        with self._lock:
            self._known[path] = _Known(value, until)
            self._known.move_to_end(path)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
            del self._asked[path]
        answer.set_result(value)
