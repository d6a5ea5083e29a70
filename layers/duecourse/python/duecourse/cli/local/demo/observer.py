"""Observes the changes in a local stack, prints them and records them for the verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.cli.local.demo.console import QUIET_STATES, Screen
from duecourse.cli.local.demo.dead_letters import LocalDeadLetters, QueueDepthMetric, Topics, alarm_names, dead_run_ids
from duecourse.cli.local.demo.receiver import CallLog
from duecourse.cli.local.demo.verdict import ObservedRun
from duecourse.cli.local.stack import Stack
from duecourse.cli.run_watcher import RunSource, RunWatcher

DEAD_LETTERS = timedelta(seconds=2)
METRIC = timedelta(seconds=20)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class Observer:
    """Polls runs and dead letters and receives notices. Call `look` about once a second.

    Each call reads the jobs with a due run. All jobs are read once in `every_job`. A failed request is reported and
    retried at the next call.
    """

    runs: RunSource
    letters: LocalDeadLetters
    report_depth: Callable[[int], None]
    topics: Topics
    log: CallLog
    screen: Screen
    every_job: timedelta
    _watcher: RunWatcher = field(init=False)
    _dead_letter_jobs: set[str] = field(default_factory=set, init=False)
    _told: int = field(default=0, init=False)
    _troubles: dict[str, str] = field(default_factory=dict, init=False)
    _depth: int = field(default=0, init=False)
    _reported: int = field(default=0, init=False)
    _all_jobs_at: datetime = field(default=LONG_AGO, init=False)
    _letters_at: datetime = field(default=LONG_AGO, init=False)
    _metric_at: datetime = field(default=LONG_AGO, init=False)

    def __post_init__(self) -> None:
        self._watcher = RunWatcher(self.runs, self._trouble)

    def prime(self) -> None:
        """Read the current state without printing it."""
        self._watcher.poll()
        self._depth = self._reported = self.letters.depth()
        self._dead_letter_jobs.update(self.letters.waiting_jobs())

    def follow(self, job_ids: Iterable[str]) -> None:
        """Also follow these jobs."""
        self._watcher.follow(job_ids)

    def look(self, now: datetime, *, everything: bool = False) -> None:
        """Poll for changes and print them."""
        self._look_at_runs(now, everything)
        self._look_at_notices()
        if everything or now - self._letters_at >= DEAD_LETTERS:
            self._letters_at = now
            try:
                self._look_at_dead_letters(now)
            except (BotoCoreError, ClientError) as error:
                self._trouble_once("dead-letter queue", error)
            else:
                self._troubles.pop("dead-letter queue", None)

    def seen(self, until: datetime) -> ObservedRun:
        """Return all observations for the verdict."""
        return ObservedRun(
            until=until,
            runs=self._watcher.runs,
            calls=self.log.calls,
            dead_letter_jobs=frozenset(self._dead_letter_jobs),
            noticed_runs=frozenset(dead_run_ids(self.log.notices, self.topics.deaths)),
            load=os.getloadavg()[0] / (os.cpu_count() or 1),
        )

    def _trouble(self, subject: str, error: Exception) -> None:
        self.screen.event(f"{subject}: {error}")

    def _trouble_once(self, subject: str, error: Exception) -> None:
        """Report an error of a subject once, and again if the error changes."""
        if self._troubles.get(subject) != str(error):
            self._troubles[subject] = str(error)
            self._trouble(subject, error)

    def _look_at_runs(self, now: datetime, everything: bool) -> None:
        wanted = None if everything or now - self._all_jobs_at >= self.every_job else self._watcher.pending(now)
        if wanted is None:
            self._all_jobs_at = now
        for change in self._watcher.poll(wanted):
            if change.run.state not in QUIET_STATES:
                self.screen.run(change.run)

    def _look_at_notices(self) -> None:
        notices = self.log.notices
        fresh, self._told = notices[self._told :], len(notices)
        for run_id in dead_run_ids(fresh, self.topics.deaths):
            self.screen.event(f"SNS notice: run {run_id} is dead")
        for name in alarm_names(fresh, self.topics.alarms):
            self.screen.event(f"SNS alarm: {name}")

    def _look_at_dead_letters(self, now: datetime) -> None:
        depth = self.letters.depth()
        if depth > self._depth:
            jobs = self.letters.waiting_jobs()
            names = ", ".join(sorted(jobs - self._dead_letter_jobs)) or "a job that has one there already"
            self._dead_letter_jobs.update(jobs)
            self.screen.event(f"dead-letter queue: a message of {names} has arrived ({depth} waiting)")
        self._depth = depth
        if depth != self._reported or (depth and now - self._metric_at >= METRIC):
            self.report_depth(depth)
            self._metric_at, self._reported = now, depth


def observe(stack: Stack, runs: RunSource, log: CallLog, screen: Screen, every_job: timedelta) -> Observer:
    """Return an observer of a running stack."""
    queue_url = stack.outputs.dead_letter_queue_url
    return Observer(
        runs=runs,
        letters=LocalDeadLetters(stack.endpoint, queue_url),
        report_depth=QueueDepthMetric(stack.endpoint, queue_url).put,
        topics=Topics.of(stack.outputs),
        log=log,
        screen=screen,
        every_job=every_job,
    )
