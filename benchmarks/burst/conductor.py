"""Virtual time for code that blocks. Each process is a thread, and only the thread whose time it is runs.

So the real use cases run unchanged. The order of events depends only on virtual time and not on the machine: two runs
of a scenario are identical, down to the last message.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from threading import Semaphore, Thread


class _Stopped(BaseException):
    """Ends a process after its simulation. It is not an Exception, so that no handler in the process catches it."""


class Conductor:
    """The clock of a simulation. `now` is UTC seconds."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._back = Semaphore(0)
        self._problem: BaseException | None = None
        self._over = False

    def at(self, instant: float, event: Callable[[], None]) -> None:
        """Call `event` at an instant. It must not sleep."""
        heappush(self._events, (max(instant, self.now), next(self._numbers), event))

    def spawn(self, instant: float, process: Callable[[], None]) -> None:
        """Start a process at an instant. It may sleep."""
        self.at(instant, lambda: self._begin(process))

    def run(self, enough: Callable[[], bool]) -> None:
        """Run until no events are left or `enough` returns true. Raises the exceptions of processes."""
        while self._events and self._problem is None and not enough():
            self._step()
        self._over = True
        while self._events and self._problem is None:
            self._step()
        if self._problem is not None:
            raise self._problem

    def sleep_until(self, instant: float) -> None:
        """Called by processes: process all events before `instant`."""
        if instant <= self.now:
            return
        if not self._over and (not self._events or self._events[0][0] > instant):
            self.now = instant
            return
        mine = Semaphore(0)
        self.at(instant, lambda: self._hand_to(mine))
        self._back.release()
        mine.acquire()
        if self._over:
            raise _Stopped

    def _step(self) -> None:
        instant, _, event = heappop(self._events)
        self.now = max(self.now, instant)
        event()

    def _begin(self, process: Callable[[], None]) -> None:
        if not self._over:
            Thread(target=self._live, args=(process,), daemon=True).start()
            self._back.acquire()

    def _hand_to(self, waiting: Semaphore) -> None:
        waiting.release()
        self._back.acquire()

    def _live(self, process: Callable[[], None]) -> None:
        try:
            process()
        except _Stopped:
            pass
        except BaseException as problem:  # noqa: BLE001 - raised again by `run`, whose thread is the caller's
            self._problem = problem
        finally:
            self._back.release()
