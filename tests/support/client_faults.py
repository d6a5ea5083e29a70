"""A DynamoDB client whose writes meet a fault: the view of production's adapters on network and table faults."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from duecourse.ports import NoAnswerError, ServiceError
from tests.support.world import Killed

WRITES = frozenset(
    {"batch_execute_statement", "batch_write_item", "delete_item", "put_item", "transact_write_items", "update_item"}
)
READS = frozenset({"batch_get_item", "get_item", "query", "scan"})

SDK_TRIES = 3
"""The number of times that a request without a response reaches the table."""


class Fault(StrEnum):
    """The fault of a request. ANSWER_LOST: at every try of the SDK. TWICE: the first response is lost, the second one
    arrives.
    """

    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    ANSWER_LOST = "answer lost"
    REFUSED = "refused"
    TWICE = "twice"


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a client: the name of its method and its arguments."""

    operation: str
    asked: dict[str, Any]


@dataclass
class FaultyClient:
    """`fault_of` returns the fault of a request of `kinds` (None: no fault); `seen` has all of these requests."""

    client: Any
    fault_of: Callable[[Request], Fault | None] = lambda _: None
    kinds: frozenset[str] = WRITES
    seen: list[Request] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.client, name)
        if name not in self.kinds:
            return real

        def ask(**asked: Any) -> Any:
            request = Request(name, asked)
            self.seen.append(request)
            return answered(lambda: real(**asked), self.fault_of(request), name)

        return ask


def answered(send: Callable[[], Any], fault: Fault | None, operation: str) -> Any:
    """Return the response that a caller receives for a request with a fault. `send` makes the request and returns the
    server's response.
    """
    match fault:
        case None:
            return send()
        case Fault.DIES_BEFORE:
            raise Killed
        case Fault.DIES_AFTER:
            send()
            raise Killed
        case Fault.ANSWER_LOST:
            for _ in range(SDK_TRIES):
                _unheard(send)
            raise NoAnswerError(f"{operation}: timed out")
        case Fault.REFUSED:
            raise ServiceError("ThrottlingException", "Rate exceeded")
        case Fault.TWICE:
            _unheard(send)
            return send()


def _unheard(send: Callable[[], Any]) -> None:
    try:
        send()
    except ServiceError:
        return  # the server said no, and nobody heard it
