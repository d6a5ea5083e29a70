"""Commands for runs: cancel, redrive, discard, and the callbacks of programs that work on them.

The API only enqueues a message; the worker decides. A heartbeat and a discard are written immediately.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.jobs.document import ChangeAction, ChangeRecord, asked
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callbacks import NOTHING, CallbackToken, ProgressReport, decide_heartbeat
from duecourse.domain.runs.operations import Omission, OperationKind
from duecourse.domain.runs.states import Dead, Final, Run, Running, RunState, Succeeded, Waiting
from duecourse.domain.runs.transitions import own_job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import WorkflowRef, refs_of, run_in
from duecourse.messages import Cancel, Command, Complete, Fail, Redrive, RunMessage, message_about
from duecourse.ports import (
    Clock,
    DefinitionUnreadableError,
    GraphMissingError,
    Lanes,
    Outgoing,
    Randomness,
    StoreBusyError,
)
from duecourse.usecases.runs.lists import Runs
from duecourse.usecases.runs.requests import LaneUnavailableError
from duecourse.usecases.worker.work_item import CANCELLED
from duecourse.usecases.workflows.workflows import WorkflowRuns, jobs_of

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.stores.jobs import JobStore
    from duecourse.usecases.parts import Parts
    from duecourse.usecases.runs.discards import Discards
    from duecourse.usecases.runs.workers import WorkerNotes

NAMED_RUNS = 5
"""The maximum number of run ids in a change record. Further runs are only counted."""


class RunStateError(Exception):
    """The run's state does not allow the command. `run` is the run that was found."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"{run.name} is {run.state}")
        self.run = run


class RunEndedError(RunStateError):
    """The run has ended."""


class NotDeadError(RunStateError):
    """The run is not dead."""


class NotWaitingError(RunStateError):
    """The run does not wait for a callback."""


class NothingToRedriveError(RunStateError):
    """The run of a workflow has failed steps, but none that died in this run. `failed` names them, with reasons."""

    def __init__(self, run: Run, failed: Sequence[str]) -> None:
        super().__init__(run)
        self.failed = failed


class JobGoneError(RunStateError):
    """The run's job was deleted, so there is no target to call."""


@dataclass(frozen=True, slots=True)
class CommandSender:
    """Sends messages about existing runs, each to the lane of its run, without delay."""

    lanes: Lanes
    clock: Clock
    randomness: Randomness

    def send(self, command: Command, runs: Sequence[Run]) -> list[bool]:
        """Send one message per run, about its current attempt. Return which messages were accepted."""
        return self.lanes.send([Outgoing(self.message(command, run), 0) for run in runs])

    def send_one(self, command: Command, run: Run) -> None:
        """Send a message about one run. Raises LaneUnavailableError."""
        if not all(self.send(command, [run])):
            raise LaneUnavailableError(run.run_id)

    def records(
        self, what: ChangeAction, runs: Sequence[Run], by: str | None, **facts: str | None
    ) -> list[ChangeRecord]:
        """Return the change records of a command: one for each job of these runs, with the ids of its first runs, and
        with those `facts` that are not None.
        """
        now, of_jobs = self.clock.now(), defaultdict[tuple[str, str], list[str]](list)
        for run in runs:
            of_jobs[run.tenant, run.job_id].append(run.run_id)
        more = {name: fact for name, fact in facts.items() if fact is not None}
        return [
            asked(what, job, by, now, self.randomness.nonce(), None, runs=len(ids), run_ids=ids[:NAMED_RUNS], **more)
            for job, ids in of_jobs.items()
        ]

    def message(self, command: Command, run: Run) -> RunMessage:
        """Return a message about a run's current attempt, due now."""
        return message_about(run, command, now=self.clock.now(), nonce=self.randomness.nonce())


MANY_SECONDS = 15.0
"""After this time a command for many runs stops and returns a position to continue from: an HTTP API times out after 30
s.
"""

PORTION = 20
"""The number of runs that a command is sent to between two checks of the clock."""


@dataclass(frozen=True, slots=True)
class ManyResult:
    """The result of a command for many runs: how many runs it was sent to, how many were `refused` by their lane, and
    how many were `skipped`, by reason. `done`: the number of runs that were handled within the time limit.
    """

    sent: int
    refused: int
    skipped: Mapping[Omission, int]
    done: int


@dataclass(frozen=True, slots=True)
class ManyCommands:
    """Commands for many runs of a tenant. The author is recorded before the messages are sent, so that every change has
    an author.
    """

    jobs: JobStore
    workflow_runs: WorkflowRuns
    orders: CommandSender
    discards: Discards

    def send_many(
        self,
        kind: OperationKind,
        runs: Sequence[Run],
        *,
        by: str | None = None,
        dry_run: bool = False,
        tags: frozenset[str] | None = None,
        operation: str | None = None,
        note: str | None = None,
    ) -> ManyResult:
        """Redrive or discard these dead runs, or cancel these runs, none of which has ended. A dry run reads the same
        and changes nothing. It ends early when its time is up, or when no message of a portion was accepted.

        Skipped are: runs to redrive whose job is deleted, or none of whose steps a redrive would start, and runs to
        discard that are no longer dead. With `tags`, also runs of jobs without these tags, and runs in workflows with
        such jobs. A second redrive message for a run is dropped. The change records name the `operation`, and a discard
        stores the `note`.

        Raises LaneUnavailableError if no message was accepted.
        """
        until = self.orders.clock.now() + MANY_SECONDS
        done = sent = refused = 0
        skipped = Counter[Omission]()
        choice = _Choice(self.jobs, self.workflow_runs, kind, tags)
        while done < len(runs):
            portion = runs[done : done + PORTION]
            done += len(portion)
            own, omissions = choice.of(portion)
            if dry_run:
                accepted = [True] * len(own)
            else:
                self.jobs.note(self.orders.records(_ACTIONS[kind], own, by, operation=operation))
                own, accepted, late = self._send(kind, own, by, note)
                omissions += late
            sent, refused = sent + sum(accepted), refused + accepted.count(False)
            skipped.update(omissions)
            if own and not any(accepted):
                if not sent:
                    raise LaneUnavailableError(f"{refused} runs")
                break
            if self.orders.clock.now() > until:
                break
        return ManyResult(sent, refused, skipped, done)

    def _send(
        self, kind: OperationKind, runs: list[Run], by: str | None, note: str | None
    ) -> tuple[list[Run], list[bool], list[Omission]]:
        """Return the runs that were handled, which of them were accepted, and why others were not handled."""
        match kind:
            case OperationKind.REDRIVE:
                return runs, self.orders.send(Redrive(), runs), []
            case OperationKind.CANCEL:
                return runs, self.orders.send(Cancel(CANCELLED), runs), []
            case OperationKind.DISCARD:
                own = [run for run in runs if self.discards.of(run, by, note) is not None]
                return own, [True] * len(own), [Omission.NOT_DEAD] * (len(runs) - len(own))


_ACTIONS: Mapping[OperationKind, ChangeAction] = {
    OperationKind.REDRIVE: ChangeAction.REDRIVEN,
    OperationKind.CANCEL: ChangeAction.CANCELLED,
    OperationKind.DISCARD: ChangeAction.DISCARDED,
}


@dataclass(slots=True)
class _Choice:
    """Chooses the runs to which a command is sent. Jobs and workflows that were read are kept for the next runs."""

    jobs: JobStore
    workflow_runs: WorkflowRuns
    kind: OperationKind
    tags: frozenset[str] | None
    read: dict[str, Job | DefinitionUnreadableError | None] = field(default_factory=dict)
    reached: dict[tuple[WorkflowRef, RunName | None], bool] = field(default_factory=dict)

    def of(self, runs: Sequence[Run]) -> tuple[list[Run], list[Omission]]:
        """Return the runs that are chosen, and why each of the others is not."""
        if self.kind is not OperationKind.REDRIVE and self.tags is None:
            return list(runs), []  # needs no job
        for job_id in {run.job_id for run in runs} - self.read.keys():
            try:
                self.read[job_id] = self.jobs.get(runs[0].tenant, job_id)
            except DefinitionUnreadableError as error:
                self.read[job_id] = error
        omissions = [self._omission(run, self.read[run.job_id]) for run in runs]
        own = [run for run, omission in zip(runs, omissions, strict=True) if omission is None]
        return own, [omission for omission in omissions if omission is not None]

    def _omission(self, run: Run, job: Job | DefinitionUnreadableError | None) -> Omission | None:
        if isinstance(job, DefinitionUnreadableError):
            return Omission.JOB_UNREADABLE
        if self.tags is not None and not self._reaches(run, job, self.tags):
            return Omission.OUT_OF_SCOPE
        if self.kind is not OperationKind.REDRIVE:
            return None
        if own_job(job, run) is None:  # there is no target
            return Omission.JOB_DELETED
        return Omission.NOTHING_TO_REDRIVE if self.workflow_runs.lasting_failures(run) else None

    def _reaches(self, run: Run, job: Job | None, tags: frozenset[str]) -> bool:
        """Return whether the job has one of the tags. A command for a run in a workflow can start or stop other steps,
        so each job of the workflow must have one. A discard cannot.
        """
        if job is None or tags.isdisjoint(job.tags):
            return False
        if self.kind is OperationKind.DISCARD:
            return True
        refs = refs_of(run)
        if not refs and isinstance(job.target, WorkflowTarget):
            refs = [WorkflowRef(job.id, job.target.graph)]
        return all(self._reaches_all(run.tenant, ref, run_in(ref, run), tags) for ref in refs)

    def _reaches_all(self, tenant: str, ref: WorkflowRef, run: RunName, tags: frozenset[str]) -> bool:
        """Return whether each job of a workflow, and of the workflows within its run, has one of the tags. The jobs of
        a workflow without nested workflows are the same for all its runs.
        """
        for each in (None, run):
            if (ref, each) in self.reached:
                return self.reached[ref, each]
        store, of = self.workflow_runs.workflows, None
        try:
            of = run if any(step.nested for step in store.graph(tenant, ref).steps) else None
            others = jobs_of(store, tenant, ref, lambda *_: None, of)
        except GraphMissingError:
            self.reached[ref, of] = False
        else:
            self.reached[ref, of] = all(not tags.isdisjoint(each.tags) for each in others)
        return self.reached[ref, of]


@dataclass(frozen=True, slots=True)
class Commands(ManyCommands):
    """Commands that a caller (`by`) sends to runs. The methods for one run return it as it was at the time of the
    request.
    """

    runs: Runs

    def cancel(self, tenant: str, run_id: str, by: str | None = None) -> Run:
        """Cancel a queued, waiting, running or retrying run. The next heartbeat informs a program that works on it.

        Raises RunUnknownError, RunEndedError or LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.state.final:
            raise RunEndedError(run)
        self.jobs.note(self.orders.records(ChangeAction.CANCELLED, [run], by))
        self.orders.send_one(Cancel(CANCELLED), run)
        return run

    def redrive(self, tenant: str, run_id: str, by: str | None = None) -> Run:
        """Grant a dead run a new set of attempts.

        Raises RunUnknownError, NotDeadError, JobGoneError, NothingToRedriveError or LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.state is not RunState.DEAD:
            raise NotDeadError(run)
        if own_job(self.jobs.get(tenant, run.job_id), run) is None:
            raise JobGoneError(run)
        if failed := self.workflow_runs.lasting_failures(run):
            raise NothingToRedriveError(run, failed)
        self.jobs.note(self.orders.records(ChangeAction.REDRIVEN, [run], by))
        self.orders.send_one(Redrive(), run)
        return run

    def mark_succeeded(self, tenant: str, run_id: str, reason: str, result: object, by: str | None = None) -> Run:
        """Complete a run that waits for its callback, as its callback would. If `result` is None, the result has the
        caller and the reason.

        Raises RunUnknownError, RunEndedError, NotWaitingError or LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.state.final:
            raise RunEndedError(run)
        if not isinstance(run, Waiting) or run.is_workflow:
            raise NotWaitingError(run)
        self.jobs.note(self.orders.records(ChangeAction.MARKED_SUCCEEDED, [run], by, reason=reason))
        marked = {"marked_succeeded_by": by, "reason": reason}
        self.orders.send_one(Complete(marked if result is None else result), run)
        return run

    def discard(self, tenant: str, run_id: str, note: str | None = None, by: str | None = None) -> Dead:
        """Discard a dead run, and return it as it is stored. Idempotent: the first discard and its note remain.

        Raises RunUnknownError or NotDeadError.
        """
        run = self.runs.get(tenant, run_id)
        if isinstance(run, Dead) and run.discard is not None:
            return run
        if isinstance(run, Dead):
            self.jobs.note(self.orders.records(ChangeAction.DISCARDED, [run], by))
            if (stored := self.discards.of(run, by, note)) is not None:
                return stored
            run = self.runs.get(tenant, run_id)
            if isinstance(run, Dead):  # it has died again
                raise StoreBusyError("the record of the run")
        raise NotDeadError(run)


DEFAULT_CODE = "callback.failed"


class BadTokenError(Exception):
    """The token is not valid, or no longer valid, for this run, or there is no such run. The error does not distinguish
    these cases. The record only has the token of the current attempt, so the token of an earlier attempt looks like a
    forged one.
    """


class AttemptOverError(RunStateError):
    """The token's attempt has ended, but its run has not."""


@dataclass(frozen=True, slots=True)
class ReportedFailure:
    """The failure that a program reports for its attempt. `retryable=False` forbids another attempt. `worker` is the
    name of the program.
    """

    error: str
    code: str = DEFAULT_CODE
    retryable: bool | None = None
    retry_after: float | None = None
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """The response to a heartbeat: the run with its new deadline, and the reason to stop the work (None: continue)."""

    run: Run
    stop: str | None


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The callbacks of programs. The token, which contains tenant and attempt, is the only authorization; `admitted`
    checks it. The other methods take the run that `admitted` returned.

    They raise AttemptOverError and RunEndedError; `complete` and `fail` also raise LaneUnavailableError.
    """

    parts: Parts[TableSettings]
    orders: CommandSender
    workers: WorkerNotes

    def admitted(self, run_id: str, token: CallbackToken) -> Run:
        """Return the run whose current attempt has this token. Raises BadTokenError."""
        try:
            name = parse_run_id(run_id)
        except ValueError:
            raise BadTokenError from None
        return _opened(self.parts.runs.get(token.tenant, name.job_id, name.local), token)

    def heartbeat(self, of: Run, token: CallbackToken, report: ProgressReport = NOTHING) -> HeartbeatResult:
        """Ensure that a whole heartbeat interval is left, and store the report. Also raises BadTokenError."""
        run = _in_progress(of)
        timed = run.deadlines is not None and run.deadlines.heartbeat_until is not None
        if not timed and report.is_empty:
            return HeartbeatResult(run, run.cancel_requested)
        job = own_job(self.parts.jobs.get(run.tenant, run.job_id), run)
        if not isinstance(job, Job):
            # The deadline is not extended: a run without a job ends at its next step.
            return HeartbeatResult(run, run.cancel_requested or "deleted")
        beat = decide_heartbeat(run, job.heartbeat_seconds, report, now=self.parts.clock.now())
        if beat is None:
            return HeartbeatResult(run, run.cancel_requested)
        conflict = self.parts.runs.heartbeat(run, beat)
        if conflict is not None:  # the attempt is over, or a later heartbeat has moved the deadline
            return self.heartbeat(_opened(conflict.found, token), token, report)
        return HeartbeatResult(beat.beaten(run), run.cancel_requested)

    def complete(self, run: Run, result: object, worker: str | None = None) -> Run:
        """Request the run's success. Idempotent for a run that has already succeeded with this token."""
        if not isinstance(run, Succeeded):
            self.orders.send_one(Complete(result, worker), _in_progress(run))
        return run

    def fail(self, of: Run, failure: ReportedFailure) -> Run:
        """Request the attempt's failure."""
        run = _in_progress(of)
        reported = Fail(failure.error, failure.code, failure.retryable, failure.retry_after, failure.worker)
        self.orders.send_one(reported, run)
        return run


def _opened(run: Run | None, token: CallbackToken) -> Run:
    """Return the run if its current attempt has this token. Raises BadTokenError."""
    if run is None or token.attempt != run.attempt or not token.opens(run.callback):
        raise BadTokenError
    return run


def _in_progress(run: Run) -> Running | Waiting:
    """Return the run if its attempt is not over. Raises RunEndedError or AttemptOverError."""
    if isinstance(run, Final):
        raise RunEndedError(run)
    if not isinstance(run, Running | Waiting):
        raise AttemptOverError(run)
    return run
