"""Runs of workflows: messages, payloads, and the evaluation of their graphs.

The messages by which a workflow's run starts and cancels its steps, and is evaluated itself.

What the runs of a job send: the job's payload, the one that the request gave, or what steps take of each other.

Runs of workflows: started by starting the steps that wait for no other, continued by each step's end.

The end of a step is noted after its final record was written, and before the message that carried it is deleted: a
message that comes again repeats it, and all of it is idempotent. Of the ends that decide whether another step may
start the last one to be noted sees all others, since each is noted before the others are read; so none is forgotten.

Before a step's final record is written over, its end is withdrawn: the next round of the step is noted without an
end. Until that round ends, the ends of all jobs after it do not count either (WorkflowState).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import Readiness, StepTurn, Withdraw, WorkflowOutcome
from duecourse.domain.runs.identity import OfRun, RunIdentity
from duecourse.domain.runs.overlap import called_in_workflow
from duecourse.domain.runs.records import STEPS_FAILED, WORKFLOW_OVER, may_run_again
from duecourse.domain.runs.states import Cancelled, Dead, Final, Run, Skipped, Succeeded, reason_of
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.targets.template import TemplateError
from duecourse.domain.workflows.graph import Graph, Step, StepOutcome, StepOutcomes, end_of, numbers_in, read_ref
from duecourse.domain.workflows.results import UpstreamResultError, filled, taken_by
from duecourse.domain.workflows.state import WorkflowState
from duecourse.messages import START, Cancel, Command, Evaluate, RunMessage
from duecourse.ports import Clock, Inputs, JobStore, Randomness, WorkflowStore
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report


@dataclass(frozen=True, slots=True)
class WorkflowMessages:
    """Messages about the workflow's run `of` which the run with this identity is, or whose step it is, at `now` (UTC
    seconds).
    """

    of: RunIdentity
    graph: Graph
    now: float
    randomness: Randomness

    def starts(self, state: WorkflowState, numbers: Iterable[int]) -> list[RunMessage]:
        """The start of each of these steps: of one that may run at its time, of one that is skipped at once."""
        return [self._about(number, START, self._begins(state, number)) for number in numbers]

    def _begins(self, state: WorkflowState, number: int) -> float:
        own = self.graph.not_before(number, self.of.occurrence, self.of.suffix)
        return self.now if own is None or state.readiness(number).skips else max(self.now, float(own))

    def cancellations(self, numbers: Iterable[int]) -> list[RunMessage]:
        """The cancellation of each of these steps."""
        return [self._about(number, Cancel(WORKFLOW_OVER), self.now) for number in numbers]

    def evaluate(self) -> RunMessage:
        """Have the workflow's run looked at."""
        workflow = read_ref(self.of.workflow or "").workflow
        return RunMessage(
            self._identity(workflow, self.of.occurrence),
            self.graph.lane,
            self.now,
            self.randomness.nonce(),
            command=Evaluate(),
        )

    def _about(self, number: int, command: Command, at: float) -> RunMessage:
        step = self.graph.steps[number]
        identity = self._identity(step.id, int(at))
        return RunMessage(identity, step.lane, at, self.randomness.nonce(), command=command, bulk=step.bulk)

    def _identity(self, job_id: str, due: int) -> RunIdentity:
        """The run of that job in this run of the workflow. Generation 0: its job's, as it is when it begins."""
        return replace(self.of, job_id=job_id, due=due, generation=0, count=1, through=None, own_payload=False)


def name_in(run: OfRun, step: Step) -> RunName:
    """The step's run in this one, or in the one of which this one has taken it over."""
    if step.carried_over is None:
        return RunName(step.id, run.occurrence, run.suffix)
    return parse_run_id(f"{step.id}.{step.carried_over.run}")


def run_of(identity: RunIdentity, job_id: str) -> RunName:
    """The name of a job's run in the run of a workflow that this is, or is a step of."""
    return RunName(job_id, identity.occurrence, identity.suffix)


class PayloadGoneError(TemplateError):
    """The payload of the run has expired."""

    code = "payload_gone"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job as a run calls it, and what its templates may name of the run's workflow."""

    job: Job
    taken: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Payloads:
    """Reads what a run's payload is made of."""

    store: WorkflowStore
    jobs: JobStore
    inputs: Inputs

    def prepared(self, job: Job, run: Run) -> Prepared:
        """The job as this run calls it. Raises PayloadGoneError, UpstreamResultError and GraphMissingError: what its
        payload is made of is not there.
        """
        if run.is_step:
            return self._step(job, run)
        if not run.own_payload:
            return Prepared(job)
        given = self.inputs.get(run.tenant, run.job_id, run.suffix)
        if given is None:
            raise PayloadGoneError("the payload of this run has expired")
        return Prepared(replace(job, payload=given.payload))

    def _step(self, job: Job, run: Run) -> Prepared:
        """With what its payload takes of other steps, and on the calendar of its workflow's time zone."""
        ref = read_ref(run.workflow or "")
        graph = self.store.graph(run.tenant, ref)
        job = replace(job, schedule=replace(job.schedule, timezone=graph.timezone))
        taken = [each for _, _, each in taken_by(job.payload) if each is not None]
        if not taken:
            return Prepared(job)
        named = {graph.numbers[each.job] for each in taken if each.job in graph.numbers}
        names = [name_in(run, graph.steps[number]) for number in sorted(named)]
        records = {record.job_id: record for record in self.store.records(run.tenant, names)} if names else {}
        for step in (graph.steps[number] for number in named):
            if (
                step.id not in records
                and step.carried_over is not None
                and step.carried_over.end is StepOutcome.SUCCEEDED
            ):
                raise UpstreamResultError(f"the record of {step.id}.{step.carried_over.run} has expired")
        found = filled(job.payload, records, cache(lambda: self._of_workflow(run, ref.workflow)))
        return Prepared(replace(job, payload=found.payload), found.texts)

    def _of_workflow(self, run: Run, workflow: str) -> object:
        """The payload of the workflow's run: its own, where it was given one."""
        asked = self.inputs.get(run.tenant, workflow, run.suffix) if run.suffix else None
        if asked is not None and asked.own_payload:
            return asked.payload
        job = self.jobs.get(run.tenant, workflow)
        return None if job is None else job.payload


NAMED_FAILURES = 10
"""Failed steps that the error of a workflow's run names."""

KEPT_LONGER_DAYS = 30
"""For how much longer than a step's record its end is kept: a redrive needs the ends of all steps."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What has become of a workflow's run, and which error its record will have."""

    outcome: WorkflowOutcome
    error: str | None = None


Found = StepTurn | Evaluation | None
"""What a workflow's run says about a message: to a step's start, to an evaluation, to any other."""


class NotSentError(Exception):
    """The messages that follow were not all accepted; the one that led to them comes again."""


@dataclass(frozen=True, slots=True)
class Workflows:
    """One instance serves all threads of a worker."""

    store: WorkflowStore
    jobs: JobStore
    inputs: Inputs
    forwarder: Forwarder
    clock: Clock
    randomness: Randomness

    def look(self, message: RunMessage, run: Run | None = None) -> Found:
        """What the ends of the steps mean for what a message asks for. `run` is the record of its run, if that was
        read already. Raises GraphMissingError.
        """
        if message.workflow is None:
            return None
        if isinstance(message.command, Evaluate) and not message.is_step:
            return self._evaluation(message)
        starts = message.starts_run
        if message.is_step and (starts or (run is not None and may_run_again(run))):
            return self._turn(message, run)
        return None

    def _turn(self, message: RunMessage, run: Run | None) -> StepTurn:
        """The ends first, then its workflow's run: a step that is ready by them while that is active is among those
        that its end cancels, however late the start is written. The step's own round is read only if it has a
        record.
        """
        graph = self._graph(message)
        number = graph.numbers[message.job_id]
        ends = self._ends_before(message, graph, number, own=run is not None)
        readiness = self._state(message, graph, ends).readiness(number)
        own_time = graph.not_before(number, message.occurrence, message.suffix)
        turn = StepTurn(readiness, round=ends.round(number), not_before=float(own_time or 0))
        if readiness is Readiness.WAITS:
            return turn
        workflow = self._workflow_run(message)
        over = workflow is None or workflow.state.final
        return replace(turn, over=over, called_until=called_in_workflow(workflow, self.clock.now()))

    def withdraw(self, message: RunMessage, decision: Withdraw) -> None:
        """Note that a step runs again, before its final record is written over."""
        run, graph = decision.run, self._graph(message)
        self._withdraw(message, graph, {graph.numbers[run.job_id]: decision.round}, run)

    def _withdraw(self, of: Run | RunMessage, graph: Graph, rounds: dict[int, int], record: Run) -> None:
        """All parts are marked before the first end is withdrawn, so one with a later round says that this was done."""
        name = run_of(of.identity, read_ref(of.workflow or "").workflow)
        own = graph.parts_of(sum(1 << number for number in rounds))
        known = self.store.read(of.tenant, name, own, with_run=False).ends
        parts = () if known.rounds else graph.parts
        self.store.withdraw(of.tenant, name, rounds, parts, expires_at=self._kept_until(record))

    def _evaluation(self, message: RunMessage) -> Evaluation:
        graph = self._graph(message)
        state = self._known(message, graph)
        if state.outcome is not WorkflowOutcome.FAILED:
            return Evaluation(state.outcome)
        failed = self._records(message, graph, state.failed)
        if any(not run.state.final for run in failed):
            return Evaluation(WorkflowOutcome.OPEN)  # redriven; its next end asks again
        named = [f"{run.job_id} ({run.code or reason_of(run) or run.state})" for run in failed[:NAMED_FAILURES]]
        more = f" and {len(failed) - NAMED_FAILURES} more" if len(failed) > NAMED_FAILURES else ""
        return Evaluation(state.outcome, f"failed: {', '.join(named)}{more}")

    def begin(self, run: Run, report: Report) -> Outcome:
        """Start the steps that are to be started; of a run that was redriven itself, the dead ones among them."""
        graph = self._graph(run)
        state, dead = self._known(run, graph), list[Run]()
        if run.redriven_at is not None:
            failed = self._records(run, graph, numbers_in(state.known.failed & ~graph.carried_over.any))
            dead = [each for each in failed if isinstance(each, Dead)]
        if dead:
            rounds = {graph.numbers[each.job_id]: each.round + 1 for each in dead}
            self._withdraw(run, graph, rounds, run)
            state = self._known(run, graph)
        messages = self._messages(run, graph)
        wanted = messages.starts(state, state.to_start())
        if state.outcome is not WorkflowOutcome.OPEN:
            wanted.append(messages.evaluate())
        report.add("workflow_begun", steps=len(graph.steps), sent=len(wanted), redriven=len(dead))
        if not self.forwarder.send_all(wanted):
            return Failed("some starts of its steps were not accepted by their lanes", code="workflow.start")
        return Returned()

    def ended(self, run: Run, report: Report) -> None:
        """What follows from the final record of a workflow's run, or of its step's. Raises NotSentError."""
        graph = self._graph(run)
        following = self._after_step(run, graph) if run.is_step else self._after_run(run, graph)
        if following:
            report.add("workflow_went_on", run_id=str(run.name), sent=len(following))
        if not self.forwarder.send_all(following):
            raise NotSentError(f"the actions after the end of {run.name}")

    def _after_step(self, run: Run, graph: Graph) -> list[RunMessage]:
        number, messages = graph.numbers[run.job_id], self._messages(run, graph)
        if isinstance(run, Cancelled) and run.reason == WORKFLOW_OVER:
            # It has no end: it runs once its workflow's run is redriven, which may have happened meanwhile, or
            # continues since this step was redriven.
            state = self._state(run, graph, self._ends_before(run, graph, number, own=True))
            if self._is_alive(run):
                return messages.starts(state, state.to_start([number]))
            return [messages.evaluate()] if state.known.again else []
        of, own = run_of(run.identity, read_ref(run.workflow or "").workflow), graph.part_of(number)
        kept = self._kept_until(run)
        known = self.store.record_end(run.tenant, of, number, end_of(run), in_round=run.round, expires_at=kept)
        parts = {own}
        while missing := self._state(run, graph, known).parts_wanted(number) - parts:
            known = known.joined(self.store.read(run.tenant, of, sorted(missing), with_run=False).ends)
            parts |= missing
        state = self._state(run, graph, known)
        following = numbers_in(graph.after(1 << number)) if known.again else [*graph.downstream[number]]
        starts = state.to_start(following)
        if not state.settled(number) and number not in starts and state.readiness(number) is not Readiness.WAITS:
            starts.append(number)
        if number in starts and not self._is_alive(run):
            starts.remove(number)  # which would come back here
        sent = messages.starts(state, starts)
        if run.round or state.outcome is not WorkflowOutcome.OPEN:
            sent.append(messages.evaluate())
        return sent

    def _after_run(self, run: Run, graph: Graph) -> list[RunMessage]:
        """A run that its steps ended is evaluated again if one of them was redriven before the end was written. Only
        a step that may fail can be dead in a run that has SUCCEEDED. A run that ended otherwise takes the steps
        with it that are due or active.
        """
        if isinstance(run, Skipped) or not isinstance(run, Final) or run.attempt == 0:
            return []
        succeeded = isinstance(run, Succeeded)
        if succeeded and not any(step.may_fail for step in graph.steps):
            return []
        state, messages = self._known(run, graph), self._messages(run, graph)
        if succeeded or reason_of(run) == STEPS_FAILED:
            written = WorkflowOutcome.DONE if succeeded else WorkflowOutcome.FAILED
            return [] if state.outcome is written else [messages.evaluate()]
        return messages.cancellations(state.to_cancel())

    def _is_alive(self, step: Run | RunMessage) -> bool:
        run = self._workflow_run(step)
        return run is not None and not run.state.final

    def _workflow_run(self, step: Run | RunMessage) -> Run | None:
        of = run_of(step.identity, read_ref(step.workflow or "").workflow)
        return self.store.read(step.tenant, of, ()).run

    def _known(self, of: Run | RunMessage, graph: Graph) -> WorkflowState:
        """With the ends of all steps."""
        return self._state(of, graph, self._ends(of, graph, graph.all, graph.all))

    def _ends_before(self, of: Run | RunMessage, graph: Graph, number: int, *, own: bool) -> StepOutcomes:
        """The ends by which a step may start; with its `own` end, which only counts if it has a record."""
        mine = 1 << number
        return self._ends(of, graph, graph.upstream[number] | (mine if own else 0), graph.before(number) | mine)

    def _ends(self, of: Run | RunMessage, graph: Graph, wanted: int, again: int) -> StepOutcomes:
        """The ends of the steps in `wanted`, and of those in `again` once ends were withdrawn in this run."""
        name = run_of(of.identity, read_ref(of.workflow or "").workflow)
        parts = graph.parts_of(wanted)
        ends = self.store.read(of.tenant, name, parts, with_run=False).ends if parts else StepOutcomes()
        if ends.again and (more := graph.parts_of(again) - parts):
            ends = ends.joined(self.store.read(of.tenant, name, more, with_run=False).ends)
        return ends

    def _kept_until(self, run: Run) -> int:
        return (run.expires_at or int(self.clock.now())) + KEPT_LONGER_DAYS * DAY_SECONDS

    def _state(self, of: Run | RunMessage, graph: Graph, known: StepOutcomes) -> WorkflowState:
        return WorkflowState(graph, of.occurrence, of.suffix, known)

    def _records(self, of: Run | RunMessage, graph: Graph, numbers: list[int]) -> list[Run]:
        names = [name_in(of, graph.steps[number]) for number in numbers]
        found = {run.job_id: run for run in self.store.records(of.tenant, names)} if names else {}
        return [found[name.job_id] for name in names if name.job_id in found]

    def _messages(self, run: Run, graph: Graph) -> WorkflowMessages:
        return WorkflowMessages(run.identity, graph, self.clock.now(), self.randomness)

    def _graph(self, of: Run | RunMessage) -> Graph:
        return self.store.graph(of.tenant, read_ref(of.workflow or ""))
