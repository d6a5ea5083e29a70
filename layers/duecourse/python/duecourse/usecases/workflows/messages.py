"""The messages by which a workflow's run starts and cancels its members, and is evaluated itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.runs.identity import OfRun, RunIdentity
from duecourse.domain.runs.records import WORKFLOW_OVER
from duecourse.domain.workflows.graph import Graph, Member, read_ref
from duecourse.domain.workflows.state import WorkflowState
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Randomness


@dataclass(frozen=True, slots=True)
class WorkflowMessages:
    """Messages about the workflow's run `of` which the run with this identity is, or whose member it is, at `now` (UTC
    seconds).
    """

    of: RunIdentity
    graph: Graph
    now: float
    randomness: Randomness

    def starts(self, state: WorkflowState, numbers: Iterable[int]) -> list[RunMessage]:
        """The start of each of these members: of one that may run at its time, of one that is skipped at once."""
        return [self._about(number, MessageKind.START, self._begins(state, number)) for number in numbers]

    def _begins(self, state: WorkflowState, number: int) -> float:
        own = self.graph.not_before(number, self.of.occurrence, self.of.suffix)
        return self.now if own is None or state.readiness(number).skips else max(self.now, float(own))

    def cancellations(self, numbers: Iterable[int]) -> list[RunMessage]:
        """The cancellation of each of these members."""
        return [replace(self._about(number, MessageKind.CANCEL, self.now), reason=WORKFLOW_OVER) for number in numbers]

    def evaluate(self) -> RunMessage:
        """Have the workflow's run looked at."""
        workflow = read_ref(self.of.workflow or "").workflow
        return RunMessage(
            self._identity(workflow, self.of.occurrence),
            self.graph.lane,
            self.now,
            self.randomness.nonce(),
            kind=MessageKind.EVALUATE,
        )

    def _about(self, number: int, kind: MessageKind, at: float) -> RunMessage:
        member = self.graph.members[number]
        identity = self._identity(member.id, int(at))
        return RunMessage(identity, member.lane, at, self.randomness.nonce(), kind=kind, bulk=member.bulk)

    def _identity(self, job_id: str, due: int) -> RunIdentity:
        """The run of that job in this run of the workflow. Generation 0: its job's, as it is when it begins."""
        return replace(self.of, job_id=job_id, due=due, generation=0, count=1, through=None, own_payload=False)


def name_in(run: OfRun, member: Member) -> RunName:
    """The member's run in this one, or in the one of which this one has taken it over."""
    if member.given is None:
        return RunName(member.id, run.occurrence, run.suffix)
    return parse_run_id(f"{member.id}.{member.given.run}")


def run_of(identity: RunIdentity, job_id: str) -> RunName:
    """The name of a job's run in the run of a workflow that this is, or is a member of."""
    return RunName(job_id, identity.occurrence, identity.suffix)
