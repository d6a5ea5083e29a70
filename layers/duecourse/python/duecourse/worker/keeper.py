"""Keeps a message hidden and its run active while a task works on it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from threading import Event, RLock, Thread
from types import TracebackType
from typing import Self

from duecourse.client import ApiError, ApiUnreachableError, Client
from duecourse.worker.log import MAX_DELIVERIES
from duecourse.worker.queue import TaskMessage, TaskQueue, WorkerRun
from duecourse.worker.report import ReportOutcome, WorkerName, verdict_of
from duecourse.worker.rhythm import LAST_LOG_FAILURES, LAST_LOG_SECONDS, MIN_BEAT, Rhythm

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
        if received.deliveries > MAX_DELIVERIES:
            self._end_log(f"its message was received {received.deliveries} times")

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
            if self._run.logged.unsent and now >= self._rhythm.log_at:
                self._send_log()
            return self._due().seconds_to_next(self._clock(), logs=self._run.logged.unsent > 0)

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
                answer = self._name.told(lambda name: send(worker=name))
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

    def finish_log(self, pause: Callable[[float], object]) -> None:
        """Send the rest of the log, before the result. The result waits at most LAST_LOG_SECONDS, and for the last
        request. `pause` waits a number of seconds.
        """
        until, failures = self._clock() + LAST_LOG_SECONDS, 0
        while self._run.logged.unsent:
            if failures:
                pause(MIN_BEAT)
            failures += not self._send_log()
            if failures == LAST_LOG_FAILURES or self._clock() >= until:
                break
        if left := self._run.logged.unsent:
            log.warning("run %s: the last %d bytes of its log were not sent", self._run.run_id, left)

    def _send_log(self) -> bool:
        """Send the next portion of the log. Return whether the API has responded as expected."""
        with self._lock:
            logged, token = self._run.logged, self._run.token
            if token is None or (portion := logged.portion()) is None:
                return True
            wish = None
            try:
                answer = self._client.append_run_log(
                    self._run.run_id, token, portion.text, number=portion.number, delivery=self._received.deliveries
                )
            except ApiUnreachableError as error:
                self._log_is_late(error)
                return False
            except ApiError as error:
                wish = error.retry_after
                match verdict_of(error):
                    case ReportOutcome.OVER:
                        self._end(error)
                        return True
                    case ReportOutcome.LATER:
                        self._log_is_late(error)
                        return False
                    case ReportOutcome.BAD_RESULT | ReportOutcome.REFUSED:
                        self._end_log(str(error))
                        return True
            else:
                logged.stored()
                if not answer.stored:
                    self._end_log("its log is full")
                return True
            finally:
                self._rhythm = self._rhythm.logged(self._clock(), wish)

    def _log_is_late(self, error: Exception) -> None:
        self._run.logged.unanswered()
        log.warning("run %s: lines of its log were not sent yet: %s", self._run.run_id, error)

    def _end_log(self, why: str) -> None:
        self._run.logged.end()
        log.warning("run %s: further lines of its log are not kept: %s", self._run.run_id, why)

    def _end(self, error: ApiError) -> None:
        self._over = True
        self._rhythm = self._rhythm.silent()
        self._run.logged.end()
        self._run.cancelled.set()
        log.info("run %s: its attempt %d is over: %s", self._run.run_id, self._run.attempt, error)

    def _refused(self, error: ApiError) -> None:
        if verdict_of(error) is ReportOutcome.OVER:
            self._end(error)
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
