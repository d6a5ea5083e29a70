"""The HTTP endpoints that jobs call: a connection to any address is answered within this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any

from tests.prove.faults import Faults
from tests.prove.simulation import Killed, Simulation

ADDRESS = "http://192.0.2.1"
"""Reserved for documentation (RFC 5737)."""

TARGET = {"target": {"type": "http", "url": f"{ADDRESS}/"}}
"""A job's target."""

SUCCESS = b'{"rows": 7}'
"""What a target answers that succeeds, unless its plan says otherwise."""

RETRY_AFTER_SECONDS = 8
"""For how long a target that `throttles` asks for a pause."""


@dataclass
class TargetCall:
    """A call of a job's target. `ended`: when its caller stopped waiting (None: it still waits); `outcome` is how the
    caller knows that it ended: `open`, `timeout` and `died` (the caller's process) beside those of a plan."""

    job: str
    run: str
    attempt: int
    began: float
    callback_token: str | None
    payload: Any
    key: str
    outcome: str = "open"
    ended: float | None = None

    @property
    def until(self) -> float:
        return float("inf") if self.ended is None else self.ended


@dataclass(eq=False)
class Targets:
    """All endpoints. `behave` says of a call how it ends and after how many seconds; `called` hears of each; `body` is
    the answer to one that succeeds."""

    simulation: Simulation
    faults: Faults
    behave: Callable[[TargetCall], tuple[str, float]]
    called: Callable[[TargetCall], None]
    body: Callable[[TargetCall], bytes] = lambda _: SUCCESS
    calls: list[TargetCall] = field(default_factory=list)

    def answer(self, request: bytes, left: float) -> bytes:
        """What is sent back to a caller that waits so many seconds. Raises OSError."""
        head, _, body = request.partition(b"\r\n\r\n")
        headers = BytesParser().parsebytes(head.partition(b"\r\n")[2])
        call = TargetCall(
            headers["X-Duecourse-Job-Id"],
            headers["X-Duecourse-Run-Id"],
            int(headers["X-Duecourse-Attempt"]),
            self.simulation.now,
            headers["X-Duecourse-Token"],
            json.loads(body) if body else None,
            headers["Idempotency-Key"],
        )
        self.calls.append(call)
        self.called(call)
        fault = self.faults.meet("execute", "Call")
        try:
            return self._answer(call, left, None if fault is None else fault.kind)
        except Killed:
            call.outcome = "died"
            raise
        finally:
            call.ended = self.simulation.now

    def _answer(self, call: TargetCall, left: float, fault: str | None) -> bytes:
        outcome, seconds = self.behave(call)
        if seconds >= left or outcome == "hangs":
            self.simulation.sleep(left)
            call.outcome = "timeout"
            raise TimeoutError("timed out")
        self.simulation.sleep(seconds)
        if fault is not None and fault.startswith("dies"):
            call.outcome = "died"
            self.simulation.kill(self.simulation.process)
        call.outcome = outcome
        match outcome:
            case "succeeds":
                return _http(200, self.body(call))
            case "breaks":
                raise ConnectionResetError(104, "Connection reset by peer")
            case "forbids":
                return _http(500, b'{"error": "no"}', "X-Duecourse-Retry: never\r\n")
            case "refuses":
                return _http(400, b'{"error": "never"}')
            case "throttles":
                return _http(429, b'{"error": "too fast"}', f"Retry-After: {RETRY_AFTER_SECONDS}\r\n")
            case _:
                return _http(503, b'{"error": "not now"}')


def _http(status: int, body: bytes, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status} Simulated\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


class Connection:
    """A socket whose peer is the simulation."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._sent = b""
        self._answer: bytes | None = None
        self._timeout = 60.0

    def setsockopt(self, *_: Any) -> None:
        pass

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = 60.0 if seconds is None else seconds

    def send(self, data: Any) -> int:
        self._sent += bytes(data)
        return len(data)

    def recv_into(self, buffer: Any) -> int:
        if self._answer is None:
            self._answer = self._targets.answer(self._sent, self._timeout)
        part = self._answer[: len(buffer)]
        self._answer = self._answer[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        pass

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass
