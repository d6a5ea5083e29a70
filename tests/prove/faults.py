"""What goes wrong between a function and the cloud, planned beforehand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

KINDS = ("throttled", "unavailable", "unsent", "lost", "slow", "dies_before", "dies_after", "partial")
"""`unsent`: the connection breaks before the request takes effect; `lost`: after it. `partial`: of a batch only a part
is done, and other requests are throttled. `slow`: the request takes effect after `seconds`, perhaps after its sender
has given up. `dies`: the process ends."""

OPERATIONS = {
    "api": (
        *("GetItem/jobs", "GetItem/runs", "PutItem/jobs", "PutItem/runs", "UpdateItem/jobs", "UpdateItem/runs"),
        *("Query/jobs", "Query/runs", "TransactWriteItems", "SendMessageBatch", "SendMessageBatch", "DeleteItem/jobs"),
    ),
    "callbacks": ("GetItem/runs", "UpdateItem/runs", "SendMessageBatch", "GetItem/jobs"),
    "dispatch": (
        *("Query/jobs", "Query/runs", "Query/runs", "BatchExecuteStatement", "SendMessageBatch", "UpdateItem/jobs"),
        *("GetItem/jobs", "PutItem/runs", "TransactWriteItems"),
    ),
    "execute": (
        *("GetItem/jobs", "GetItem/runs", "GetItem/runs", "PutItem/runs", "PutItem/runs", "PutItem/runs", "Call"),
        *("UpdateItem/runs", "UpdateItem/jobs", "PutItem/jobs", "Query/runs", "DeleteItem/runs", "DeleteItem/jobs"),
        *("SendMessageBatch", "SendMessageBatch", "SendMessageBatch", "ChangeMessageVisibility", "Publish", "Call"),
        *("TransactWriteItems", "BatchGetItem", "UpdateItem/runs", "DeleteItem/runs"),
    ),
    "reconcile": ("ReceiveMessage", "GetItem/runs", "PutItem/runs", "SendMessageBatch", "DeleteMessage", "Publish"),
    "repair": ("Scan/jobs", "GetItem/jobs", "UpdateItem/jobs", "Query/runs"),
    "tick": ("SendMessageBatch", "UpdateItem/jobs", "PutItem/jobs"),
}
"""By function, operations that can fail; those that do most are named more than once."""


@dataclass(frozen=True)
class Fault:
    """The `number`-th request (from 1) of an operation by a function, and the next ones, `times` in all."""

    function: str
    operation: str
    number: int
    kind: str
    times: int = 1
    seconds: float = 0.0

    @staticmethod
    def drawn(random: Random) -> Fault:
        """Any fault."""
        function = random.choices(list(OPERATIONS), (4, 1, 3, 14, 1, 1, 1))[0]
        kind = random.choice(KINDS)
        return Fault(
            function,
            random.choice(OPERATIONS[function]),
            min(int(random.expovariate(1 / 5)) + 1, 40),
            kind,
            1 if kind.startswith("dies") else random.choice((1, 1, 1, 4, 8, 16)),
            round(random.uniform(0.5, 8), 2) if kind == "slow" else 0.0,
        )


class Faults:
    """The faults of a history, and how often each operation was asked for. `over`: no more of them."""

    def __init__(self, planned: list[Fault]) -> None:
        self._planned = planned
        self._counts: Counter[tuple[str, str]] = Counter()
        self.over = False
        self.met: Counter[Fault] = Counter()

    def meet(self, function: str, operation: str) -> Fault | None:
        """That of the present request, if there is one."""
        if self.over:
            return None
        self._counts[function, operation] += 1
        count = self._counts[function, operation]
        for fault in self._planned:
            if (fault.function, fault.operation) == (function, operation) and 0 <= count - fault.number < fault.times:
                self.met[fault] += 1
                return fault
        return None
