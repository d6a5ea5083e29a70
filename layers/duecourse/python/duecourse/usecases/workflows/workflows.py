"""Runs of workflows: begun by starting the members that wait for nobody, moved on by each member's end.

The end of a member is noted after its final record was written, and before the message that carried it is deleted: a
message that comes again repeats it, and all of it is idempotent. Of the ends that decide whether another member may
start the last one to be noted sees all others, since each is noted before the others are read; so nobody is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.decision import Readiness, WorkflowOutcome
from duecourse.domain.runs.member import MEMBERS_FAILED
from duecourse.domain.runs.records import stopped_by_workflow
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Succeeded
from duecourse.domain.workflows.ends import MemberEnds, end_of
from duecourse.domain.workflows.graph import Graph, read_ref
from duecourse.domain.workflows.state import WorkflowState
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Clock, Inputs, JobStore, Randomness, WorkflowStore
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report
from duecourse.usecases.workflows.messages import WorkflowMessages, name_in, run_of

NAMED_FAILURES = 10
"""Failed members that the error of a workflow's run names."""

KEPT_LONGER_DAYS = 30
"""For how much longer than a member's record its end is kept: a redrive needs the ends of all members."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What has become of a workflow's run, and which error its record will have."""

    outcome: WorkflowOutcome
    error: str | None = None


Found = Readiness | Evaluation | None
"""What a workflow's run says about a message: to a member's start, to an evaluation, to any other."""


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

    def look(self, message: RunMessage) -> Found:
        """What the ends of the members mean for what a message asks for. Raises GraphMissingError."""
        if message.workflow is None:
            return None
        if message.kind is MessageKind.EVALUATE:
            return self._evaluation(message)
        if message.kind is MessageKind.START and message.attempt == 1 and message.is_member:
            return self._readiness(message)
        return None

    def _readiness(self, message: RunMessage) -> Readiness:
        """The ends first, then its workflow's run: who is ready by them while that is alive is among those whom the end
        of it cancels, however late the start is written.
        """
        graph, ref = self._graph(message), read_ref(message.workflow or "")
        number, ends = graph.numbers[message.job_id], MemberEnds()
        if parts := graph.parts_of(graph.upstream[number]):
            ends = self.store.read(message.tenant, run_of(message.identity, ref.workflow), parts, with_run=False).ends
        readiness = self._state(message, graph, ends).readiness(number)
        return readiness if readiness is Readiness.WAITS or self._is_alive(message) else Readiness.OVER

    def _evaluation(self, message: RunMessage) -> Evaluation:
        graph = self._graph(message)
        state = self._known(message, graph)
        if state.outcome is not WorkflowOutcome.FAILED:
            return Evaluation(state.outcome)
        failed = self._records(message, graph, state.failed)
        if any(not run.state.final for run in failed):
            return Evaluation(WorkflowOutcome.OPEN)  # redriven; its next end asks again
        named = [f"{run.job_id} ({run.code or run.reason or run.state})" for run in failed[:NAMED_FAILURES]]
        more = f" and {len(failed) - NAMED_FAILURES} more" if len(failed) > NAMED_FAILURES else ""
        return Evaluation(state.outcome, f"failed: {', '.join(named)}{more}")

    def begin(self, run: Run, report: Report) -> Outcome:
        """Start the members that are to be started; of a run that was redriven itself, redrive those that are dead."""
        graph = self._graph(run)
        state, messages = self._known(run, graph), self._messages(run, graph)
        dead: list[Run] = []
        if run.redriven_at is not None:
            dead = [each for each in self._records(run, graph, state.failed) if each.state is RunState.DEAD]
        wanted = [*messages.redrives(dead), *messages.starts(state.to_start())]
        if not dead and state.outcome is not WorkflowOutcome.OPEN:
            wanted.append(messages.evaluate())
        report.add("workflow_begun", members=len(graph.members), sent=len(wanted), redriven=len(dead))
        if not self.forwarder.send_all(wanted):
            return Failed("the starts of its jobs were not all accepted by their lanes", code="workflow.start")
        return Succeeded()

    def ended(self, run: Run, report: Report) -> None:
        """What follows from the final record of a workflow's run, or of its member's. Raises NotSentError."""
        graph = self._graph(run)
        following = self._after_member(run, graph) if run.is_member else self._after_run(run, graph)
        if following:
            report.add("workflow_went_on", run_id=str(run.name), sent=len(following))
        if not self.forwarder.send_all(following):
            raise NotSentError(f"what follows from the end of {run.name}")

    def _after_member(self, run: Run, graph: Graph) -> list[RunMessage]:
        number, ref = graph.numbers[run.job_id], read_ref(run.workflow or "")
        of = run_of(run.identity, ref.workflow)
        expires_at = (run.expires_at or int(self.clock.now())) + KEPT_LONGER_DAYS * DAY_SECONDS
        known = self.store.record_end(run.tenant, of, number, end_of(run), expires_at=expires_at)
        state = self._state(run, graph, known)
        if parts := state.parts_wanted(number):
            others = self.store.read(run.tenant, of, parts, with_run=False).ends
            state = replace(state, known=known.joined(others))
        starts = state.to_start(list(graph.downstream[number]))
        if stopped_by_workflow(run) and state.readiness(number) is Readiness.READY and self._is_alive(run):
            starts.append(number)  # cancelled with its workflow's run, which has been redriven meanwhile
        messages = self._messages(run, graph)
        following = messages.starts(starts)
        redriven = run.state is RunState.SUCCEEDED and run.redriven_at is not None
        if redriven or state.outcome is not WorkflowOutcome.OPEN:
            following.append(messages.evaluate())
        return following

    def _after_run(self, run: Run, graph: Graph) -> list[RunMessage]:
        """A run that its members made DEAD is looked at once more: one may have been redriven before that was written.
        One that ended otherwise takes the members with it that are due or at work.
        """
        if run.state not in (RunState.DEAD, RunState.CANCELLED) or run.attempt == 0:
            return []
        state, messages = self._known(run, graph), self._messages(run, graph)
        if run.reason == MEMBERS_FAILED:
            return [] if state.outcome is WorkflowOutcome.FAILED else [messages.evaluate()]
        due = [each for each in state.to_start() if state.readiness(each) is Readiness.READY]
        return messages.cancellations(due)

    def _is_alive(self, member: Run | RunMessage) -> bool:
        of = run_of(member.identity, read_ref(member.workflow or "").workflow)
        read = self.store.read(member.tenant, of, ())
        return read.run is not None and not read.run.state.final

    def _known(self, of: Run | RunMessage, graph: Graph) -> WorkflowState:
        """With the ends of all members."""
        name = run_of(of.identity, read_ref(of.workflow or "").workflow)
        return self._state(of, graph, self.store.read(of.tenant, name, graph.parts, with_run=False).ends)

    def _state(self, of: Run | RunMessage, graph: Graph, known: MemberEnds) -> WorkflowState:
        return WorkflowState(graph, of.occurrence, of.suffix, known)

    def _records(self, of: Run | RunMessage, graph: Graph, numbers: list[int]) -> list[Run]:
        names = [name_in(of, graph.members[number]) for number in numbers]
        found = {run.job_id: run for run in self.store.records(of.tenant, names)} if names else {}
        return [found[name.job_id] for name in names if name.job_id in found]

    def _messages(self, run: Run, graph: Graph) -> WorkflowMessages:
        return WorkflowMessages(run.identity, graph, self.clock.now(), self.randomness)

    def _graph(self, of: Run | RunMessage) -> Graph:
        return self.store.graph(of.tenant, read_ref(of.workflow or ""))
