"""Writes decisions about runs, and the end of an attempt after its call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import orjson

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.decision import Ended, Transition
from duecourse.domain.runs.lifecycle import decide
from duecourse.domain.runs.run import Dead, Queued, Retrying, Run, Running, RunState, Skipped, Succeeded, Waiting
from duecourse.domain.targets.target_document import type_of
from duecourse.domain.targets.targets import Outcome
from duecourse.ports import Conflict, Results
from duecourse.usecases.report import Report, in_words
from duecourse.usecases.worker.side_effects import SideEffects
from duecourse.usecases.worker.work_item import Disposition, WorkItem
from duecourse.usecases.write_retry import WriteRetry

MAX_FINISHES = 6
"""How often the end of a call is decided again because its record changed meanwhile."""

LAST_FINISH_SECONDS = 8
"""In the last seconds of its lease a worker begins no further try to write a finish. The SDK's own four tries pause for
at most seven seconds (AWS SDKs and Tools Reference Guide, "Retry behavior": 1, 2 and 4 s in mode standard). Without any
answer they take half a minute; after that the next try needs as much time.
"""

INLINE_BYTES = 2048
"""A result up to this size (JSON) stays in the record, which then costs at most 3 write units, mostly 1."""

EXCERPT_CHARACTERS = 1000

ENDS = {
    RunState.SUCCEEDED: "RunsSucceeded",
    RunState.DEAD: "RunsDead",
    RunState.SKIPPED: "RunsSkipped",
    RunState.CANCELLED: "RunsCancelled",
}
"""The metric of each state in which runs end."""


@dataclass(frozen=True, slots=True)
class TransitionWriter:
    """Writes records, each on the condition that the record is unchanged since the decision."""

    effects: SideEffects
    results: Results

    def write(
        self, item: WorkItem, transition: Transition, job: JobSnapshot, *, retry: WriteRetry | None = None
    ) -> Disposition | Conflict:
        """Write the record and do its side effects; a Conflict means that another writer was first. With `retry` a
        write that fails is retried: only this worker knows its content.
        """
        previous, report = transition.previous, item.report
        run = self._with_stored_result(transition.run, report)
        write = partial(self.effects.runs.write, run, previous)
        if conflict := write() if retry is None else retry.until_deadline(write, partial(_not_written, report)):
            return conflict
        report.add(
            "run_skipped" if isinstance(run, Skipped) else "run_settled",
            alarming=isinstance(run, Dead),
            attempt=run.attempt,
            state=run.state,
            reason=transition.reason,
            lateness_seconds=run.lateness,
            code=run.code,
            error=run.error,
            asked=item.message.kind,
        )
        target = type_of(job.target) if isinstance(job, Job) else None
        # A record of another generation belongs to a deleted job of the same id.
        before = None if previous is None or previous.generation != run.generation else previous
        if (ended := ENDS.get(run.state)) is not None and (before is None or before.state is not run.state):
            report.count(ended, target)
        if isinstance(before, Running | Waiting) and isinstance(run, Retrying | Dead):
            report.count("AttemptsFailed", target)
        if isinstance(previous, Queued):
            self.effects.leave_line(item.message, run, report)
        return self.effects.perform(item, run, job)

    def _with_stored_result(self, run: Run, report: Report) -> Run:
        """The run with its result, a large one moved to the store of results. If the store refuses it, the run still
        succeeds and keeps the beginning of the result.
        """
        if not isinstance(run, Succeeded) or run.result is None:
            return run
        document = orjson.dumps(run.result)
        if len(document) <= INLINE_BYTES:
            return run
        # results/default/nightly/20261121T064700Z/1.json: attempts never overwrite each other's.
        key = f"results/{run.tenant}/{run.job_id}/{run.name.local}/{run.attempt}.json"
        try:
            self.results.put(key, document)
        except Exception as problem:  # noqa: BLE001 - after any error of the store the run has still succeeded
            report.counts["ResultsLost"] += 1
            error = in_words(problem)
            report.add("result_lost", alarming=True, tenant=run.tenant, run_id=str(run.name), error=error)
            beginning = document.decode()[:EXCERPT_CHARACTERS]
            return replace(run, result={"body": beginning, "truncated": True}, result_bytes=len(document))
        return replace(run, result=None, result_key=key, result_bytes=len(document))

    def finish(self, item: WorkItem, run: Running, job: Job, outcome: Outcome) -> Disposition:
        """Write the end of the call over the record with which the attempt was started. Only this worker knows it, so a
        failed write is retried until shortly before the lease ends.
        """
        clock, randomness = self.effects.clock, self.effects.randomness
        draw = randomness.draw()
        retry = WriteRetry(clock, randomness, item.context.lease_until - LAST_FINISH_SECONDS)
        for _ in range(MAX_FINISHES):
            decision = decide(Ended(outcome, draw), job, run, item.context, now=clock.now())
            if not isinstance(decision, Transition):
                raise AssertionError(f"the end of a call was decided as {type(decision).__name__}")  # noqa: TRY004
            written = self.write(item, decision, job, retry=retry)
            if isinstance(written, Disposition):
                return written
            found = written.found
            if not isinstance(found, Running) or found.attempt != run.attempt:
                return _overtaken(item, run, found)
            run = found  # its cancellation was requested during the call
        item.report.add("undecided", alarming=True, tries=MAX_FINISHES)
        return Disposition.RETAIN


def _not_written(report: Report, problem: Exception) -> None:
    report.add("finish_put_off", error=in_words(problem))


def _overtaken(item: WorkItem, run: Run, found: Run | None) -> Disposition:
    """The attempt was ended by another writer: by its own callback, which may be faster than the call's answer, or by a
    worker that took over after the lease.
    """
    called_back = run.callback_hash is not None and found is not None and found.attempt == run.attempt
    if not called_back:
        item.report.counts["FinishesRefused"] += 1
    action = "called_back_early" if called_back else "finish_refused"
    item.report.add(action, alarming=not called_back, found=None if found is None else found.state)
    return Disposition.ACK
