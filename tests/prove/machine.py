"""The standard library as processes of the simulation see it: clock, sleep, environment, threads and random numbers.

Functions read the system's clock and start threads; there is no place to inject them. So `install` replaces what they
use in the standard library, before the project is imported. It does so for the whole process: run it in one of its own.
"""

from __future__ import annotations

import concurrent.futures
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from math import inf
from threading import get_ident
from typing import Any, NamedTuple

from tests.prove.simulation import Killed, Simulation, Task

real_time = time.monotonic
"""The machine's own clock, for budgets."""

_time, _sleep, _urandom = time.time, time.sleep, os.urandom


class Machine:
    """The simulation that is running, None before the first one. `seeded` draws what programs take for randomness."""

    def __init__(self) -> None:
        self.simulation: Simulation | None = None
        self.seeded = random.Random(0)
        self._thread = get_ident()  # emulators have threads of their own, which sleep in real time

    def begin(self, simulation: Simulation, seed: int) -> None:
        """From now on time is this simulation's."""
        self.simulation = simulation
        self.seeded = random.Random(seed)
        random.seed(seed)

    def time(self) -> float:
        """UTC seconds, as the clock of the running process shows them."""
        running = self.simulation
        return _time() if running is None else running.now + running.process.skew

    def monotonic(self) -> float:
        running = self.simulation
        return real_time() if running is None else running.now

    def sleep(self, seconds: float) -> None:
        if self.simulation is None or self.simulation.current is None or get_ident() != self._thread:
            _sleep(seconds)
        else:
            self.simulation.sleep(seconds)

    def urandom(self, size: int) -> bytes:
        return _urandom(size) if self.simulation is None else self.seeded.randbytes(size)


machine = Machine()


def install() -> Machine:
    """Replace the standard library's; once, and before anything of the project is imported."""
    time.time, time.monotonic, time.sleep = machine.time, machine.monotonic, machine.sleep  # type: ignore[assignment]
    os.urandom = machine.urandom
    random._urandom = machine.urandom  # type: ignore[attr-defined]
    os.environ = Environment(os.environ)  # type: ignore[assignment]  # noqa: B003 - nothing is to be cleared
    concurrent.futures.ThreadPoolExecutor = Pool  # type: ignore[assignment, misc]
    concurrent.futures.wait = _wait  # type: ignore[assignment]
    return machine


class Environment(MutableMapping[str, str]):
    """`os.environ`: the variables of the running process, over those of this one."""

    def __init__(self, system: MutableMapping[str, str]) -> None:
        self._system = system

    def _own(self) -> dict[str, str]:
        running = machine.simulation
        return {} if running is None else running.process.environ

    def __getitem__(self, name: str) -> str:
        own = self._own()
        return own[name] if name in own else self._system[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._system[name] = value

    def __delitem__(self, name: str) -> None:
        del self._system[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._system, **self._own()})

    def __len__(self) -> int:
        return len({**self._system, **self._own()})

    def copy(self) -> dict[str, str]:
        return {**self._system, **self._own()}


class Threaded:
    """concurrent.futures.Future of a task."""

    def __init__(self, simulation: Simulation, task: Task) -> None:
        self._simulation = simulation
        self.task = task

    def result(self, timeout: float | None = None) -> Any:
        self._simulation.wait(self.task)
        if isinstance(self.task.error, Killed):
            raise Killed
        if self.task.error is not None:
            raise self.task.error
        return self.task.result

    def done(self) -> bool:
        return self.task.ended

    def cancel(self) -> bool:
        return False


class Pool:
    """concurrent.futures.ThreadPoolExecutor: its threads are tasks of the running process."""

    def __init__(self, max_workers: int | None = None, **_: Any) -> None:
        self._futures: list[Threaded] = []

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Threaded:
        simulation = machine.simulation
        if simulation is None:
            raise RuntimeError("threads are started in a simulation only")
        future = Threaded(simulation, simulation.spawn(lambda: work(*args, **named)))
        self._futures = [each for each in self._futures if not each.done()] + [future]
        return future

    def map(self, work: Callable[..., Any], *items: Iterable[Any], **_: Any) -> Iterator[Any]:
        futures = [self.submit(work, *each) for each in zip(*items, strict=False)]
        return (future.result() for future in futures)

    def shutdown(self, wait: bool = True, **_: Any) -> None:
        if wait:
            _wait(self._futures)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()


class Waited(NamedTuple):
    """The result of `concurrent.futures.wait`."""

    done: set[Threaded]
    not_done: set[Threaded]


def _wait(futures: Sequence[Threaded], timeout: float | None = None) -> Waited:
    if (simulation := machine.simulation) is not None:
        simulation.wait(*(future.task for future in futures), timeout=inf if timeout is None else timeout)
    done = {future for future in futures if future.done()}
    return Waited(done, set(futures) - done)
