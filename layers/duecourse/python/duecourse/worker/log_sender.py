"""Sends the log of a run, beside its heartbeats: a slow request with lines of a log must not delay a heartbeat."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread

from duecourse.client import ApiError, ApiUnreachableError, Client
from duecourse.worker.log import MAX_DELIVERIES
from duecourse.worker.queue import WorkerRun
from duecourse.worker.report import ReportOutcome, verdict_of

log = logging.getLogger("duecourse.worker")

LOG_SECONDS = 5.0
"""The time between two requests with lines of a log, unless a full portion waits. Each costs a request of S3."""
LAST_LOG_SECONDS, LAST_LOG_FAILURES = 10.0, 3
"""The time after which no further request with the rest of a log begins before the result, and the number of failures
after which the rest is dropped.
"""
PAUSE_SECONDS = 1.0
"""The time between such a failure and the next request."""


class LogSender:
    """Sends the log of one run, in a thread that starts with its first line."""

    def __init__(
        self,
        run: WorkerRun,
        client: Client,
        deliveries: int,
        *,
        clock: Callable[[], float],
        over: Callable[[ApiError], None],
        every: float = LOG_SECONDS,
    ) -> None:
        """`deliveries` is how often the message of the run was received. `clock` returns seconds that never decrease.
        `over` receives the API's response that the attempt is over. `every` is the time between two requests (seconds).
        """
        self._run = run
        self._client = client
        self._deliveries = deliveries
        self._clock = clock
        self._over = over
        self._every = every
        self._not_before = 0.0
        self._sending = Lock()
        self._starting = Lock()
        self._done = Event()
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Start the thread, unless it was started. Without a thread, the log is sent before the result."""
        if self._deliveries > MAX_DELIVERIES:
            self._end(f"its message was received {self._deliveries} times")
            return
        with self._starting:
            if self._thread is None and not self._done.is_set():
                thread = Thread(target=self._work, name=f"log {self._run.run_id}", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    log.warning("run %s: its log is sent at its end: %s", self._run.run_id, error)
                else:
                    self._thread = thread

    def finish(self, pause: Callable[[float], object]) -> None:
        """Send the rest of the log, before the result. The result waits at most LAST_LOG_SECONDS, and for the last
        request. `pause` waits a number of seconds. Nothing is raised.
        """
        with self._starting:
            self._done.set()
        try:
            self._send_rest(pause)
        except Exception:
            # Whatever the error is, the result is reported.
            log.exception("run %s: the rest of its log was not sent", self._run.run_id)
            self._run.logged.end()
        if self._thread is not None:
            self._thread.join()

    def _send_rest(self, pause: Callable[[float], object]) -> None:
        until, failures = self._clock() + LAST_LOG_SECONDS, 0
        while self._run.logged.unsent:
            if failures:
                pause(PAUSE_SECONDS)
            failures += not self.send()
            if failures == LAST_LOG_FAILURES or self._clock() >= until:
                break
        if left := self._run.logged.unsent:
            log.warning("run %s: the last %d bytes of its log were not sent", self._run.run_id, left)

    def send_waiting(self) -> None:
        """Send a portion, and further ones while they are full: a task may write more than one in LOG_SECONDS."""
        while self._run.logged.unsent and self._clock() >= self._not_before and self.send():
            if self._done.is_set() or not self._run.logged.is_long:
                break

    def send(self) -> bool:
        """Send the next portion of the log. Return whether the API has responded as expected."""
        with self._sending:
            logged, token = self._run.logged, self._run.token
            if token is None or (portion := logged.portion(last=self._done.is_set())) is None:
                return True
            try:
                answer = self._client.append_run_log(
                    self._run.run_id, token, portion.text, number=portion.number, delivery=self._deliveries
                )
            except ApiUnreachableError as error:
                self._is_late(error, None)
                return False
            except ApiError as error:
                return self._refused(error)
            logged.stored()
            if not answer.stored:
                self._end("its log is full")
            return True

    def _refused(self, error: ApiError) -> bool:
        match verdict_of(error):
            case ReportOutcome.OVER:
                self._run.logged.end()
                self._over(error)
                return True
            case ReportOutcome.LATER:
                self._is_late(error, error.retry_after)
                return False
            case ReportOutcome.BAD_RESULT | ReportOutcome.REFUSED:
                self._end(str(error))
                return True

    def _is_late(self, error: Exception, retry_after: float | None) -> None:
        self._run.logged.unanswered()
        self._not_before = self._clock() + (retry_after or 0.0)
        log.warning("run %s: lines of its log were not sent yet: %s", self._run.run_id, error)

    def _end(self, why: str) -> None:
        self._run.logged.end()
        log.warning("run %s: further lines of its log are not kept: %s", self._run.run_id, why)

    def _work(self) -> None:
        while not self._done.wait(self._every):
            try:
                self.send_waiting()
            except Exception:
                # Whatever the error is, the task continues, and the same lines are sent again.
                log.exception("run %s: its log was not sent", self._run.run_id)
