"""Runs of workflows: messages, payloads, the evaluation of their graphs, and their view.

`WorkflowMessages` creates the messages that start and cancel steps and evaluate the workflow's run. `Payloads` reads
the payload of a run: the job's or the request's, with values from other steps.

A workflow's run begins by starting the steps that wait for no other step. The end of each step continues it.

The outcome of a step is recorded after its final record was written, and before the step's message is deleted. A
redelivered message repeats this, which is idempotent. Each outcome is recorded before the others are read. So, among
the outcomes on which another step depends, the process that records the last one sees all of them, and no step is
missed.

Before a step's final record is overwritten, its outcome is withdrawn: the redriven step is recorded without an
outcome. Until it ends again, the outcomes of all steps downstream do not count either (WorkflowState).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import orjson

from duecourse.domain.ids import RunIdentity, RunLike, RunName
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import STEPS_FAILED, WORKFLOW_OVER, Readiness, StepTurn, Withdraw, WorkflowOutcome
from duecourse.domain.runs.overlap import called_in_workflow
from duecourse.domain.runs.rendering import Prepared
from duecourse.domain.runs.states import Cancelled, Dead, Final, Run, Running, Skipped, Succeeded
from duecourse.domain.runs.transitions import may_run_again, own_job
from duecourse.domain.targets.targets import Failed, Outcome, Returned, WorkflowTarget
from duecourse.domain.targets.template import TemplateError
from duecourse.domain.tenants.rate import Charge, free
from duecourse.domain.workflows.check import MAX_LEVELS
from duecourse.domain.workflows.graph import (
    GraphRun,
    Step,
    StepOutcome,
    StepOutcomes,
    WorkflowRef,
    end_of,
    numbers_in,
    read_ref,
    ref_around,
    ref_within,
    refs_of,
    run_in,
    step_name,
)
from duecourse.domain.workflows.items import item_at, items_graph, manifest
from duecourse.domain.workflows.results import (
    Item,
    ItemsError,
    UpstreamResultError,
    filled,
    listed,
    resolved,
    result_faults,
    taken_by,
)
from duecourse.domain.workflows.state import WorkflowState
from duecourse.domain.workflows.view import WorkflowRunView, viewed
from duecourse.messages import START, Cancel, Command, Evaluate, RunMessage
from duecourse.ports import GraphMissingError, Randomness, Results
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.workflows import WorkflowStore
    from duecourse.usecases.parts import Parts


@dataclass(frozen=True, slots=True)
class WorkflowMessages:
    """Creates messages about a workflow's run (`inside`) and its steps. `of` identifies that run or the run of one of
    its steps. `now` is in UTC seconds.
    """

    of: RunIdentity
    inside: GraphRun
    now: float
    randomness: Randomness

    def starts(self, state: WorkflowState, numbers: Iterable[int]) -> list[RunMessage]:
        """Return the start messages of these steps. A step that runs starts at its time; a step to be skipped starts
        immediately.
        """
        return [self._about(number, START, self._begins(state, number)) for number in numbers]

    def _begins(self, state: WorkflowState, number: int) -> float:
        own = self.inside.graph.not_before(number, self.of.occurrence, self.inside.name.suffix)
        return self.now if own is None or state.readiness(number).skips else max(self.now, float(own))

    def cancellations(self, numbers: Iterable[int]) -> list[RunMessage]:
        """Return the cancellation messages of these steps."""
        return [self._about(number, Cancel(WORKFLOW_OVER), self.now) for number in numbers]

    def evaluate(self) -> RunMessage:
        """Return the message that evaluates the workflow's run."""
        return RunMessage(
            self._identity(self.inside.name, self.of.occurrence),
            self.inside.graph.lane,
            self.now,
            self.randomness.nonce(),
            command=Evaluate(),
        )

    def _about(self, number: int, command: Command, at: float) -> RunMessage:
        graph = self.inside.graph
        step = graph.steps[number]
        identity = self._identity(step_name(self.inside.name, replace(step, carried_over=None)), int(at))
        if graph.items is not None:
            identity = replace(identity, at_once=graph.items.at_once)
        elif step.for_each is not None:
            identity = replace(identity, items_within=step.for_each.within_seconds)
        return RunMessage(identity, step.lane, at, self.randomness.nonce(), command=command, bulk=step.bulk)

    def _identity(self, name: RunName, due: int) -> RunIdentity:
        """Return the identity of the run with this name in this run of the workflow. Generation 0: the job's generation
        when the run begins.
        """
        of, ref = self.of, self.inside.ref
        of = of if ref.of_items else replace(of, items_within=None, items=None, workflow=str(ref))
        return replace(
            of,
            job_id=name.job_id,
            suffix=name.suffix,
            due=due,
            generation=0,
            count=1,
            through=None,
            own_payload=False,
        )


@dataclass(frozen=True, slots=True)
class Payloads:
    """Reads the payloads of runs. `results` has the large results of steps, which are read if a payload uses them."""

    parts: Parts[TableSettings]
    results: Results

    def started(self, job: Job, run: Running, prepared: Prepared | Failed | None) -> tuple[Running, Prepared | Failed]:
        """Return the run as its start is written, and the job as it calls it (`prepared`, if it is known already). The
        list of a step with items is read now and stored with its graph; the record of the start refers to it. So the
        items are fixed before the first of them starts, and a repeated start does not read the list again.

        Raises GraphMissingError.
        """
        if run.has_items:
            if run.items is not None:
                return run, Prepared(job)
            try:
                ref = self._stored_items(run)
            except TemplateError as problem:
                return run, Failed(str(problem), retryable=False, code=problem.code)
            return replace(run, identity=replace(run.identity, items=ref.graph)), Prepared(job)
        return run, prepared or self.prepared(job, run)

    def _stored_items(self, run: Run) -> WorkflowRef:
        around = self._around(run)
        step = around.graph.steps[around.graph.number_of(run)]
        if step.for_each is None:
            raise ItemsError(f"{step.id} has no for_each in the graph of this run")
        records, workflow_payload = self._taken(step.for_each.items, run, around)
        values = listed(step.for_each, records, workflow_payload, self._stored)
        items = items_graph(step, values, around.graph.timezone)
        kept = kept_until(run, self.parts.clock.now())
        return self.parts.workflows.put_graph(run.tenant, run.job_id, items, expires_at=kept)

    def prepared(self, job: Job, run: Run) -> Prepared | Failed:
        """Return the job as this run calls it, or a failure if a part of its payload is missing. Raises
        GraphMissingError.
        """
        if run.is_step:
            if run.is_workflow and len(refs_of(run)) > MAX_LEVELS:
                detail = f"more than {MAX_LEVELS} workflows are nested; remove a level"
                return Failed(detail, retryable=False, code="workflow.levels")
            try:
                return self._step(job, run)
            except TemplateError as problem:
                return Failed(str(problem), retryable=False, code=problem.code)
        if not run.own_payload:
            return Prepared(job)
        given = self.parts.inputs.get(run.tenant, run.job_id, run.suffix)
        if given is None:
            return Failed("the payload of this run has expired", retryable=False, code="payload_gone")
        return Prepared(replace(job, payload=given.payload))

    def _step(self, job: Job, run: Run) -> Prepared:
        """Prepare a step: fill in the values that its payload takes from other steps, and use the time zone of its
        workflow.
        """
        around = self._of_step(run)
        job = replace(job, schedule=replace(job.schedule, timezone=around.graph.timezone))
        if isinstance(job.target, WorkflowTarget):  # its own steps read its payload
            return Prepared(job)
        taken = [each for _, _, each in taken_by(job.payload) if each is not None]
        if not taken:
            return Prepared(job)
        records, workflow_payload = self._taken(job.payload, run, around)
        item = self._item(run) if any(each.of_item for each in taken) else None
        given = filled(job.payload, records, workflow_payload, cache(self._stored), item)
        return Prepared(replace(job, payload=given.payload), given.texts)

    def _of_step(self, run: Run) -> GraphRun:
        """Return the workflow's run to which the run of a step belongs, or the run of an item of a step."""
        of = run if run.name.item is None else replace(run.identity, suffix=run.name.whole.suffix)
        return self._around(of)

    def _around(self, run: RunLike) -> GraphRun:
        return graph_run(self.parts.workflows, run.tenant, ref_around(run), run)

    def _taken(self, payload: object, run: RunLike, around: GraphRun) -> tuple[dict[str, Run], Callable[[], object]]:
        """Return the records of the steps that a payload uses, and what reads the payload of the workflow's run.
        Raises UpstreamResultError.
        """
        graph = around.graph
        own = graph.steps[graph.number_of(run)].id
        for _, detail in result_faults(payload, own, graph):  # the payload may be newer than the graph
            raise UpstreamResultError(f"in the graph of this run, {detail}")
        taken = [each for _, _, each in taken_by(payload) if each is not None]
        named = sorted({graph.numbers[each.job] for each in taken if each.job is not None})
        records = self._records(run.tenant, around, named)
        if missing := [number for number in named if graph.steps[number].id not in records]:
            self._require_unended(run.tenant, around, missing)
        return records, cache(lambda: self._of_workflow(run, around))

    def _item(self, run: Run) -> Item | None:
        """Return the item of an item's run; None for the run of a step."""
        index = run.name.item
        items = None if index is None else self.parts.workflows.graph(run.tenant, ref_around(run)).items
        return None if index is None or items is None else item_at(items, index)

    def _stored(self, key: str) -> object:
        """Return a large result. Raises UpstreamResultError if it has expired."""
        document = self.results.get(key)
        if document is None:
            raise UpstreamResultError(f"the stored result {key} has expired; run its step again")
        return orjson.loads(document)

    def _records(self, tenant: str, inside: GraphRun, numbers: Sequence[int]) -> dict[str, Run]:
        """Return the existing records of these steps, by the names of the steps."""
        found = records_in(self.parts.workflows, tenant, inside, numbers)
        return {inside.graph.steps[number].id: record for number, record in found.items()}

    def _require_unended(self, tenant: str, inside: GraphRun, numbers: Sequence[int]) -> None:
        """Raise UpstreamResultError if one of these steps, which had no record, succeeded: its record has expired. A
        step that has succeeded since then has a record now.
        """
        graph, steps = inside.graph, sum(1 << number for number in numbers)
        found = self.parts.workflows.read(tenant, inside.name, graph.parts_of(steps), with_run=False)
        ends = found.ends.joined(graph.carried_over)
        succeeded = [number for number in numbers if ends.of(number) is StepOutcome.SUCCEEDED]
        records = self._records(tenant, inside, succeeded)
        for number in succeeded:
            if graph.steps[number].id not in records:
                raise UpstreamResultError(f"the record of {inside.name_of(number)} has expired")

    def _of_workflow(self, run: RunLike, inside: GraphRun) -> object:
        """Return the payload of the workflow's run: that of its request, if it had one, else the job's. The payload of
        a workflow that is itself a step may contain values from the steps of the outer workflow.
        """
        name, outer = inside.name, inside.ref.outer
        asked = self.parts.inputs.get(run.tenant, name.job_id, name.suffix) if name.suffix and not outer else None
        if asked is not None and asked.own_payload:
            return asked.payload
        job = self.parts.jobs.get(run.tenant, name.job_id)
        payload = None if job is None else job.payload
        if not outer or not taken_by(payload):
            return payload
        own = RunIdentity(run.tenant, name.job_id, name.occurrence, 0, 0, name.suffix, workflow=str(inside.ref))
        records, workflow_payload = self._taken(payload, own, self._around(own))
        return resolved(payload, records, workflow_payload, cache(self._stored))


NAMED_FAILURES = 10
"""The maximum number of failed steps in the error of a workflow's run."""

KEPT_LONGER_DAYS = 30
"""How many days longer the outcome of a step, or the graph of its items, is kept than its record: a redrive needs the
outcomes of all steps.
"""


def kept_until(run: Run, now: float) -> int:
    """Return when the outcome of a step, or the graph of its items, may be removed (UTC seconds)."""
    return (run.expires_at or int(now)) + KEPT_LONGER_DAYS * DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcome of a workflow's run, and the error or the result for its record. `turn`: whether the run of a step
    with items may continue, if it has ended.
    """

    outcome: WorkflowOutcome
    error: str | None = None
    result: object = None
    turn: StepTurn | None = None


Found = StepTurn | Evaluation | None
"""The state of a workflow's run that concerns a message: a StepTurn for the start of a step, an Evaluation for an
evaluation, None for any other message.
"""


class NotSentError(Exception):
    """Some of the resulting messages were not accepted. The message that led to them will be redelivered."""


@dataclass(frozen=True, slots=True)
class Workflows:
    """Evaluates the runs of workflows. One instance serves all threads of a worker."""

    parts: Parts[TableSettings]
    forwarder: Forwarder

    def look(self, message: RunMessage, run: Run | None = None) -> Found:
        """Return the state of the workflow's run that concerns a message, derived from the outcomes of its steps. `run`
        is the record of the message's run, if it was read already. Raises GraphMissingError.
        """
        if message.workflow is None:
            return None
        again = message.is_step and run is not None and may_run_again(run)
        if isinstance(message.command, Evaluate) and message.is_workflow:
            evaluation = self._evaluation(message)
            return replace(evaluation, turn=self._turn(message, run)) if again else evaluation
        starts = message.starts_run
        if again or (message.is_step and starts):
            return self._turn(message, run)
        return None

    def _turn(self, message: RunMessage, run: Run | None) -> StepTurn:
        """Read the outcomes before the workflow's run. If that run is still active after this read, a step that is
        ready according to these outcomes is among the steps that the end of the run cancels, no matter how late its
        start is written. The step's current round is read only if the step has a record.
        """
        around = self._around(message)
        graph, number = around.graph, around.graph.number_of(message)
        ends = self._ends_before(message.tenant, around, number, own=run is not None)
        readiness = state_of(around, ends).readiness(number)
        own_time = graph.not_before(number, message.occurrence, around.name.suffix)
        nested = graph.steps[number].nested
        turn = StepTurn(readiness, round=ends.round(number), not_before=float(own_time or 0), nested=nested)
        if readiness is Readiness.WAITS:
            return turn
        workflow = self._workflow_run(message.tenant, around)
        over = workflow is None or workflow.state.final
        redriven_at = None if workflow is None else workflow.redriven_at
        called_until = called_in_workflow(workflow, self.parts.clock.now())
        return replace(turn, over=over, called_until=called_until, workflow_redriven_at=redriven_at)

    def withdraw(self, message: RunMessage, decision: Withdraw) -> None:
        """Record that a step runs again, before its final record is overwritten."""
        self._withdraw_step(self._around(message), decision.run, decision.round)

    def _withdraw_step(self, around: GraphRun, run: Run, in_round: int) -> None:
        """Begin a round of a step. If its workflow's run is itself a step, which its steps have ended, that step may
        run again too: its end is withdrawn first, so that a cancellation of the outer run reaches the inner step.
        """
        whole = self._workflow_run(run.tenant, around) if around.ref.of_items or around.ref.outer else None
        if isinstance(whole, Dead) and whole.reason == STEPS_FAILED:
            self._withdraw_step(self._around(whole), whole, whole.round + 1)
        self._withdraw(around, {around.graph.number_of(run): in_round}, run)

    def _withdraw(self, inside: GraphRun, rounds: dict[int, int], record: Run) -> None:
        """Mark all parts before the first outcome is withdrawn. A part that contains a later round shows that they are
        marked already.
        """
        graph, store = inside.graph, self.parts.workflows
        own = graph.parts_of(sum(1 << number for number in rounds))
        known = store.read(record.tenant, inside.name, own, with_run=False).ends
        parts, kept = () if known.rounds else graph.parts, kept_until(record, self.parts.clock.now())
        store.withdraw(record.tenant, inside.name, rounds, parts, expires_at=kept)

    def _evaluation(self, message: RunMessage) -> Evaluation:
        inside = self._within(message)
        graph, state = inside.graph, self._known(message.tenant, inside)
        if state.outcome is WorkflowOutcome.DONE and message.is_step:
            records = self._records(message.tenant, inside, list(range(len(graph.steps))))
            return Evaluation(state.outcome, result=manifest(inside, state.ends, records))
        if state.outcome is not WorkflowOutcome.FAILED:
            return Evaluation(state.outcome)
        own = numbers_in(state.ends.failed & ~graph.may_fail & ~graph.carried_over.any)
        records = self._records(message.tenant, inside, own)
        if any(not run.state.final for run in records.values()):
            return Evaluation(WorkflowOutcome.OPEN)  # redriven; its next end requests another evaluation
        failed = named_failures(message.job_id, state, records)
        more = f" and {len(failed) - NAMED_FAILURES} more" if len(failed) > NAMED_FAILURES else ""
        counted = "" if graph.items is None else f"{len(failed)} of {len(graph.steps)} items "
        return Evaluation(state.outcome, f"{counted}failed: {', '.join(failed[:NAMED_FAILURES])}{more}")

    def begin(self, run: Run, report: Report) -> Outcome:
        """Start the steps that can start. If the workflow's run was itself redriven, also start its dead steps
        again. When this is repeated after a failure, some may have run and died since the redrive. These stay dead.
        """
        inside = self._within(run)
        graph, state, dead = inside.graph, self._known(run.tenant, inside), dict[int, Run]()
        if run.redriven_at is not None:
            failed = self._records(run.tenant, inside, numbers_in(state.known.failed & ~graph.carried_over.any))
            dead = {
                number: each
                for number, each in failed.items()
                if isinstance(each, Dead) and each.workflow_redriven_at != run.redriven_at
            }
        if dead:
            rounds = {number: each.round + 1 for number, each in dead.items()}
            self._withdraw(inside, rounds, run)
            state = self._known(run.tenant, inside)
        messages = self._messages(run, inside)
        wanted = messages.starts(state, state.to_start())
        if state.outcome is not WorkflowOutcome.OPEN:
            wanted.append(messages.evaluate())
        report.add("workflow_begun", steps=len(graph.steps), sent=len(wanted), redriven=len(dead))
        if not self.forwarder.send_all(wanted):
            return Failed("some starts of its steps were not accepted by their lanes", code="workflow.start")
        return Returned()

    def ended(self, run: Run, report: Report) -> None:
        """Send the messages that follow from the final record of a workflow's run or of a step's run. Raises
        NotSentError.
        """
        following = list[RunMessage]()
        if ref_within(run) is not None:
            following += self._after_run(run, self._within(run))
        if run.is_step:
            following += self._after_step(run, self._around(run))
        if following:
            report.add("workflow_went_on", run_id=run.run_id, sent=len(following))
        if not self.forwarder.send_all(following):
            raise NotSentError(f"the actions after the end of {run.name}")

    def _after_step(self, run: Run, around: GraphRun) -> list[RunMessage]:
        graph = around.graph
        number, messages = graph.number_of(run), self._messages(run, around)
        if isinstance(run, Cancelled) and run.reason == WORKFLOW_OVER:
            # It has no outcome. It runs when its workflow's run is redriven, which may have happened since, or if
            # that run continues because this step was redriven.
            state = state_of(around, self._ends_before(run.tenant, around, number, own=True))
            if self._is_alive(run.tenant, around):
                return messages.starts(state, state.to_start([number]))
            return [messages.evaluate()] if state.known.again else []
        of, own = around.name, graph.part_of(number)
        kept = kept_until(run, self.parts.clock.now())
        store, end = self.parts.workflows, end_of(run)
        recorded = store.record_end(run.tenant, of, number, end, in_round=run.round, expires_at=kept)
        known, parts = recorded.ends, {own}
        while missing := state_of(around, known).parts_wanted(number) - parts:
            known = known.joined(store.read(run.tenant, of, sorted(missing), with_run=False).ends)
            parts |= missing
        state = state_of(around, known)
        if graph.items is not None:
            # A repetition, or another round, may follow an end of which nothing was sent.
            following = graph.opened(number, known, last=recorded.first and not run.round)
        else:
            following = numbers_in(graph.after(1 << number)) if known.again else [*graph.downstream[number]]
        starts = state.to_start(following)
        if not state.settled(number) and number not in starts and state.readiness(number) is not Readiness.WAITS:
            starts.append(number)
        if number in starts and not self._is_alive(run.tenant, around):
            starts.remove(number)  # its start would lead back here
        sent = messages.starts(state, starts)
        if run.round or state.outcome is not WorkflowOutcome.OPEN:
            sent.append(messages.evaluate())
        return sent

    def _after_run(self, run: Run, inside: GraphRun) -> list[RunMessage]:
        """Return the messages after the end of a workflow's run. If its steps ended the run, it is evaluated again in
        case a step was redriven before the end was written. Only a step that may fail can be dead in a run that has
        SUCCEEDED. If the run ended for another reason, the steps that are due or active are cancelled.
        """
        if isinstance(run, Skipped) or not isinstance(run, Final) or run.attempt == 0:
            return []
        succeeded = isinstance(run, Succeeded)
        if succeeded and (run.is_step or not any(step.may_fail for step in inside.graph.steps)):
            return []  # the success of a step, and thus its manifest, is final
        state, messages = self._known(run.tenant, inside), self._messages(run, inside)
        if succeeded or run.reason == STEPS_FAILED:
            written = WorkflowOutcome.DONE if succeeded else WorkflowOutcome.FAILED
            return [] if state.outcome is written else [messages.evaluate()]
        return messages.cancellations(state.to_cancel())

    def _is_alive(self, tenant: str, around: GraphRun) -> bool:
        run = self._workflow_run(tenant, around)
        return run is not None and not run.state.final

    def _workflow_run(self, tenant: str, around: GraphRun) -> Run | None:
        return self.parts.workflows.read(tenant, around.name, ()).run

    def _known(self, tenant: str, inside: GraphRun) -> WorkflowState:
        """Return the state with the outcomes of all steps."""
        return state_of(inside, self._ends(tenant, inside, inside.graph.all, inside.graph.all))

    def _ends_before(self, tenant: str, around: GraphRun, number: int, *, own: bool) -> StepOutcomes:
        """Return the outcomes that decide whether a step may start. `own`: include the step's current outcome, which
        only counts if the step has a record.
        """
        graph, mine = around.graph, 1 << number
        return self._ends(tenant, around, graph.upstream[number] | (mine if own else 0), graph.before(number) | mine)

    def _ends(self, tenant: str, inside: GraphRun, wanted: int, again: int) -> StepOutcomes:
        """Return the outcomes of the steps in `wanted`. If outcomes were withdrawn in this run, include the steps in
        `again`.
        """
        store, graph = self.parts.workflows, inside.graph
        parts = graph.parts_of(wanted)
        ends = store.read(tenant, inside.name, parts, with_run=False).ends if parts else StepOutcomes()
        if ends.again and (more := graph.parts_of(again) - parts):
            ends = ends.joined(store.read(tenant, inside.name, more, with_run=False).ends)
        return ends

    def _records(self, tenant: str, inside: GraphRun, numbers: list[int]) -> dict[int, Run]:
        """Return the existing records of these steps, by number."""
        return records_in(self.parts.workflows, tenant, inside, numbers)

    def _messages(self, run: Run, inside: GraphRun) -> WorkflowMessages:
        return WorkflowMessages(run.identity, inside, self.parts.clock.now(), self.parts.randomness)

    def _around(self, step: RunLike) -> GraphRun:
        """Return the run in which a run is a step. Raises GraphMissingError."""
        return graph_run(self.parts.workflows, step.tenant, ref_around(step), step)

    def _within(self, run: RunLike) -> GraphRun:
        """Return a workflow's run, or that of a step with items, with its graph. Raises GraphMissingError."""
        ref = ref_within(run)
        if ref is None:
            raise GraphMissingError(f"{run.name} has no graph")
        return graph_run(self.parts.workflows, run.tenant, ref, run)


def graph_run(store: WorkflowStore, tenant: str, ref: WorkflowRef, of: RunLike) -> GraphRun:
    """Return the run of this graph which `of` is, or to which it belongs. A rerun of the outermost workflow decides
    whether the times of the steps apply at all levels. Raises GraphMissingError.
    """
    graph, name = store.graph(tenant, ref), run_in(ref, of)
    if ref.outer and name.suffix and graph.has_times:
        outermost = store.graph(tenant, read_ref(ref.outer.partition("/")[0]))
        graph = replace(graph, timed=outermost.is_timed(name.suffix))
    return GraphRun(ref, graph, name)


def jobs_of(
    store: WorkflowStore, tenant: str, ref: WorkflowRef, charge: Callable[[int, int], None], run: RunName | None = None
) -> list[Job]:
    """Return the jobs of a workflow: its own, those of its steps, and those of the workflows that are its steps, as
    they are now. `run` is a run of this workflow: the nested runs that have started in it keep their graphs, so the
    jobs in these graphs are included. `charge` receives the numbers of jobs or records, and of graphs of nested
    workflows, before they are read. Raises GraphMissingError and the errors of `charge`.
    """
    found, level, known = dict[str, Job](), {ref._replace(outer=""): run}, set[str]()
    for depth in range(MAX_LEVELS):
        if depth:
            charge(0, len(level))
        inside = [(each, store.graph(tenant, each), name) for each, name in level.items()]
        known |= {each.workflow for each in level}
        names = {job_id for each, graph, _ in inside for job_id in (each.workflow, *graph.of_jobs)} - found.keys()
        charge(len(names), 0)
        read = store.jobs(tenant, sorted(names))
        found |= read
        level = {
            WorkflowRef(job.id, job.target.graph): None
            for job in read.values()
            if isinstance(job.target, WorkflowTarget) and job.id not in known
        }
        for each, graph, name in inside:
            level |= {} if name is None else _nested_in(store, tenant, GraphRun(each, graph, name), charge)
        if not level:
            break
    return list(found.values())


def _nested_in(
    store: WorkflowStore, tenant: str, inside: GraphRun, charge: Callable[[int, int], None]
) -> dict[WorkflowRef, RunName]:
    """Return the graphs of the nested runs that have started in a run, and their names."""
    steps = enumerate(inside.graph.steps)
    numbers = [number for number, step in steps if step.nested and step.carried_over is None]
    if not numbers:
        return {}
    charge(len(numbers), 0)
    records = records_in(store, tenant, inside, numbers).values()
    begun = [(ref_within(each), each.name) for each in records]
    return {ref._replace(outer=""): name for ref, name in begun if ref is not None}


def state_of(inside: GraphRun, known: StepOutcomes) -> WorkflowState:
    """Return the state of a run according to the known ends of its steps."""
    return WorkflowState(inside.graph, inside.name.occurrence, inside.name.suffix, known)


def records_in(store: WorkflowStore, tenant: str, inside: GraphRun, numbers: Iterable[int]) -> dict[int, Run]:
    """Return the existing records of these steps of a run, by number. Strongly consistent."""
    names = {inside.name_of(number): number for number in numbers}
    return {names[run.name]: run for run in store.records(tenant, list(names))} if names else {}


def named_failures(workflow: str, state: WorkflowState, records: Mapping[int, Run]) -> list[str]:
    """Return the failed steps of a run of `workflow`, each with the reason, or with the run in which a step failed that
    a rerun carries over. `records` are the records of the steps that failed in this run, by number.
    """

    def why(number: int, step: Step) -> str | None:
        if step.carried_over is not None:
            return f"failed in {workflow}.{step.carried_over.run}"
        return _why(records[number]) if number in records else None

    reasons = ((state.graph.steps[number].id, why(number, state.graph.steps[number])) for number in state.failed)
    return [name if reason is None else f"{name} ({reason})" for name, reason in reasons]


def _why(run: Run) -> str:
    """Return why a step failed. The code of a cancelled run is that of an earlier attempt."""
    return (run.code if isinstance(run, Dead) else None) or run.reason or run.state


RECORDS_A_REQUEST = 200
"""The number of steps whose records together count as one request."""


class NoWorkflowRunError(Exception):
    """`run` is not a run of a workflow, or has not started and has no graph yet."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"{run.name} is {run.state}")
        self.run = run


@dataclass(frozen=True, slots=True)
class WorkflowRuns:
    """Reads the runs of a workflow's steps. Reads are strongly consistent, but are not a snapshot."""

    workflows: WorkflowStore
    jobs: JobStore

    def look(self, run: Run, charge: Charge = free) -> WorkflowRunView:
        """Return the steps of a run as it was read. Raises NoWorkflowRunError, GraphMissingError, and the errors of
        `charge` for the records to be read.
        """
        ref = ref_within(run)
        if ref is None:
            raise NoWorkflowRunError(run)
        inside = graph_run(self.workflows, run.tenant, ref, run)
        graph = inside.graph
        charge(1 + len(graph.steps) // RECORDS_A_REQUEST)
        ends = self.workflows.read(run.tenant, run.name, graph.parts, with_run=False).ends
        records = self.workflows.records(run.tenant, [inside.name_of(number) for number in range(len(graph.steps))])
        return viewed(run, graph, ends, records, deleted=run.state.final and ends.again and self._deleted(run))

    def _deleted(self, run: Run) -> bool:
        """Return whether the workflow of a run was deleted since. It may have been created again."""
        return own_job(self.jobs.get(run.tenant, run.job_id), run) is None

    def look_again(self, run: Run, charge: Charge = free) -> WorkflowRunView | None:
        """Return the steps of an ended workflow's run that continues after a redriven step, or None. `run` is this run,
        or the run of a step of it. Raises the errors of `charge`. This takes one read if no step was redriven.
        """
        if run.workflow is None or not run.state.final or (run.is_step and not may_run_again(run)):
            return None
        of = run_in(ref_around(run), run) if run.is_step else run.name
        found = self.workflows.read(run.tenant, of, [0])
        if found.run is None or not found.ends.again:
            return None
        try:
            return self.look(found.run, charge)
        except (NoWorkflowRunError, GraphMissingError):
            return None

    def lasting_failures(self, run: Run) -> list[str]:
        """Return the failed steps of a dead run, with reasons, if a redrive of the run would start none of its steps.
        Otherwise return an empty list.
        """
        ref = ref_within(run)
        if ref is None:
            return []
        try:
            inside = graph_run(self.workflows, run.tenant, ref, run)
        except GraphMissingError:
            return []
        graph = inside.graph
        ends = self.workflows.read(run.tenant, run.name, graph.parts, with_run=False).ends
        state = state_of(inside, ends)
        if state.outcome is not WorkflowOutcome.FAILED:
            return []
        failed = numbers_in(ends.failed & ~graph.carried_over.any)
        records = records_in(self.workflows, run.tenant, inside, failed)
        return (
            []
            if any(isinstance(each, Dead) for each in records.values())
            else named_failures(run.job_id, state, records)
        )
