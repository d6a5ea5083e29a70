"""Stores the log of an attempt's call."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.runs.logs import KEEP_SECONDS, portion_of_call, stored_as
from duecourse.domain.runs.states import Run
from duecourse.ports import Clock
from duecourse.ports.logs import LogStore
from duecourse.usecases.report import Report, format_error


@dataclass(frozen=True, slots=True)
class CallLogs:
    """Stores the ends of targets' logs."""

    store: LogStore
    clock: Clock

    def keep(self, run: Run, text: str, report: Report, *, until: float) -> None:
        """Store the log of the call of a run's attempt, if enough time is left until `until` (UTC seconds). A failure
        is only reported, because a log does not change the outcome of a run.
        """
        problem = None
        if (left := until - self.clock.now()) < KEEP_SECONDS:
            problem = f"the worker had only {left:.1f} s left"
        else:
            try:
                self.store.write_portion(*stored_as(run, portion_of_call(run.attempt, text)))
            except Exception as error:  # noqa: BLE001 - a log does not change the outcome of a run
                problem = format_error(error)
        if problem is not None:
            report.counts["LogsLost"] += 1
            report.add("log_lost", attempt=run.attempt, error=problem)
