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

from duecourse.domain.ids import OfRun, RunIdentity, RunName, parse_run_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import STEPS_FAILED, WORKFLOW_OVER, Readiness, StepTurn, Withdraw, WorkflowOutcome
from duecourse.domain.runs.overlap import called_in_workflow
from duecourse.domain.runs.rendering import Prepared
from duecourse.domain.runs.states import Cancelled, Dead, Final, Run, Running, Skipped, Succeeded
from duecourse.domain.runs.transitions import may_run_again, own_job
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.targets.template import TemplateError
from duecourse.domain.tenants.rate import Charge, free
from duecourse.domain.workflows.graph import (
    Graph,
    Step,
    StepOutcome,
    StepOutcomes,
    WorkflowRef,
    end_of,
    numbers_in,
    read_ref,
)
from duecourse.domain.workflows.items import item_at, items_graph, manifest
from duecourse.domain.workflows.results import (
    Item,
    ItemsError,
    UpstreamResultError,
    filled,
    listed,
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
    """Creates messages about a workflow's run and its steps. `of` identifies that run or the run of one of its steps.
    `now` is in UTC seconds.
    """

    of: RunIdentity
    graph: Graph
    now: float
    randomness: Randomness

    def starts(self, state: WorkflowState, numbers: Iterable[int]) -> list[RunMessage]:
        """Return the start messages of these steps. A step that runs starts at its time; a step to be skipped starts
        immediately.
        """
        return [self._about(number, START, self._begins(state, number)) for number in numbers]

    def _begins(self, state: WorkflowState, number: int) -> float:
        own = self.graph.not_before(number, self.of.occurrence, self.of.suffix)
        return self.now if own is None or state.readiness(number).skips else max(self.now, float(own))

    def cancellations(self, numbers: Iterable[int]) -> list[RunMessage]:
        """Return the cancellation messages of these steps."""
        return [self._about(number, Cancel(WORKFLOW_OVER), self.now) for number in numbers]

    def evaluate(self) -> RunMessage:
        """Return the message that evaluates the workflow's run."""
        return RunMessage(
            self._identity(run_of(self.of, self.graph), self.of.occurrence),
            self.graph.lane,
            self.now,
            self.randomness.nonce(),
            command=Evaluate(),
        )

    def _about(self, number: int, command: Command, at: float) -> RunMessage:
        step = self.graph.steps[number]
        identity = self._identity(_name_in(self.of.name, step), int(at))
        if self.graph.items is not None:
            identity = replace(identity, at_once=self.graph.items.at_once)
        elif step.for_each is not None:
            identity = replace(identity, items_within=step.for_each.within_seconds)
        return RunMessage(identity, step.lane, at, self.randomness.nonce(), command=command, bulk=step.bulk)

    def _identity(self, name: RunName, due: int) -> RunIdentity:
        """Return the identity of the run with this name in this run of the workflow. Generation 0: the job's generation
        when the run begins.
        """
        of = self.of if self.graph.items is not None else replace(self.of, items_within=None, items=None)
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


def name_in(run: OfRun, step: Step) -> RunName:
    """Return the name of the step's run in this workflow run, or in the earlier workflow run whose outcome it carries
    over.
    """
    if step.carried_over is None:
        return _name_in(run.name, step)
    return parse_run_id(f"{step.job_id}.{step.carried_over.run}")


def _name_in(run: RunName, step: Step) -> RunName:
    whole = RunName(step.job_id, run.occurrence, run.whole.suffix)
    return whole if step.item is None else whole.of_item(step.item)


def run_of(of: OfRun | RunIdentity, graph: Graph) -> RunName:
    """Return the name of the run of this graph which `of` is, or to which it belongs as a step or an item."""
    whole = of.name.whole
    if graph.items is not None:
        return whole
    return RunName(read_ref(of.workflow or "").workflow, whole.occurrence, whole.suffix)


def ref_around(step: OfRun) -> WorkflowRef:
    """Return the graph in which a run is a step. An item is a step of the run of its step."""
    if step.name.item is None:
        return read_ref(step.workflow or "")
    return WorkflowRef(step.job_id, step.items or "", of_items=True)


def ref_within(run: OfRun) -> WorkflowRef | None:
    """Return the graph of a workflow's run, or of the run of a step with items. None if this run has none (yet)."""
    if not run.is_workflow:
        return None
    if run.is_step:
        return None if run.items is None else WorkflowRef(run.job_id, run.items, of_items=True)
    return None if run.workflow is None else read_ref(run.workflow)


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
        if run.is_step and run.is_workflow:
            if run.items is not None:
                return run, Prepared(job)
            try:
                ref = self._stored_items(run)
            except TemplateError as problem:
                return run, Failed(str(problem), retryable=False, code=problem.code)
            return replace(run, identity=replace(run.identity, items=ref.graph)), Prepared(job)
        return run, prepared or self.prepared(job, run)

    def _stored_items(self, run: Run) -> WorkflowRef:
        graph = self.parts.workflows.graph(run.tenant, ref_around(run))
        step = graph.steps[graph.number_of(run)]
        if step.for_each is None:
            raise ItemsError(f"{step.id} has no for_each in the graph of this run")
        records, workflow_payload = self._taken(step.for_each.items, run, graph)
        items = items_graph(step, listed(step.for_each, records, workflow_payload, self._stored), graph.timezone)
        kept = kept_until(run, self.parts.clock.now())
        return self.parts.workflows.put_graph(run.tenant, run.job_id, items, expires_at=kept)

    def prepared(self, job: Job, run: Run) -> Prepared | Failed:
        """Return the job as this run calls it, or a failure if a part of its payload is missing. Raises
        GraphMissingError.
        """
        if run.is_step:
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
        ref = read_ref(run.workflow or "")
        graph = self.parts.workflows.graph(run.tenant, ref)
        job = replace(job, schedule=replace(job.schedule, timezone=graph.timezone))
        taken = [each for _, _, each in taken_by(job.payload) if each is not None]
        if not taken:
            return Prepared(job)
        records, workflow_payload = self._taken(job.payload, run, graph)
        item = self._item(run) if any(each.of_item for each in taken) else None
        given = filled(job.payload, records, workflow_payload, cache(self._stored), item)
        return Prepared(replace(job, payload=given.payload), given.texts)

    def _taken(self, payload: object, run: Run, graph: Graph) -> tuple[dict[str, Run], Callable[[], object]]:
        """Return the records of the steps that a payload uses, and what reads the payload of the workflow's run.
        Raises UpstreamResultError.
        """
        own = graph.steps[graph.number_of(run)].id
        for _, detail in result_faults(payload, own, graph):  # the payload may be newer than the graph
            raise UpstreamResultError(f"in the graph of this run, {detail}")
        taken = [each for _, _, each in taken_by(payload) if each is not None]
        named = sorted({graph.numbers[each.job] for each in taken if each.job is not None})
        records = self._records(run, graph, named)
        if missing := [number for number in named if graph.steps[number].id not in records]:
            self._require_unended(run, graph, missing)
        return records, cache(lambda: self._of_workflow(run, run_of(run, graph)))

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

    def _records(self, run: Run, graph: Graph, numbers: Sequence[int]) -> dict[str, Run]:
        """Return the existing records of these steps, by the names of the steps."""
        steps = {graph.steps[number].job_id: graph.steps[number] for number in numbers}
        names = [name_in(run, step) for step in steps.values()]
        found = self.parts.workflows.records(run.tenant, names) if names else []
        return {steps[record.job_id].id: record for record in found}

    def _require_unended(self, run: Run, graph: Graph, numbers: Sequence[int]) -> None:
        """Raise UpstreamResultError if one of these steps, which had no record, succeeded: its record has expired. A
        step that has succeeded since then has a record now.
        """
        of, steps = run_of(run, graph), sum(1 << number for number in numbers)
        found = self.parts.workflows.read(run.tenant, of, graph.parts_of(steps), with_run=False)
        ends = found.ends.joined(graph.carried_over)
        succeeded = [number for number in numbers if ends.of(number) is StepOutcome.SUCCEEDED]
        records = self._records(run, graph, succeeded)
        for step in (graph.steps[number] for number in succeeded):
            if step.id not in records:
                raise UpstreamResultError(f"the record of {name_in(run, step)} has expired")

    def _of_workflow(self, run: Run, workflow: RunName) -> object:
        """Return the payload of the workflow's run: that of its request, if it had one, else the job's."""
        asked = self.parts.inputs.get(run.tenant, workflow.job_id, workflow.suffix) if workflow.suffix else None
        if asked is not None and asked.own_payload:
            return asked.payload
        job = self.parts.jobs.get(run.tenant, workflow.job_id)
        return None if job is None else job.payload


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
        graph = self._graph(message.tenant, ref_around(message))
        number = graph.number_of(message)
        ends = self._ends_before(message, graph, number, own=run is not None)
        readiness = self._state(message, graph, ends).readiness(number)
        own_time = graph.not_before(number, message.occurrence, message.suffix)
        turn = StepTurn(readiness, round=ends.round(number), not_before=float(own_time or 0))
        if readiness is Readiness.WAITS:
            return turn
        workflow = self._workflow_run(message, graph)
        over = workflow is None or workflow.state.final
        redriven_at = None if workflow is None else workflow.redriven_at
        called_until = called_in_workflow(workflow, self.parts.clock.now())
        return replace(turn, over=over, called_until=called_until, workflow_redriven_at=redriven_at)

    def withdraw(self, message: RunMessage, decision: Withdraw) -> None:
        """Record that a step runs again, before its final record is overwritten."""
        run, graph = decision.run, self._graph(message.tenant, ref_around(message))
        self._withdraw(message, graph, {graph.number_of(run): decision.round}, run)

    def _withdraw(self, of: Run | RunMessage, graph: Graph, rounds: dict[int, int], record: Run) -> None:
        """Mark all parts before the first outcome is withdrawn. A part that contains a later round shows that they are
        marked already.
        """
        name = run_of(of, graph)
        own = graph.parts_of(sum(1 << number for number in rounds))
        known = self.parts.workflows.read(of.tenant, name, own, with_run=False).ends
        parts = () if known.rounds else graph.parts
        self.parts.workflows.withdraw(
            of.tenant, name, rounds, parts, expires_at=kept_until(record, self.parts.clock.now())
        )

    def _evaluation(self, message: RunMessage) -> Evaluation:
        graph = self._graph_within(message)
        state = self._known(message, graph)
        if state.outcome is WorkflowOutcome.DONE and graph.items is not None:
            records = self._records(message, graph, list(range(len(graph.steps))))
            return Evaluation(state.outcome, result=manifest(graph, run_of(message, graph), state.ends, records))
        if state.outcome is not WorkflowOutcome.FAILED:
            return Evaluation(state.outcome)
        own = numbers_in(state.ends.failed & ~graph.may_fail & ~graph.carried_over.any)
        records = self._records(message, graph, own)
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
        graph = self._graph_within(run)
        state, dead = self._known(run, graph), dict[int, Run]()
        if run.redriven_at is not None:
            failed = self._records(run, graph, numbers_in(state.known.failed & ~graph.carried_over.any))
            dead = {
                number: each
                for number, each in failed.items()
                if isinstance(each, Dead) and each.workflow_redriven_at != run.redriven_at
            }
        if dead:
            rounds = {number: each.round + 1 for number, each in dead.items()}
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
        """Send the messages that follow from the final record of a workflow's run or of a step's run. Raises
        NotSentError.
        """
        following = list[RunMessage]()
        if (ref := ref_within(run)) is not None:
            following += self._after_run(run, self._graph(run.tenant, ref))
        if run.is_step:
            following += self._after_step(run, self._graph(run.tenant, ref_around(run)))
        if following:
            report.add("workflow_went_on", run_id=run.run_id, sent=len(following))
        if not self.forwarder.send_all(following):
            raise NotSentError(f"the actions after the end of {run.name}")

    def _after_step(self, run: Run, graph: Graph) -> list[RunMessage]:
        number, messages = graph.number_of(run), self._messages(run, graph)
        if isinstance(run, Cancelled) and run.reason == WORKFLOW_OVER:
            # It has no outcome. It runs when its workflow's run is redriven, which may have happened since, or if
            # that run continues because this step was redriven.
            state = self._state(run, graph, self._ends_before(run, graph, number, own=True))
            if self._is_alive(run, graph):
                return messages.starts(state, state.to_start([number]))
            return [messages.evaluate()] if state.known.again else []
        of, own = run_of(run, graph), graph.part_of(number)
        kept = kept_until(run, self.parts.clock.now())
        store, end = self.parts.workflows, end_of(run)
        recorded = store.record_end(run.tenant, of, number, end, in_round=run.round, expires_at=kept)
        known, parts = recorded.ends, {own}
        while missing := self._state(run, graph, known).parts_wanted(number) - parts:
            known = known.joined(store.read(run.tenant, of, sorted(missing), with_run=False).ends)
            parts |= missing
        state = self._state(run, graph, known)
        if graph.items is not None:
            # A repetition, or another round, may follow an end of which nothing was sent.
            following = graph.opened(number, known, last=recorded.first and not run.round)
        else:
            following = numbers_in(graph.after(1 << number)) if known.again else [*graph.downstream[number]]
        starts = state.to_start(following)
        if not state.settled(number) and number not in starts and state.readiness(number) is not Readiness.WAITS:
            starts.append(number)
        if number in starts and not self._is_alive(run, graph):
            starts.remove(number)  # its start would lead back here
        sent = messages.starts(state, starts)
        if run.round or state.outcome is not WorkflowOutcome.OPEN:
            sent.append(messages.evaluate())
        return sent

    def _after_run(self, run: Run, graph: Graph) -> list[RunMessage]:
        """Return the messages after the end of a workflow's run. If its steps ended the run, it is evaluated again in
        case a step was redriven before the end was written. Only a step that may fail can be dead in a run that has
        SUCCEEDED. If the run ended for another reason, the steps that are due or active are cancelled.
        """
        if isinstance(run, Skipped) or not isinstance(run, Final) or run.attempt == 0:
            return []
        succeeded = isinstance(run, Succeeded)
        if succeeded and not any(step.may_fail for step in graph.steps):
            return []  # also a step with items: its success, and thus its manifest, is final
        state, messages = self._known(run, graph), self._messages(run, graph)
        if succeeded or run.reason == STEPS_FAILED:
            written = WorkflowOutcome.DONE if succeeded else WorkflowOutcome.FAILED
            return [] if state.outcome is written else [messages.evaluate()]
        return messages.cancellations(state.to_cancel())

    def _is_alive(self, step: Run | RunMessage, graph: Graph) -> bool:
        run = self._workflow_run(step, graph)
        return run is not None and not run.state.final

    def _workflow_run(self, step: Run | RunMessage, graph: Graph) -> Run | None:
        return self.parts.workflows.read(step.tenant, run_of(step, graph), ()).run

    def _known(self, of: Run | RunMessage, graph: Graph) -> WorkflowState:
        """Return the state with the outcomes of all steps."""
        return self._state(of, graph, self._ends(of, graph, graph.all, graph.all))

    def _ends_before(self, of: Run | RunMessage, graph: Graph, number: int, *, own: bool) -> StepOutcomes:
        """Return the outcomes that decide whether a step may start. `own`: include the step's current outcome, which
        only counts if the step has a record.
        """
        mine = 1 << number
        return self._ends(of, graph, graph.upstream[number] | (mine if own else 0), graph.before(number) | mine)

    def _ends(self, of: Run | RunMessage, graph: Graph, wanted: int, again: int) -> StepOutcomes:
        """Return the outcomes of the steps in `wanted`. If outcomes were withdrawn in this run, include the steps in
        `again`.
        """
        name = run_of(of, graph)
        parts = graph.parts_of(wanted)
        ends = self.parts.workflows.read(of.tenant, name, parts, with_run=False).ends if parts else StepOutcomes()
        if ends.again and (more := graph.parts_of(again) - parts):
            ends = ends.joined(self.parts.workflows.read(of.tenant, name, more, with_run=False).ends)
        return ends

    def _state(self, of: Run | RunMessage, graph: Graph, known: StepOutcomes) -> WorkflowState:
        return WorkflowState(graph, of.occurrence, of.suffix, known)

    def _records(self, of: Run | RunMessage, graph: Graph, numbers: list[int]) -> dict[int, Run]:
        """Return the existing records of these steps, by number."""
        return records_in(self.parts.workflows, of, graph, numbers)

    def _messages(self, run: Run, graph: Graph) -> WorkflowMessages:
        return WorkflowMessages(run.identity, graph, self.parts.clock.now(), self.parts.randomness)

    def _graph(self, tenant: str, ref: WorkflowRef) -> Graph:
        return self.parts.workflows.graph(tenant, ref)

    def _graph_within(self, run: Run | RunMessage) -> Graph:
        """Return the graph of the steps or items of a workflow's run. Raises GraphMissingError."""
        ref = ref_within(run)
        if ref is None:
            raise GraphMissingError(f"{run.name} has no graph")
        return self._graph(run.tenant, ref)


def records_in(store: WorkflowStore, of: OfRun, graph: Graph, numbers: Iterable[int]) -> dict[int, Run]:
    """Return the existing records of these steps of a run, by number. Strongly consistent."""
    names = {name_in(of, graph.steps[number]): number for number in numbers}
    return {names[run.name]: run for run in store.records(of.tenant, list(names))} if names else {}


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
        graph = self.workflows.graph(run.tenant, ref)
        charge(1 + len(graph.steps) // RECORDS_A_REQUEST)
        ends = self.workflows.read(run.tenant, run.name, graph.parts, with_run=False).ends
        records = self.workflows.records(run.tenant, [name_in(run, step) for step in graph.steps])
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
        whole = run.name.whole
        workflow = run.job_id if run.name.item is not None else read_ref(run.workflow).workflow
        found = self.workflows.read(run.tenant, RunName(workflow, whole.occurrence, whole.suffix), [0])
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
            graph = self.workflows.graph(run.tenant, ref)
        except GraphMissingError:
            return []
        ends = self.workflows.read(run.tenant, run.name, graph.parts, with_run=False).ends
        state = WorkflowState(graph, run.occurrence, run.suffix, ends)
        if state.outcome is not WorkflowOutcome.FAILED:
            return []
        records = records_in(self.workflows, run, graph, numbers_in(ends.failed & ~graph.carried_over.any))
        return (
            []
            if any(isinstance(each, Dead) for each in records.values())
            else named_failures(run.job_id, state, records)
        )
