"""How members of a workflow's run have ended.

An end belongs to a *round* of its member: round 0 is its first run or skip, and each time its final record is written
over (a redrive, a start after a skip, another reason of a skip) the next round begins. The last round counts. So a late
note of an earlier round changes nothing, and an end can be withdrawn: the next round is noted without an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from duecourse.domain.runs.decision import Readiness
from duecourse.domain.runs.records import WORKFLOW_OVER, stopped_by_workflow
from duecourse.domain.runs.states import Run, Succeeded, reason_of


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
        """How it is stored. Within one round an end is replaced by one of a higher rank only."""
        return _RANKS[self]


_RANKS = {End.SKIPPED: 1, End.CUT: 2, End.FAILED: 3, End.OK: 4}
_BY_RANK = {rank: end for end, rank in _RANKS.items()}

ROUND = 8
"""What a round adds to the stored rank: an entry of a later round is always the higher number."""

_CUT = (Readiness.UPSTREAM_FAILED, WORKFLOW_OVER)


def end_of(run: Run) -> End:
    """What a member's final record means for the members after it."""
    if isinstance(run, Succeeded):
        return End.OK
    if not stopped_by_workflow(run):
        return End.FAILED
    return End.CUT if reason_of(run) in _CUT else End.SKIPPED


def end_by(readiness: Readiness) -> End:
    """How a member counts that is skipped for this reason."""
    return End.CUT if readiness in _CUT else End.SKIPPED


def entry(end: End | None, in_round: int) -> int:
    """The end of a member in a round as it is stored; None: it has been withdrawn, and the round has no end yet."""
    return ROUND * in_round + (0 if end is None else end.rank)


@dataclass(frozen=True, slots=True)
class MemberEnds:
    """Who has ended and how: masks of members' numbers. `rounds` are the rounds of members above 0, by number. `again`:
    the end of a member was withdrawn at least once in this run, and all parts of its ends say so.
    """

    ok: int = 0
    failed: int = 0
    cut: int = 0
    skipped: int = 0
    rounds: tuple[tuple[int, int], ...] = ()
    again: bool = False

    @property
    def any(self) -> int:
        """Members that have ended, however."""
        return self.ok | self.failed | self.cut | self.skipped

    @property
    def withdrawn(self) -> int:
        """Members that run again and have not ended again."""
        return sum(1 << number for number, _ in self.rounds) & ~self.any

    def having(self, number: int, end: End) -> MemberEnds:
        """With the end of one more member."""
        return replace(self, **{end: getattr(self, end) | 1 << number})

    def joined(self, other: MemberEnds) -> MemberEnds:
        """The ends of both, which are of different members."""
        return MemberEnds(
            self.ok | other.ok,
            self.failed | other.failed,
            self.cut | other.cut,
            self.skipped | other.skipped,
            tuple(sorted(self.rounds + other.rounds)),
            self.again or other.again,
        )

    def round(self, number: int) -> int:
        """The last round of a member that is noted."""
        return dict(self.rounds).get(number, 0)

    def of(self, number: int) -> End | None:
        """How a member has ended; None where it has not."""
        return next((end for end in End if getattr(self, end) >> number & 1), None)


def ends_in(entries: Mapping[int, int], *, again: bool) -> MemberEnds:
    """The ends of stored entries, by members' numbers."""
    masks = dict.fromkeys(End, 0)
    for number, each in entries.items():
        if end := _BY_RANK.get(each % ROUND):
            masks[end] |= 1 << number
    rounds = tuple(sorted((number, each // ROUND) for number, each in entries.items() if each >= ROUND))
    return MemberEnds(**masks, rounds=rounds, again=again)
