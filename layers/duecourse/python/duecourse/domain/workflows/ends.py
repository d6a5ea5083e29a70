"""How members of a workflow's run have ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from duecourse.domain.runs.decision import Readiness
from duecourse.domain.runs.records import WORKFLOW_OVER, stopped_by_workflow
from duecourse.domain.runs.run import Run, RunState


class End(StrEnum):
    """A member succeeded; failed; did not run since a job before it failed, or its workflow's run was over; had nothing
    to do.
    """

    OK = "ok"
    FAILED = "failed"
    CUT = "cut"
    SKIPPED = "skipped"

    @property
    def rank(self) -> int:
        """A member's end is replaced by one of a higher rank only: a failure by the success of its redrive."""
        return _RANKS[self]


_RANKS = {End.SKIPPED: 1, End.CUT: 2, End.FAILED: 3, End.OK: 4}
BY_RANK = {rank: end for end, rank in _RANKS.items()}

_CUT = (Readiness.UPSTREAM_FAILED, WORKFLOW_OVER)


def end_of(run: Run) -> End:
    """What a member's final record means for the members after it."""
    if run.state is RunState.SUCCEEDED:
        return End.OK
    if not stopped_by_workflow(run):
        return End.FAILED
    return End.CUT if run.reason in _CUT else End.SKIPPED


@dataclass(frozen=True, slots=True)
class MemberEnds:
    """Who has ended and how: masks of members' numbers."""

    ok: int = 0
    failed: int = 0
    cut: int = 0
    skipped: int = 0

    @property
    def any(self) -> int:
        """Members that have ended, however."""
        return self.ok | self.failed | self.cut | self.skipped

    def having(self, number: int, end: End) -> MemberEnds:
        """With the end of one more member."""
        return replace(self, **{end: getattr(self, end) | 1 << number})

    def joined(self, other: MemberEnds) -> MemberEnds:
        """The ends of both, which are of different members."""
        return MemberEnds(
            self.ok | other.ok, self.failed | other.failed, self.cut | other.cut, self.skipped | other.skipped
        )

    def of(self, number: int) -> End | None:
        """How a member has ended; None where it has not."""
        return next((end for end in End if getattr(self, end) >> number & 1), None)
