"""Looks at everything that moves in a local stack, prints it, and remembers what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from duecourse_cli.client import Client
from duecourse_cli.local.calls import CallLog
from duecourse_cli.local.console import QUIET_STATES, Screen
from duecourse_cli.local.deaths import DeadLetters, QueueDepthMetric, alarm_names, dead_run_ids, subscribe, topics_of
from duecourse_cli.local.receiver import NOTICE_PATH
from duecourse_cli.local.stack import Stack
from duecourse_cli.local.verdict import Seen
from duecourse_cli.local.watcher import RunWatcher

EVERY_JOB = timedelta(seconds=3)
DEAD_LETTERS = timedelta(seconds=2)
METRIC = timedelta(seconds=20)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Observer:
    """Polls runs and dead letters, takes in notices; `look` is called a few times a second."""

    def __init__(
        self, stack: Stack, client: Client, log: CallLog, screen: Screen, job_ids: Sequence[str], receiver_url: str
    ) -> None:
        self._stack = stack
        self._log = log
        self._screen = screen
        self._watcher = RunWatcher(client, job_ids)
        self._letters = DeadLetters(stack.endpoint, stack.outputs.dead_letter_queue_url)
        self._metric = QueueDepthMetric(stack.endpoint, stack.outputs.dead_letter_queue_url)
        self._dead_letter_jobs: set[str] = set()
        self._told = 0
        self._depth = 0
        self._all_jobs_at = self._letters_at = self._metric_at = LONG_AGO
        subscribe(stack.endpoint, topics_of(stack.outputs), receiver_url + NOTICE_PATH)

    def prime(self) -> None:
        """Take in what is there already, without printing it."""
        self._watcher.poll()
        self._depth = self._letters.depth()
        self._dead_letter_jobs.update(self._letters.waiting_jobs())

    def follow(self, job_ids: Iterable[str]) -> None:
        """Follow these jobs as well."""
        self._watcher.follow(job_ids)

    def look(self, now: datetime, *, everything: bool = False) -> None:
        """Ask for what may have changed, and print what has."""
        self._stack.ministack.require_running()
        self._look_at_runs(now, everything)
        self._look_at_notices()
        if everything or now - self._letters_at >= DEAD_LETTERS:
            self._letters_at = now
            self._look_at_dead_letters(now)

    def seen(self, until: datetime) -> Seen:
        """Everything so far, for the verdict."""
        return Seen(
            until=until,
            runs=self._watcher.runs,
            calls=self._log.calls,
            dead_letter_jobs=frozenset(self._dead_letter_jobs),
            noticed_runs=frozenset(dead_run_ids(self._log.notices, self._stack.outputs.deaths_topic_arn)),
        )

    def _look_at_runs(self, now: datetime, everything: bool) -> None:
        wanted = None if everything or now - self._all_jobs_at >= EVERY_JOB else self._watcher.pending(now)
        if wanted is None:
            self._all_jobs_at = now
        for change in self._watcher.poll(wanted):
            if change.run.state not in QUIET_STATES:
                self._screen.run(change.run)

    def _look_at_notices(self) -> None:
        notices = self._log.notices
        fresh, self._told = notices[self._told :], len(notices)
        for run_id in dead_run_ids(fresh, self._stack.outputs.deaths_topic_arn):
            self._screen.event(f"SNS notice: run {run_id} is dead")
        for name in alarm_names(fresh, self._stack.outputs.alarms_topic_arn):
            self._screen.event(f"SNS alarm: {name}")

    def _look_at_dead_letters(self, now: datetime) -> None:
        depth = self._letters.depth()
        if depth > self._depth:
            jobs = self._letters.waiting_jobs()
            names = ", ".join(sorted(jobs - self._dead_letter_jobs)) or "a job that has one there already"
            self._dead_letter_jobs.update(jobs)
            self._screen.event(f"dead-letter queue: a message of {names} has arrived ({depth} waiting)")
        if depth != self._depth or (depth and now - self._metric_at >= METRIC):
            self._metric.put(depth)
            self._metric_at = now
        self._depth = depth
