"""Where a fault strikes: every write of every component comes by here before it is made."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from duecourse.ports import Clock
from tests.support.client_faults import Fault, Request
from tests.support.fault_table.points import CALL, NAMES, Point, written
from tests.support.world import Killed

T = TypeVar("T")
DEATHS = frozenset({Fault.DIES_BEFORE, Fault.DIES_AFTER})
LASTING = frozenset({Fault.ANSWER_LOST, Fault.REFUSED})
"""Faults that last for the invocation: whoever asks for the same write again there meets them again."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What is to happen where."""

    point: Point
    fault: Fault


@dataclass
class Danger:
    """Records the points in the order in which they come; what is aimed at is struck once."""

    aim: Aim | None = None
    points: list[Point] = field(default_factory=list)
    struck: bool = False
    attempt_lost: bool = False
    """Whether the fault may rightly cost an attempt: it struck between the records of its start and of its end."""
    clock: Clock | None = None
    last_write_at: float = 0.0
    """UTC seconds; of whatever the system asked for, but for index repair."""
    _component: str | None = None
    _dead: bool = False
    _persists: tuple[str, str] | None = None
    _attempt_open: bool = False
    _met: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def process(self, component: str, act: Callable[[], T]) -> tuple[bool, T | None]:
        """An invocation of a component: whether it lived to its end, and what `act` returned. Raises what it raises."""
        self._component, self._dead, self._persists, self._attempt_open = component, False, None, False
        try:
            return True, act()
        except Killed:
            return False, None
        finally:
            self._component = None

    def of_request(self, request: Request) -> Fault | None:
        """For a client of DynamoDB."""
        what, keys = written(request)
        fault = self.of(NAMES[request.operation], what, f"{what} {keys}")
        if what.startswith("RUN ") and fault not in (Fault.DIES_BEFORE, Fault.REFUSED):
            self._attempt_open = "RUN RUNNING" in what
        return self._judged(fault, recorded=what.startswith("RUN "))

    def of_port(self, operation: str, what: str) -> Fault | None:
        """For what is asked of a queue, a topic, a bus or a target."""
        fault = self.of(operation, what, what)
        return self._judged(fault, recorded=False, called=operation == CALL)

    def of(self, operation: str, what: str, keys: str) -> Fault | None:
        """What happens to a write; a process that has died asks for nothing any more."""
        if self._component is None:
            return None
        if self._dead:
            raise Killed
        if self.clock is not None and self._component != "index repair":
            self.last_write_at = self.clock.now()
        if self._persists == (operation, keys):
            assert self.aim is not None
            return self.aim.fault
        kind = (self._component, operation, what)
        self._met[kind] += 1
        point = Point(*kind, ordinal=self._met[kind])
        self.points.append(point)
        if self.struck or self.aim is None or self.aim.point != point:
            return None
        self.struck = True
        self._dead = self.aim.fault in DEATHS
        self._persists = (operation, keys) if self.aim.fault in LASTING else None
        return self.aim.fault

    def _judged(self, fault: Fault | None, *, recorded: bool, called: bool = False) -> Fault | None:
        if fault is None or fault is Fault.TWICE:
            return fault
        read_back = recorded and fault is Fault.ANSWER_LOST
        self.attempt_lost = self.attempt_lost or called or (self._attempt_open and not read_back)
        return fault
