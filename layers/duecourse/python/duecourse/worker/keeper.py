"""Keeps a message hidden and its run active while a task works on it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from threading import Event, RLock, Thread
from types import TracebackType
from typing import Self

from duecourse.client import ApiError, ApiUnreachableError, Client
from duecourse.worker.queue import TaskMessage, TaskQueue, WorkerRun
from duecourse.worker.report import ReportOutcome, WorkerName, verdict_of
from duecourse.worker.rhythm import Rhythm

log = logging.getLogger("duecourse.worker")


class Keeper:
    """Extends the visibility timeout of one message and sends the heartbeats of its run. As a context manager, it does
    so in a separate thread.
    """

    def __init__(
        self,
        queue: TaskQueue,
        received: TaskMessage,
        run: WorkerRun,
        client: Client,
        name: WorkerName,
        *,
        hidden_seconds: int,
        clock: Callable[[], float],
    ) -> None:
        """`clock` returns seconds that never decrease. `hidden_seconds` is the visibility timeout with which the
        message was received.
        """
        self._queue = queue
        self._received = received
        self._run = run
        self._client = client
        self._name = name
        self._hidden_seconds = hidden_seconds
        self._clock = clock
        self._rhythm = Rhythm.starting(clock(), hidden_seconds, beats=run.token is not None)
        self._lock = RLock()  # a task may send a heartbeat while the thread sends one
        self._done = False
        self._wake = Event()
        self._thread = Thread(target=self._keep, name=f"keep {run.run_id}", daemon=True)
        self._over = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done = True
        self.wake()
        self._thread.join()

    def over(self) -> bool:
        """Return whether the API has reported that the attempt is over. It then accepts no result."""
        return self._over

    def wake(self) -> None:
        """Make the thread check now what is due."""
        self._wake.set()

    def tick(self) -> float:
        """Send what is due, and return the seconds until the next action."""
        with self._lock:
            now = self._clock()
            if now >= self._rhythm.extend_at:
                self._queue.hide(self._received, self._hidden_seconds)
                self._rhythm = self._rhythm.extended(now, self._hidden_seconds)
            if (beat_at := self._due().beat_at) is not None and now >= beat_at:
                self.beat()
            return self._due().seconds_to_next(self._clock())

    def _due(self) -> Rhythm:
        return self._rhythm.progressed() if self._run.said.unsent else self._rhythm

    def beat(self) -> None:
        """Send a heartbeat now. Sets the run's `cancelled` if the work is no longer needed."""
        if self._run.token is None:
            return
        with self._lock:
            if self._over:
                return
            try:
                # Always the last report: the API stores at most one heartbeat in five seconds.
                progress, note = said = self._run.said.last
                send = partial(
                    self._client.heartbeat_run, self._run.run_id, self._run.token, progress=progress, note=note
                )
                answer = self._name.reported(lambda name: send(worker=name))
            except ApiUnreachableError as error:
                log.warning("run %s: no heartbeat: %s", self._run.run_id, error)
                self._rhythm = self._rhythm.unheard(self._clock())
            except ApiError as error:
                self._refused(error)
            else:
                self._run.said.sent = said
                reported = progress is not None
                self._rhythm = self._rhythm.beaten(self._clock(), answer.seconds_left, reported=reported)
                if answer.cancel_requested and not self._run.cancelled.is_set():
                    log.info("run %s: its end is requested (%s)", self._run.run_id, answer.reason or "cancelled")
                    self._run.cancelled.set()

    def end(self, error: ApiError) -> None:
        """Stop the heartbeats and the work, because the API has reported with this error that the attempt is over."""
        with self._lock:
            self._over = True
            self._rhythm = self._rhythm.silent()
            self._run.cancelled.set()
            log.info("run %s: its attempt %d is over: %s", self._run.run_id, self._run.attempt, error)

    def _refused(self, error: ApiError) -> None:
        if verdict_of(error) is ReportOutcome.OVER:
            self.end(error)
        else:
            log.warning("run %s: the heartbeat was rejected: %s", self._run.run_id, error)
            self._rhythm = self._rhythm.unheard(self._clock(), error.retry_after)

    def _keep(self) -> None:
        while not self._done:
            self._wake.wait(self._attempt())
            self._wake.clear()

    def _attempt(self) -> float:
        try:
            return self.tick()
        except Exception:
            # Whatever the error is, the message must stay hidden and the run active while the task works.
            log.exception("run %s: the heartbeats failed", self._run.run_id)
            return 1.0
