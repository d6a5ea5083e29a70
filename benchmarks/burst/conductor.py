"""Virtual time for code that blocks: each process is a thread, and only one of them runs, the one whose time it is.

So the real use cases run as they are. What they do next depends on virtual time alone, never on the machine: two runs
of a scenario are the same to the last message.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from threading import Semaphore, Thread


class _Stopped(BaseException):
    """Ends a process whose simulation is over. No Exception, so that nothing on its way holds it up."""


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
        """Call `event` at an instant; it must not sleep."""
        heappush(self._events, (max(instant, self.now), next(self._numbers), event))

    def spawn(self, instant: float, process: Callable[[], None]) -> None:
        """Begin a process at an instant; it may sleep."""
        self.at(instant, lambda: self._begin(process))

    def run(self, enough: Callable[[], bool]) -> None:
        """Until nothing is left to happen or `enough` is true. What a process raises is raised here."""
        while self._events and self._problem is None and not enough():
            self._step()
        self._over = True
        while self._events and self._problem is None:
            self._step()
        if self._problem is not None:
            raise self._problem

    def sleep_until(self, instant: float) -> None:
        """For processes: let everything else happen that comes before `instant`."""
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
