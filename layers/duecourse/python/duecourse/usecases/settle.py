"""Write what was decided about a run, then do what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from duecourse.domain.decision import Settle
from duecourse.domain.job import Job, JobSnapshot
from duecourse.domain.run import Run, RunState
from duecourse.domain.target_document import type_of
from duecourse.messages import RunMessage
from duecourse.ports import Conflict, RunStore
from duecourse.usecases.aftermath import Aftermath
from duecourse.usecases.copies import Fate
from duecourse.usecases.hand import Delivery
from duecourse.usecases.keep_result import KeepResult
from duecourse.usecases.patience import Patience
from duecourse.usecases.report import Report, in_words

ENDS = {
    RunState.SUCCEEDED: "RunsSucceeded",
    RunState.DEAD: "RunsDead",
    RunState.SKIPPED: "RunsSkipped",
    RunState.CANCELLED: "RunsCancelled",
}
"""The metrics of how runs end."""

_ALIVE = (RunState.RUNNING, RunState.WAITING)
_FAILED = (RunState.RETRYING, RunState.DEAD)


@dataclass(frozen=True, slots=True)
class Settler:
    """Writes records, each on the condition that what was decided upon still stands."""

    runs: RunStore
    aftermath: Aftermath
    keep: KeepResult

    def settle(
        self,
        decision: Settle,
        job: JobSnapshot,
        message: RunMessage,
        delivery: Delivery,
        report: Report,
        *,
        patience: Patience | None = None,
    ) -> Fate | Conflict:
        """Write the record and follow it; a Conflict means that another writer was there first. With `patience` a
        write that fails is made again: nobody but this worker knows what it says.
        """
        kept = self.keep.kept(decision.run, report)
        write = partial(self.runs.write, kept, decision.previous)
        if conflict := write() if patience is None else patience.insist(write, partial(_put_off, report)):
            return conflict
        report.add(
            "run_skipped" if kept.state is RunState.SKIPPED else "run_settled",
            alarming=kept.state is RunState.DEAD,
            attempt=kept.attempt,
            state=kept.state,
            reason=decision.reason,
            lateness_seconds=kept.lateness,
            code=kept.code,
            error=kept.error,
            asked=message.kind,
        )
        target = type_of(job.target) if isinstance(job, Job) else None
        previous = decision.previous
        # A record of another generation is a re-created job's: what it says happened to another job.
        before = None if previous is None or previous.generation != kept.generation else previous.state
        if (ended := ENDS.get(kept.state)) is not None and before is not kept.state:
            report.count(ended, target)
        if before in _ALIVE and kept.state in _FAILED:
            report.count("AttemptsFailed", target)
        if previous is not None and previous.state is RunState.QUEUED:
            self.aftermath.leave_line(kept, report)
        return self.follow(kept, job, message, delivery, report)

    def follow(self, run: Run, job: JobSnapshot, message: RunMessage, delivery: Delivery, report: Report) -> Fate:
        """Do what follows from a record."""
        return Fate.DONE if self.aftermath.follow(run, job, message, delivery, report) else Fate.LEFT


def _put_off(report: Report, problem: Exception) -> None:
    report.add("finish_put_off", error=in_words(problem))
