"""Work on runs on any machine: the long pool of jobs with `completion: callback` and a target of type `sqs`.

    worker = Worker(queue="duecourse-target-invoices", api="https://…", concurrency=4)

    @worker.task
    def send(run: WorkerRun) -> object:
        return {"sent": mail(run.payload)}

    worker.run()

What the task returns is the run's result. `DoNotRetry`, `Retry(after=60)` or any other exception makes it fail.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.client import Client
from duecourse.client.aws_session import own_session
from duecourse.worker.handling import MAX_HIDDEN_SECONDS, Handler, Task
from duecourse.worker.queue import SqsTaskQueue, TaskMessage, TaskQueue, WorkerRun
from duecourse.worker.report import DoNotRetry, Retry

__all__ = ["DoNotRetry", "Retry", "Worker", "WorkerRun"]

T = TypeVar("T", bound=Task)

log = logging.getLogger("duecourse.worker")

API_TIMEOUT_SECONDS = 10.0
POLL_SECONDS = 10
"""How long one receive waits for a message, and so how long an idle worker may take to stop; SQS allows 20."""
BETWEEN_FAILED_POLLS_SECONDS = 5.0
HIDDEN_SECONDS = 60
MIN_HIDDEN_SECONDS = 30


class Worker:
    """Takes runs from a target's queue, works on them side by side, and reports how they end.

    A message may come twice, and the work of an attempt that was given up may still go on elsewhere for a moment: use
    `run.idempotency_key`, which is the same on every attempt of a run.
    """

    def __init__(
        self,
        queue: str | TaskQueue,
        api: str | None = None,
        *,
        concurrency: int = 1,
        hidden_seconds: int = HIDDEN_SECONDS,
        grace_seconds: float = 60.0,
        sqs: Any = None,
        client: Client | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        """`queue` by name or URL; `api` is the stack's output ApiUrl (default: the environment's DUECOURSE_API).

        `concurrency`: how many runs at a time. `hidden_seconds`: for how long a message is hidden from others at a
        time, so how soon another machine takes over when this one dies. `grace_seconds`: how long running tasks may
        still work when the worker is stopped. `sqs` and `client` are made from the environment unless given.
        Raises ValueError for what cannot be, BotoCoreError or ClientError where the queue cannot be found.
        """
        if concurrency < 1:
            raise ValueError("concurrency must be 1 or more")
        if not MIN_HIDDEN_SECONDS <= hidden_seconds <= MAX_HIDDEN_SECONDS:
            raise ValueError(f"hidden_seconds must be from {MIN_HIDDEN_SECONDS} to {MAX_HIDDEN_SECONDS}")
        api = api or os.environ.get("DUECOURSE_API")
        if client is None and not api:
            raise ValueError("no API address is configured; pass api= or set DUECOURSE_API")
        # No retries: who reports asks again for longer than a client does, and until the worker is stopped.
        self._made = ExitStack()
        self._client = client or self._made.enter_context(Client(api or "", timeout=API_TIMEOUT_SECONDS, retries=0))
        if sqs is None and isinstance(queue, str):
            sqs = self._made.enter_context(closing(_sqs()))
        self._queue = SqsTaskQueue(sqs, queue) if isinstance(queue, str) else queue
        self._concurrency = concurrency
        self._hidden_seconds = hidden_seconds
        self._grace_seconds = grace_seconds
        self._clock = clock
        self._pause = pause
        self._task: Task | None = None
        self._asked: SimpleQueue[None] = SimpleQueue()  # unlike an Event it may be used from a signal handler
        self._stopping = threading.Event()

    def close(self) -> None:
        """Close the connections that it made; a process that ends need not."""
        self._made.close()

    def task(self, function: T) -> T:
        """Let this function work on the runs (a decorator). Raises ValueError when there is one already."""
        if self._task is not None:
            raise ValueError("a worker can have only one task; start another worker for another queue")
        self._task = function
        return function

    def run(self) -> None:
        """Work until SIGTERM, SIGINT or `stop`. Then nothing more is received, and running tasks have `grace_seconds`
        to end; what has not ended by then is left to die with the process and taken over by another worker.

        A second signal ends the process as it would without a worker. Raises ValueError without a task.
        """
        handler = self._handler()
        threads = [
            threading.Thread(target=self._work, args=(handler,), name=f"worker {number}", daemon=True)
            for number in range(1, self._concurrency + 1)
        ]
        with self._stopped_by_signals():
            for thread in threads:
                thread.start()
            self._asked.get()
            self._stopping.set()
        end = self._clock() + self._grace_seconds
        for thread in threads:
            thread.join(max(end - self._clock(), 0.0))
        if left := sum(thread.is_alive() for thread in threads):
            log.warning(
                "%d of the worker's threads did not end within %g s and are still running", left, self._grace_seconds
            )

    def stop(self) -> None:
        """Let `run` end; from any thread. Nothing more is started once this has returned."""
        self._stopping.set()
        self._asked.put(None)

    def run_once(self, *, wait_seconds: int = 1) -> int:
        """Work on what is visible now, and return how many messages that were when it is all done.

        For tests and cron. `wait_seconds` is how long an empty queue is asked: with 0 SQS may overlook messages.
        Raises BotoCoreError or ClientError when the queue does not respond, ValueError without a task.
        """
        handler = self._handler()
        with ThreadPoolExecutor(self._concurrency, "worker") as pool:
            drains = [pool.submit(self._drain, handler, wait_seconds) for _ in range(self._concurrency)]
            return sum(drain.result() for drain in drains)

    def _handler(self) -> Handler:
        if self._task is None:
            raise ValueError("the worker has no task: decorate a function with @worker.task")
        return Handler(
            self._queue,
            self._client,
            self._task,
            hidden_seconds=self._hidden_seconds,
            clock=self._clock,
            pause=self._pause,
        )

    def _work(self, handler: Handler) -> None:
        while not self._stopping.is_set():
            try:
                received = self._queue.receive(hidden_seconds=self._hidden_seconds, wait_seconds=POLL_SECONDS)
            except (BotoCoreError, ClientError) as error:
                log.warning("the queue cannot be reached: %s", error)
                self._stopping.wait(BETWEEN_FAILED_POLLS_SECONDS)
                continue
            if received is None:
                continue
            if self._stopping.is_set():
                self._queue.hide(received, 0)  # that of another task, at once
            else:
                _handle(handler, received)

    def _drain(self, handler: Handler, wait_seconds: int) -> int:
        count = 0
        while received := self._queue.receive(hidden_seconds=self._hidden_seconds, wait_seconds=wait_seconds):
            _handle(handler, received)
            count += 1
        return count

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        """If the worker is not in the main thread, other code handles the signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def restore() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        def ask(_number: int, _frame: FrameType | None) -> None:
            restore()
            self._asked.put(None)

        for number in before:
            signal.signal(number, ask)
        try:
            yield
        finally:
            restore()


def _handle(handler: Handler, received: TaskMessage) -> None:
    try:
        handler.handle(received)
    except Exception:
        # A fault of ours: the message comes back, and the others must not wait for it.
        log.exception("a message could not be processed and remains in the queue")


def _sqs() -> Any:
    from botocore.config import Config

    return own_session().create_client("sqs", config=Config(retries={"mode": "standard", "total_max_attempts": 5}))
