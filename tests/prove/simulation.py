"""Simulated time and cooperative tasks: what happens next is decided by the clock and one seeded generator."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet


class Killed(BaseException):
    """The process of this task has died: no code of it runs any more."""


class HistoryError(Exception):
    """The history cannot be played: an error of the harness, not of the project."""


@dataclass(eq=False)
class Process:
    """A function instance, or the world outside of them. `skew` is what its clock is ahead of the true time, in
    seconds; `environ` its environment variables."""

    name: str
    skew: float = 0.0
    environ: dict[str, str] = field(default_factory=dict)
    tasks: set[Task] = field(default_factory=set)
    dead: bool = False


@dataclass(eq=False)
class Task:
    """A thread of a process. `result` or `error` is set when it has `ended`; `waiters` are called then."""

    work: Callable[[], Any]
    process: Process
    ended: bool = False
    result: Any = None
    error: BaseException | None = None
    waiters: list[Callable[[], None]] = field(default_factory=list)
    thread: greenlet | None = None


class Simulation:
    """An event loop over simulated seconds since 1970. Not thread-safe: all its tasks share one thread."""

    def __init__(self, start: float, random: Random) -> None:
        self.now = start
        self.random = random
        self.outside = Process("outside")
        self.current: Task | None = None
        self._hub = getcurrent()
        self._events: list[tuple[float, float, int, Callable[[], None]]] = []
        self._number = 0
        self.steps = 0

    @property
    def process(self) -> Process:
        """That of the running task."""
        return self.outside if self.current is None else self.current.process

    def at(self, instant: float, action: Callable[[], None]) -> None:
        """Run an action, which must not wait, at that instant; of simultaneous ones in random order."""
        self._number += 1
        heapq.heappush(self._events, (max(instant, self.now), self.random.random(), self._number, action))

    def spawn(self, work: Callable[[], Any], process: Process | None = None, after: float = 0.0) -> Task:
        """Start a task `after` so many seconds, in the running task's process unless another one is named."""
        task = Task(work, process or self.process)
        task.process.tasks.add(task)
        self.at(self.now + after, lambda: self.resume(task))
        return task

    def sleep(self, seconds: float) -> None:
        """Let the running task wait."""
        task = self._alive()
        self.at(self.now + max(seconds, 0.0), lambda: self.resume(task))
        self._hub.switch()

    def wait(self, *tasks: Task, timeout: float = inf) -> None:
        """Let the running task wait until all of these have ended, or for `timeout` seconds."""
        me, until = self._alive(), self.now + timeout
        for task in tasks:
            while not task.ended and self.now < until:
                waiting = [me]  # for whichever comes first
                task.waiters.append(lambda waiting=waiting: self.resume(waiting.pop()) if waiting else None)  # type: ignore[misc]
                if until < inf:
                    self.at(until, task.waiters[-1])
                self._hub.switch()

    def kill(self, process: Process) -> None:
        """End a process at once. If it is that of the running task, this raises Killed."""
        process.dead = True
        me = self.current
        for task in list(process.tasks):
            if task is not me:
                self._throw(task)
        if me is not None and me.process is process:
            raise Killed

    def run(self, until: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until an instant, or until a condition that is checked after each event holds."""
        while self._events and self._events[0][0] <= until and not enough():
            self.now, _, _, action = heapq.heappop(self._events)
            self.steps += 1
            action()
        if not enough():
            self.now = max(self.now, until)

    def _alive(self) -> Task:
        if self.current is None:
            raise HistoryError("only a task can wait")
        if self.current.process.dead:
            raise Killed
        return self.current

    def resume(self, task: Task) -> None:
        """Let a task continue, or start."""
        if task.ended:
            return
        if task.process.dead:
            self._throw(task)
            return
        before, self.current = self.current, task
        try:
            if task.thread is None:
                task.thread = greenlet(lambda: self._perform(task), self._hub)
            task.thread.switch()
        finally:
            self.current = before

    def _throw(self, task: Task) -> None:
        if task.thread is None:
            self._end(task, error=Killed())
            return
        before, self.current = self.current, task
        task.thread.parent = getcurrent()  # it ends here; a dead process waits for nothing
        try:
            task.thread.throw(Killed)
        finally:
            self.current = before

    def _perform(self, task: Task) -> None:
        try:
            self._end(task, result=task.work())
        except (Exception, Killed) as error:  # noqa: BLE001 - it belongs to the task
            self._end(task, error=error)

    def _end(self, task: Task, result: Any = None, error: BaseException | None = None) -> None:
        task.result, task.error = result, error
        self.release(task)

    def release(self, task: Task) -> None:
        """Count a task as ended, and let those that wait for it continue."""
        task.ended = True
        task.process.tasks.discard(task)
        for waiter in task.waiters:
            self.at(self.now, waiter)
