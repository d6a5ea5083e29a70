"""The graph of a workflow, and how its steps have ended.

How steps of a workflow's run have ended.

An end belongs to a *round* of its step: round 0 is its first run or skip, and each time its final record is written
over (a redrive, a start after a skip, another reason of a skip) the next round begins. The last round counts. So a
late note of an earlier round changes nothing, and an end can be withdrawn: the next round is noted without an end.

The graph of a workflow: which jobs it runs, and after which others each of them starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, reduce
from operator import or_
from typing import ClassVar, NamedTuple

from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.decision import Readiness
from duecourse.domain.runs.records import WORKFLOW_OVER, stopped_by_workflow
from duecourse.domain.runs.states import Run, Succeeded, reason_of
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.occurrences import Occurrences, occurrences_of


class StepOutcome(StrEnum):
    """A step succeeded; failed; did not run because an upstream step failed or its workflow's run had ended; was not
    needed.
    """

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABORTED = "aborted"
    SKIPPED = "skipped"

    @property
    def rank(self) -> int:
        """How it is stored. Within one round an end is replaced by one of a higher rank only."""
        return _RANKS[self]


_RANKS = {StepOutcome.SKIPPED: 1, StepOutcome.ABORTED: 2, StepOutcome.FAILED: 3, StepOutcome.SUCCEEDED: 4}
_BY_RANK = {rank: end for end, rank in _RANKS.items()}

ROUND = 8
"""What a round adds to the stored rank: an entry of a later round is always the higher number."""

_ABORTED = (Readiness.UPSTREAM_FAILED, WORKFLOW_OVER)


def end_of(run: Run) -> StepOutcome:
    """What a step's final record means for the steps after it."""
    if isinstance(run, Succeeded):
        return StepOutcome.SUCCEEDED
    if not stopped_by_workflow(run):
        return StepOutcome.FAILED
    return StepOutcome.ABORTED if reason_of(run) in _ABORTED else StepOutcome.SKIPPED


def end_by(readiness: Readiness) -> StepOutcome:
    """How a step counts that is skipped for this reason."""
    return StepOutcome.ABORTED if readiness in _ABORTED else StepOutcome.SKIPPED


def entry(end: StepOutcome | None, in_round: int) -> int:
    """The end of a step in a round as it is stored; None: it has been withdrawn, and the round has no end yet."""
    return ROUND * in_round + (0 if end is None else end.rank)


@dataclass(frozen=True, slots=True)
class StepOutcomes:
    """Who has ended and how: masks of steps' numbers. `rounds` are the rounds of steps above 0, by number. `again`:
    the end of a step was withdrawn at least once in this run, and all parts of its ends say so.
    """

    succeeded: int = 0
    failed: int = 0
    aborted: int = 0
    skipped: int = 0
    rounds: tuple[tuple[int, int], ...] = ()
    again: bool = False

    @property
    def any(self) -> int:
        """Steps that have ended, however."""
        return self.succeeded | self.failed | self.aborted | self.skipped

    @property
    def withdrawn(self) -> int:
        """Steps that run again and have not ended again."""
        return sum(1 << number for number, _ in self.rounds) & ~self.any

    def having(self, number: int, end: StepOutcome) -> StepOutcomes:
        """With the end of one more step."""
        return replace(self, **{end: getattr(self, end) | 1 << number})

    def joined(self, other: StepOutcomes) -> StepOutcomes:
        """The ends of both, which are of different steps."""
        return StepOutcomes(
            self.succeeded | other.succeeded,
            self.failed | other.failed,
            self.aborted | other.aborted,
            self.skipped | other.skipped,
            tuple(sorted(self.rounds + other.rounds)),
            self.again or other.again,
        )

    def round(self, number: int) -> int:
        """The last round of a step that is noted."""
        return dict(self.rounds).get(number, 0)

    def of(self, number: int) -> StepOutcome | None:
        """How a step has ended; None where it has not."""
        return next((end for end in StepOutcome if getattr(self, end) >> number & 1), None)


def ends_in(entries: Mapping[int, int], *, again: bool) -> StepOutcomes:
    """The ends of stored entries, by steps' numbers."""
    masks = dict.fromkeys(StepOutcome, 0)
    for number, each in entries.items():
        if end := _BY_RANK.get(each % ROUND):
            masks[end] |= 1 << number
    rounds = tuple(sorted((number, each // ROUND) for number, each in entries.items() if each >= ROUND))
    return StepOutcomes(**masks, rounds=rounds, again=again)


PART_STEPS = 128
"""Steps whose ends one item of the runs table holds: it stays under 1 KB, so that a write of it is one unit."""


class Rule(StrEnum):
    """The outcomes of the upstream steps with which a step starts: all succeeded; all ended; one succeeded; one failed;
    none failed and at least one succeeded.
    """

    ALL_SUCCESS = "all_success"
    ALL_DONE = "all_done"
    ANY_SUCCESS = "any_success"
    ANY_FAILURE = "any_failure"
    NONE_FAILED = "none_failed"


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """How a step ended that a rerun does not run again, and the local name (`RunName.local`) of its run then."""

    end: StepOutcome
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A job of a workflow. It starts by rule `when` after the jobs `after`. A failure counts for nothing in the
    outcome where it `may_fail`. `not_before` (cron): it starts at that expression's first instant at or after the
    occurrence, or later. `only` (cron): it takes part in occurrences that the expression names.
    `lane` and `bulk` say where its first message goes: to where the job was when the workflow was put, and from there
    to its present lane. `carried_over`: a rerun counts it as ended so.
    """

    id: str
    after: tuple[str, ...] = ()
    when: Rule = Rule.ALL_SUCCESS
    may_fail: bool = False
    not_before: str | None = None
    only: str | None = None
    lane: Lane = Lane.NORMAL
    bulk: bool = False
    carried_over: CarriedOver | None = None


class WorkflowRef(NamedTuple):
    """Which graph of which workflow a run belongs to; as text `nightly@3f2a…`."""

    workflow: str
    graph: str

    def __str__(self) -> str:
        return f"{self.workflow}@{self.graph}"


def read_ref(text: str) -> WorkflowRef:
    """The inverse of `str`. Raises ValueError."""
    workflow, mark, graph = text.partition("@")
    if not (workflow and mark and graph):
        raise ValueError(f"{text!r} is not a reference to the graph of a workflow")
    return WorkflowRef(workflow, graph)


@dataclass(frozen=True)
class Graph:
    """Steps by number, which is their place in `steps`; sets of steps are bit masks of these numbers.

    `timezone` is that of the expressions in steps, `lane` the workflow's own.
    A rerun has a graph of its own: `rerun_of` is the run id that it repeats, `rerun_from` the steps that it starts
    with. `timed`: `not_before` and `only` count; they do not in a run on request at any instant.
    """

    steps: tuple[Step, ...]
    timezone: str = "UTC"
    lane: Lane = Lane.NORMAL
    rerun_of: str | None = None
    rerun_from: tuple[str, ...] = ()
    timed: bool | None = None

    part_steps: ClassVar[int] = PART_STEPS

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each step."""
        return {step.id: number for number, step in enumerate(self.steps)}

    @cached_property
    def upstream(self) -> tuple[int, ...]:
        """For each step the jobs that it comes directly after."""
        return tuple(sum(1 << self.numbers[each] for each in set(step.after)) for step in self.steps)

    @cached_property
    def downstream(self) -> tuple[tuple[int, ...], ...]:
        """For each step the numbers of those that come directly after it."""
        found: list[list[int]] = [[] for _ in self.steps]
        for number, step in enumerate(self.steps):
            for each in dict.fromkeys(step.after):
                found[self.numbers[each]].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def _before(self) -> dict[int, int]:
        return {}

    @cached_property
    def first(self) -> int:
        """Steps that a rerun starts with, whatever comes before them."""
        return sum(1 << self.numbers[each] for each in self.rerun_from)

    @cached_property
    def all(self) -> int:
        """Every step."""
        return (1 << len(self.steps)) - 1

    @cached_property
    def may_fail(self) -> int:
        """Steps whose failure does not count."""
        return sum(1 << number for number, step in enumerate(self.steps) if step.may_fail)

    @cached_property
    def carried_over(self) -> StepOutcomes:
        """The ends that a rerun begins with: jobs that it does not run again count as they ended."""
        ends = StepOutcomes()
        for number, step in enumerate(self.steps):
            if step.carried_over is not None:
                ends = ends.having(number, step.carried_over.end)
        return ends

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All steps, each after those before it."""
        return tuple(sorted(range(len(self.steps)), key=lambda number: self._depth[number]))

    @cached_property
    def _depth(self) -> list[int]:
        """For each step how many jobs the longest path to it has."""
        depth, open_ = [0] * len(self.steps), [len(set(step.after)) for step in self.steps]
        ready = [number for number, count in enumerate(open_) if not count]
        for number in ready:  # which grows
            for following in self.downstream[number]:
                depth[following] = max(depth[following], depth[number] + 1)
                open_[following] -= 1
                if not open_[following]:
                    ready.append(following)
        return depth

    def before(self, number: int) -> int:
        """All steps that must have ended, or been skipped, before this one may start. As deep as the longest path."""
        if number not in self._before:
            upstream = self.upstream[number]
            self._before[number] = reduce(or_, map(self.before, numbers_in(upstream)), upstream)
        return self._before[number]

    def after(self, numbers: int) -> int:
        """These steps, and all that come after them."""
        found, pending = 0, numbers
        while pending:
            found |= pending
            pending = sum(1 << each for each in {down for one in numbers_in(pending) for down in self.downstream[one]})
            pending &= ~found
        return found

    @property
    def parts(self) -> range:
        """The numbers of the items that hold its steps' ends."""
        return range((len(self.steps) + self.part_steps - 1) // self.part_steps)

    def part_of(self, number: int) -> int:
        """The item that holds the end of this step."""
        return number // self.part_steps

    def part(self, part: int) -> int:
        """The steps whose ends that item holds."""
        return ((1 << self.part_steps) - 1) << (part * self.part_steps) & self.all

    def parts_of(self, steps: int) -> set[int]:
        """The items that hold the ends of these steps."""
        return {part for part in self.parts if steps & self.part(part)}

    def not_its_time(self, occurrence: int, suffix: str) -> int:
        """Steps that take no part in the run of this occurrence."""
        if not self.is_timed(suffix):
            return 0
        timed = [(number, step.only) for number, step in enumerate(self.steps) if step.only is not None]
        idle = (number for number, only in timed if self._times(only).next(occurrence - 1) != occurrence)
        return sum(1 << number for number in idle) & ~self.first

    def not_before(self, number: int, occurrence: int, suffix: str) -> int | None:
        """The earliest start of a step in the run of this occurrence (UTC seconds)."""
        expression = self.steps[number].not_before
        if expression is None or self.first >> number & 1 or not self.is_timed(suffix):
            return None
        return self._times(expression).next(occurrence - 1)

    def is_timed(self, suffix: str) -> bool:
        """Whether `not_before` and `only` count in a run with this suffix."""
        return not suffix.startswith(".m") if self.timed is None else self.timed

    def _times(self, expression: str) -> Occurrences:
        return occurrences_of("", "", ScheduleSpec(expression, self.timezone))


def numbers_in(steps: int) -> list[int]:
    """The numbers of a mask, ascending."""
    found = []
    while steps:
        found.append((steps & -steps).bit_length() - 1)
        steps &= steps - 1
    return found
