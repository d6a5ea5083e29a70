"""Process runs on any machine: long-running tasks of jobs with `completion: callback` and an `sqs` target.

    worker = Worker(queue="duecourse-target-invoices", api="https://…", concurrency=4)

    @worker.task
    def send(run: WorkerRun) -> object:
        return {"sent": mail(run.payload)}

    worker.run()

The return value of the task is the result of the run. `DoNotRetry`, `Retry(after=60)` or any other exception makes it
fail.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.client import Client
from duecourse.client.aws_session import own_session
from duecourse.worker.handling import MAX_HIDDEN_SECONDS, Handler, Task
from duecourse.worker.queue import SqsTaskQueue, TaskMessage, TaskQueue, WorkerRun
from duecourse.worker.report import DoNotRetry, Retry, WorkerName

__all__ = ["DoNotRetry", "Retry", "Worker", "WorkerRun"]

T = TypeVar("T", bound=Task)

log = logging.getLogger("duecourse.worker")

API_TIMEOUT_SECONDS = 10.0
POLL_SECONDS = 10
SIGNAL_SECONDS = 1.0
"""How long one receive request waits for a message (seconds). An idle worker may take this long to stop. SQS allows at
most 20.
"""
BETWEEN_FAILED_POLLS_SECONDS = 5.0
HIDDEN_SECONDS = 60
MIN_HIDDEN_SECONDS = 30


class Worker:
    """Receives runs from a target's queue, works on them concurrently, and reports their results.

    A message may be delivered twice, and an abandoned attempt may continue elsewhere for a moment. Use
    `run.idempotency_key`, which is the same in every attempt of a run.
    """

    def __init__(
        self,
        queue: str | TaskQueue,
        api: str | None = None,
        *,
        concurrency: int = 1,
        hidden_seconds: int = HIDDEN_SECONDS,
        grace_seconds: float = 60.0,
        name: str | None = None,
        sqs: Any = None,
        client: Client | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        """`queue` is a name or URL. `api` is the stack's output ApiUrl (default: the environment variable
        DUECOURSE_API).

        `concurrency` is the number of concurrent runs. `hidden_seconds` is the visibility timeout of a message: it is
        extended while the task works. If this machine stops, another one takes over after this time. `grace_seconds`
        is how long running tasks may continue after the worker is stopped. `name` identifies the worker in its runs
        and in the list of workers (default: the host name; an empty text: no name). By default, `sqs` and `client` are
        created from the environment.

        Raises ValueError for invalid arguments, and BotoCoreError or ClientError if the queue is not found.
        """
        if concurrency < 1:
            raise ValueError("concurrency must be 1 or more")
        if not MIN_HIDDEN_SECONDS <= hidden_seconds <= MAX_HIDDEN_SECONDS:
            raise ValueError(f"hidden_seconds must be from {MIN_HIDDEN_SECONDS} to {MAX_HIDDEN_SECONDS}")
        self._name = WorkerName(name)
        api = api or os.environ.get("DUECOURSE_API")
        if client is None and not api:
            raise ValueError("no API address is configured; pass api= or set DUECOURSE_API")
        # No retries in the client: the worker retries reports for longer, and only until it is stopped.
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
        self._asked: SimpleQueue[None] = SimpleQueue()  # unlike an Event it may be used in a signal handler
        self._stopping = threading.Event()
        self._trouble = ""

    def close(self) -> None:
        """Close the connections that the worker created. This is not necessary before the process ends."""
        self._made.close()

    def task(self, function: T) -> T:
        """Set the function that works on the runs (a decorator). Raises ValueError if the worker already has one."""
        if self._task is not None:
            raise ValueError("a worker can have only one task; start another worker for another queue")
        self._task = function
        return function

    def run(self) -> None:
        """Work until SIGTERM, SIGINT or a call of `stop`. After that, no message is received, and running tasks have
        `grace_seconds` to end. Tasks that have not ended by then stop with the process, and another worker takes over
        their runs.

        A second signal ends the process as it would without a worker. Raises ValueError if the worker has no task.
        """
        handler = self._handler()
        threads = [
            threading.Thread(target=self._work, args=(handler,), name=f"worker {number}", daemon=True)
            for number in range(1, self._concurrency + 1)
        ]
        log.info("waiting for messages; up to %d are processed at a time", self._concurrency)
        with self._stopped_by_signals():
            for thread in threads:
                thread.start()
            self._wait()
            self._stopping.set()
        end = self._clock() + self._grace_seconds
        for thread in threads:
            thread.join(max(end - self._clock(), 0.0))
        if left := sum(thread.is_alive() for thread in threads):
            log.warning(
                "%d of the worker's threads did not end within %g s and are still running", left, self._grace_seconds
            )

    def _wait(self) -> None:
        """Wait until the worker shall stop. A signal that arrives just before a wait does not interrupt it: its handler
        runs after the wait, which is therefore short.
        """
        while True:
            with suppress(Empty):
                return self._asked.get(timeout=SIGNAL_SECONDS)

    def stop(self) -> None:
        """Make `run` end. Can be called from any thread. After `stop` has returned, no task is started."""
        self._stopping.set()
        self._asked.put(None)

    def run_once(self, *, wait_seconds: int = 1) -> int:
        """Work on all messages that are visible now, and return their number after all are processed.

        For tests and cron. `wait_seconds` is how long a receive request waits for a message. With 0, SQS may miss
        messages. Raises BotoCoreError or ClientError if the queue does not respond, and ValueError if the worker has no
        task.
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
            self._name,
            hidden_seconds=self._hidden_seconds,
            clock=self._clock,
            pause=self._pause,
        )

    def _work(self, handler: Handler) -> None:
        while not self._stopping.is_set():
            try:
                received = self._queue.receive(hidden_seconds=self._hidden_seconds, wait_seconds=POLL_SECONDS)
            except (BotoCoreError, ClientError) as error:
                self._tell(str(error))
                self._stopping.wait(BETWEEN_FAILED_POLLS_SECONDS)
                continue
            self._tell("")
            if received is None:
                continue
            if self._stopping.is_set():
                self._queue.hide(received, 0)  # another worker can receive it immediately
            else:
                _handle(handler, received)

    def _tell(self, trouble: str) -> None:
        """Log only the beginning and the end of an outage of the queue, instead of every failed request of every
        thread.
        """
        before, self._trouble = self._trouble, trouble
        if trouble and trouble != before:
            log.warning("the queue cannot be reached: %s", trouble)
        elif before and not trouble:
            log.info("the queue can be reached again")

    def _drain(self, handler: Handler, wait_seconds: int) -> int:
        count = 0
        while received := self._queue.receive(hidden_seconds=self._hidden_seconds, wait_seconds=wait_seconds):
            _handle(handler, received)
            count += 1
        return count

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        """Stop the worker on SIGINT and SIGTERM. If the worker is not in the main thread, other
        code handles the signals.
        """
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
        # A fault of the worker itself: the message is delivered again, and other messages must not wait for it.
        log.exception("a message could not be processed and remains in the queue")


def _sqs() -> Any:
    from botocore.config import Config

    return own_session().create_client("sqs", config=Config(retries={"mode": "standard", "total_max_attempts": 5}))
