"""The messages by which a workflow's run starts, cancels and redrives its members, and is looked at itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.runs.records import WORKFLOW_OVER
from duecourse.domain.runs.run import Run
from duecourse.domain.runs.run_identity import OfRun, RunIdentity
from duecourse.domain.workflows.graph import Graph, Member, read_ref
from duecourse.messages import MessageKind, RunMessage, message_about
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

    def starts(self, numbers: Iterable[int]) -> list[RunMessage]:
        """The start of each of these members, at its time."""
        return [self._about(number, MessageKind.START) for number in numbers]

    def cancellations(self, numbers: Iterable[int]) -> list[RunMessage]:
        """The cancellation of each of these members."""
        return [replace(self._about(number, MessageKind.CANCEL), reason=WORKFLOW_OVER) for number in numbers]

    def redrives(self, dead: Iterable[Run]) -> list[RunMessage]:
        """Another allowance of attempts for each of these members' runs."""
        return [message_about(run, MessageKind.REDRIVE, now=self.now, nonce=self.randomness.nonce()) for run in dead]

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

    def _about(self, number: int, kind: MessageKind) -> RunMessage:
        member, at = self.graph.members[number], self.now
        if kind is MessageKind.START:
            at = max(at, float(self.graph.not_before(number, self.of.occurrence, self.of.suffix) or 0))
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
