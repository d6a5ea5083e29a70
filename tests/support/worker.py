"""What the tests of the worker helper stand on: an API of one run, a queue in memory, a clock that is advanced."""

import json
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

import httpx

from duecourse.client import Client
from duecourse.worker import Worker, WorkerRun
from duecourse.worker.queue import TaskMessage

TOKEN = "dc1.acme.1.abcdefghijklmnop"
EVENT: dict[str, Any] = {
    "run_id": "invoices.20261121T064700Z",
    "job_id": "invoices",
    "tenant": "acme",
    "scheduled_at": "2026-11-21T06:47:00Z",
    "due_at": "2026-11-21T06:47:00Z",
    "attempt": 1,
    "idempotency_key": "invoices-2026-W47",
    "payload": {"customer": 7},
    "callback": {"token": TOKEN, "run": "invoices.20261121T064700Z"},
}
BODY = json.dumps(EVENT)
BUSY = (503, {"type": "/problems/busy", "title": "Service Unavailable"})
RUN = {"id": EVENT["run_id"], "job_id": "invoices", "state": "WAITING", "occurrence": "2026-11-21T06:47:00Z"}
NOW = "Sat, 21 Nov 2026 06:47:30 GMT"
ALIVE = {"state": "WAITING", "cancel_requested": False, "reason": None, "heartbeat_until": "2026-11-21T06:48:00Z"}
GOOD: dict[str, Any] = {"heartbeat": ALIVE, "log": {"stored": True}}
OVER = (409, {"type": "/problems/attempt-over", "title": "Conflict", "detail": "Attempt 1 is over."})
BAD_TOKEN = (401, {"type": "/problems/bad-token", "title": "Unauthorized"})


def without_callback(event: dict[str, Any] = EVENT) -> str:
    return json.dumps({name: value for name, value in event.items() if name != "callback"})


class Api:
    """Answers heartbeats, completions and failures as it is told; `None` as an answer is a broken connection."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.answers: dict[str, deque[tuple[int, Any] | None]] = {}
        self._lock = Lock()
        self.client = Client("http://127.0.0.1:9", transport=httpx.MockTransport(self._answer), retries=0)

    def will(self, word: str, *answers: tuple[int, Any] | None) -> None:
        """Answer like this, once each; afterwards all is well again."""
        self.answers.setdefault(word, deque()).extend(answers)

    @property
    def reports(self) -> list[tuple[str, Any]]:
        return [said for said in self.said if said[0] not in ("heartbeat", "log")]

    @property
    def beats(self) -> int:
        return sum(word == "heartbeat" for word, _ in self.said)

    @property
    def logs(self) -> list[Any]:
        """The bodies of the requests with portions of the log."""
        return [body for word, body in self.said if word == "log"]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        word = request.url.path.rsplit("/", 1)[-1]
        with self._lock:
            self.said.append((word, json.loads(request.content) if request.content else None))
            self.tokens.add(request.headers.get("Authorization"))
            told = self.answers.get(word)
            answer = told.popleft() if told else (200, GOOD.get(word, {"run": RUN, "accepted": word}))
        if answer is None:
            raise httpx.ConnectError("Connection refused", request=request)
        status, document = answer
        return httpx.Response(status, json=document, headers={"Date": NOW})


class MemoryQueue:
    """A queue whose messages stay hidden until the test shows them."""

    def __init__(self, *bodies: str, deliveries: int = 1) -> None:
        self.waiting = deque(bodies)
        self.deliveries = deliveries
        self.hidden: list[tuple[str, int]] = []
        self.deleted: list[str] = []
        self.on_empty: Callable[[], None] = lambda: None
        self._lock = Lock()

    def receive(self, *, hidden_seconds: int, wait_seconds: int) -> TaskMessage | None:
        with self._lock:
            body = self.waiting.popleft() if self.waiting else None
        if body is None:
            self.on_empty()
            return None
        return TaskMessage(body, body, self.deliveries)

    def hide(self, received: TaskMessage, seconds: int) -> None:
        self.hidden.append((received.body, seconds))

    def delete(self, received: TaskMessage) -> None:
        self.deleted.append(received.body)


class Clock:
    """Seconds that go on when they are told to, and when somebody pauses."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def worker(
    queue: Any, api: Api, task: Callable[[WorkerRun], object], clock: Clock | None = None, **more: Any
) -> Worker:
    """A worker with that task, all injected. By default it reports without a name."""
    clock = clock or Clock()
    made = Worker(queue, client=api.client, clock=clock, pause=clock.pause, **({"name": ""} | more))
    made.task(task)
    return made
