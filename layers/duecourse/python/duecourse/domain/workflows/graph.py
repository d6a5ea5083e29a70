"""The graph of a workflow (its steps and their upstream steps), and how the steps of a run ended (their *ends*).

An end belongs to a *round* of its step. Round 0 is the first run or skip of the step. Each time its final record is
overwritten (by a redrive, a start after a skip, or a skip for another reason), the next round starts. The last round
counts. So a late write of an earlier round changes nothing, and an end can be withdrawn: the next round is recorded
without an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, reduce
from operator import or_
from typing import ClassVar, NamedTuple

from duecourse.domain.ids import RunLike, RunName, parse_run_id
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.decision import WORKFLOW_OVER, Readiness
from duecourse.domain.runs.states import Run, Succeeded
from duecourse.domain.runs.transitions import stopped_by_workflow
from duecourse_schedules import ScheduleSpec
from duecourse_schedules.schedule import Occurrences, occurrences_of


class StepOutcome(StrEnum):
    """How a step ended. ABORTED: it did not run because an upstream step failed or its workflow's run had ended.
    SKIPPED: it was not needed.
    """

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABORTED = "aborted"
    SKIPPED = "skipped"

    @property
    def rank(self) -> int:
        """The rank by which the outcome is stored. Within one round, an end is only replaced by one of a higher
        rank.
        """
        return _RANKS[self]


_RANKS = {StepOutcome.SKIPPED: 1, StepOutcome.ABORTED: 2, StepOutcome.FAILED: 3, StepOutcome.SUCCEEDED: 4}
_BY_RANK = {rank: end for end, rank in _RANKS.items()}

ROUND = 8
"""The number that a round adds to the stored rank. So an entry of a later round is always higher."""

_ABORTED = (Readiness.UPSTREAM_FAILED, WORKFLOW_OVER)


def end_of(run: Run) -> StepOutcome:
    """Return the outcome of a step with this final record, as its downstream steps count it."""
    if isinstance(run, Succeeded):
        return StepOutcome.SUCCEEDED
    if not stopped_by_workflow(run):
        return StepOutcome.FAILED
    return StepOutcome.ABORTED if run.reason in _ABORTED else StepOutcome.SKIPPED


def end_by(readiness: Readiness) -> StepOutcome:
    """Return the outcome of a step that is skipped for this reason."""
    return StepOutcome.ABORTED if readiness in _ABORTED else StepOutcome.SKIPPED


def entry(end: StepOutcome | None, in_round: int) -> int:
    """Return the stored form of a step's end in a round. None: the end was withdrawn, and the round has no end yet."""
    return ROUND * in_round + (0 if end is None else end.rank)


@dataclass(frozen=True, slots=True)
class StepOutcomes:
    """The outcomes of steps, as bit masks of the steps' numbers.

    `rounds` are the rounds of steps above 0, by step number. `again`: the end of a step was withdrawn at least once in
    this run. All parts of the stored ends contain this flag.
    """

    succeeded: int = 0
    failed: int = 0
    aborted: int = 0
    skipped: int = 0
    rounds: tuple[tuple[int, int], ...] = ()
    again: bool = False

    @property
    def any(self) -> int:
        """The steps that have ended, with any outcome."""
        return self.succeeded | self.failed | self.aborted | self.skipped

    @property
    def passed(self) -> int:
        """The steps that have ended at least once, even if they run again."""
        return self.any | sum(1 << number for number, _ in self.rounds)

    @property
    def withdrawn(self) -> int:
        """The steps that run again and have not ended again."""
        return sum(1 << number for number, _ in self.rounds) & ~self.any

    def having(self, number: int, end: StepOutcome) -> StepOutcomes:
        """Return the outcomes with the end of one more step."""
        return replace(self, **{end: getattr(self, end) | 1 << number})

    def joined(self, other: StepOutcomes) -> StepOutcomes:
        """Return the outcomes of both, which concern different steps."""
        return StepOutcomes(
            self.succeeded | other.succeeded,
            self.failed | other.failed,
            self.aborted | other.aborted,
            self.skipped | other.skipped,
            tuple(sorted(self.rounds + other.rounds)),
            self.again or other.again,
        )

    def round(self, number: int) -> int:
        """Return the last recorded round of a step."""
        return dict(self.rounds).get(number, 0)

    def of(self, number: int) -> StepOutcome | None:
        """Return how a step ended, or None if it has not."""
        return next((end for end in StepOutcome if getattr(self, end) >> number & 1), None)


def ends_in(entries: Mapping[int, int], *, again: bool) -> StepOutcomes:
    """Return the outcomes in stored entries, by step number."""
    masks = dict.fromkeys(StepOutcome, 0)
    for number, each in entries.items():
        if end := _BY_RANK.get(each % ROUND):
            masks[end] |= 1 << number
    rounds = tuple(sorted((number, each // ROUND) for number, each in entries.items() if each >= ROUND))
    return StepOutcomes(**masks, rounds=rounds, again=again)


PART_STEPS = 128
"""The number of steps whose ends one item of the runs table contains. The item stays under 1 KB, so that writing it
takes one write unit.
"""


class Rule(StrEnum):
    """The outcomes of the upstream steps that let a step start: all succeeded; all ended; one succeeded; one failed;
    none failed and at least one succeeded.
    """

    ALL_SUCCESS = "all_success"
    ALL_DONE = "all_done"
    ANY_SUCCESS = "any_success"
    ANY_FAILURE = "any_failure"
    NONE_FAILED = "none_failed"


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """The outcome of a step that a rerun does not run again, and the local name (`RunName.local`) of its run."""

    end: StepOutcome
    run: str


DEFAULT_AT_ONCE = 10
"""How many items of a list are active at the same time by default."""

MAX_ITEMS = 1000
"""The maximum number of items of a list: as many steps as one step may have downstream (check.MAX_DIRECT)."""


@dataclass(frozen=True, slots=True)
class ForEach:
    """A step runs once for each item of a list.

    - `items`: one placeholder for the list (domain.workflows.results).
    - `at_once`: the maximum number of active items.
    - `max_failed`: the step succeeds if at most so many items failed.
    - `within_seconds`: the longest time from the start of the step to the end of all items.
    """

    items: str
    at_once: int = DEFAULT_AT_ONCE
    max_failed: int = 0
    within_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a step's run: their `values` (JSON texts, by index), and the rules of `ForEach` for them. Workers
    keep many graphs in memory, where texts need less than values.
    """

    values: tuple[str, ...]
    at_once: int
    max_failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a workflow: a job under the name `id` within the workflow. It starts after the `after` steps, according
    to the `when` rule.

    - `job`: the id of the job. None: the same as the name.
    - `may_fail`: a failure of this step does not count in the workflow's outcome.
    - `not_before` (cron): the step does not start before the expression's first instant at or after the occurrence.
    - `only` (cron): the step only takes part in occurrences that the expression contains.
    - `lane`, `bulk`: the queue of its first message. It is the queue that the job had when the workflow was created or
      changed. The message is forwarded to the job's current lane.
    - `carried_over`: a rerun counts the step as ended with this outcome.
    - `for_each`: the step runs once for each item of a list.
    - `item`: the index of the item that this step is, in the graph of a step's run (`Graph.items`).
    - `shared`: the job may be a step of other workflows too, and may have a schedule.
    - `nested`: the job is a workflow.
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
    job: str | None = None
    for_each: ForEach | None = None
    item: int | None = None
    shared: bool = False
    nested: bool = False

    @property
    def job_id(self) -> str:
        """The id of the step's job."""
        return self.job or self.id


OWN = "--"
"""Separates the workflow and the step in the id of a job that belongs to its workflow: `nightly--extract`."""


def own_job(workflow: str, step: str) -> str:
    """Return the id of the job that a workflow defines for its step. It is an ordinary id, so it needs no escaping in
    keys, paths, run ids and names of other services. Nothing is read from it.
    """
    return f"{workflow}{OWN}{step}"


class WorkflowRef(NamedTuple):
    """The workflow and the graph of a run, as text `nightly@3f2a…`. `of_items`: `workflow` is the job of a step, and
    the graph has its items. `outer` is the text form of the graph of which the run is a step, or empty. In text form it
    comes first: `nightly@3f2a…/load@91bc…`. The graph of items is not part of the text.
    """

    workflow: str
    graph: str
    of_items: bool = False
    outer: str = ""

    def __str__(self) -> str:
        own = "" if self.of_items else f"{self.workflow}@{self.graph}"
        return "/".join(filter(None, (self.outer, own)))


def read_ref(text: str) -> WorkflowRef:
    """Parse the text form of a WorkflowRef. Raises ValueError."""
    outer, _, own = text.rpartition("/")
    workflow, mark, graph = own.partition("@")
    if not (workflow and mark and graph):
        raise ValueError(f"{text!r} is not a reference to the graph of a workflow")
    return WorkflowRef(workflow, graph, outer=outer)


def ref_around(step: RunLike) -> WorkflowRef:
    """Return the graph in which a run is a step. An item is a step of the run of its step. Raises ValueError for other
    runs.
    """
    if step.name.item is not None:
        return WorkflowRef(step.job_id, step.items or "", of_items=True, outer=step.workflow or "")
    ref = read_ref(step.workflow or "")
    return read_ref(ref.outer) if ref.workflow == step.job_id else ref


def ref_within(run: RunLike) -> WorkflowRef | None:
    """Return the graph of a workflow's run, or of the run of a step with items. None if this run has none (yet)."""
    if run.has_items:
        outer = run.workflow or ""
        return None if run.items is None else WorkflowRef(run.job_id, run.items, of_items=True, outer=outer)
    return read_ref(run.workflow) if run.is_workflow and run.workflow is not None else None


def refs_of(run: RunLike) -> list[WorkflowRef]:
    """Return the graphs of the workflows to which a run belongs, from the innermost to the outermost one."""
    found, text = list[WorkflowRef](), run.workflow or ""
    while text:
        found.append(read_ref(text))
        text = found[-1].outer
    return found


@dataclass(frozen=True, slots=True)
class GraphRun:
    """A run of a workflow, or of a step with items: its reference, its `graph`, and its `name`."""

    ref: WorkflowRef
    graph: Graph
    name: RunName

    def name_of(self, number: int) -> RunName:
        """Return the name of the run of a step in this run, or in the earlier run whose outcome it carries over."""
        return step_name(self.name, self.graph.steps[number])


def run_in(ref: WorkflowRef, of: RunLike) -> RunName:
    """Return the name of the run of this graph which `of` is, or to which it belongs as a step or an item."""
    if ref.of_items:
        return of.name.whole
    return of.name if of.job_id == ref.workflow else of.name.of_workflow(ref.workflow)


def step_name(run: RunName, step: Step) -> RunName:
    """Return the name of the run of a step in this run of a workflow (or of a step, for an item), or in the earlier run
    whose outcome it carries over.
    """
    of = run if step.carried_over is None else parse_run_id(f"{run.job_id}.{step.carried_over.run}")
    own = of.of_step(step.job_id, shared=step.shared)
    return own if step.item is None else own.of_item(step.item)


@dataclass(frozen=True)
class Graph:
    """The steps of a workflow by number, which is their position in `steps`. Sets of steps are bit masks of these
    numbers.

    `timezone` is the time zone of the steps' expressions, `lane` the lane of the workflow. A rerun has a separate
    graph: `rerun_of` is the id of the run that it repeats, `rerun_from` are the steps that it starts with. `timed`:
    `not_before` and `only` apply. They do not apply in a manual run at an arbitrary instant.

    The run of a step with `for_each` has a graph of its own, which is stored before its first item starts. Its steps
    are the items (`items`), all with the same job and without edges. Item n starts when the number of ended items
    allows it (`opens`).
    """

    steps: tuple[Step, ...]
    timezone: str = "UTC"
    lane: Lane = Lane.NORMAL
    rerun_of: str | None = None
    rerun_from: tuple[str, ...] = ()
    timed: bool | None = None
    items: Items | None = None

    part_steps: ClassVar[int] = PART_STEPS

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each step, by its name."""
        return {step.id: number for number, step in enumerate(self.steps)}

    @cached_property
    def of_jobs(self) -> dict[str, int]:
        """The number of each step, by the id of its job."""
        return {step.job_id: number for number, step in enumerate(self.steps)}

    @cached_property
    def owned(self) -> frozenset[str]:
        """The ids of the jobs that belong to this workflow alone."""
        return frozenset(step.job_id for step in self.steps if not step.shared)

    def number_of(self, run: RunLike) -> int:
        """Return the number of the step to which a run in a run of this graph belongs."""
        index = None if self.items is None else run.name.item
        return self.of_jobs[run.job_id] if index is None else index

    @cached_property
    def upstream(self) -> tuple[int, ...]:
        """The direct upstream steps of each step. For an item, the items whose ends decide when it starts."""
        if self.items is not None:
            opening = (number - self.items.at_once for number in range(len(self.steps)))
            return tuple(0 if each < 0 else self.part(self.part_of(each)) for each in opening)
        return tuple(sum(1 << self.numbers[each] for each in set(step.after)) for step in self.steps)

    @cached_property
    def downstream(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the direct downstream steps of each step."""
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
        """The steps that a rerun starts with, regardless of their upstream steps."""
        return sum(1 << self.numbers[each] for each in self.rerun_from)

    @cached_property
    def all(self) -> int:
        """All steps."""
        return (1 << len(self.steps)) - 1

    @cached_property
    def may_fail(self) -> int:
        """The steps whose failure does not count."""
        return sum(1 << number for number, step in enumerate(self.steps) if step.may_fail)

    @cached_property
    def carried_over(self) -> StepOutcomes:
        """The outcomes with which a rerun starts: steps that it does not run again keep their outcome."""
        ends = StepOutcomes()
        for number, step in enumerate(self.steps):
            if step.carried_over is not None:
                ends = ends.having(number, step.carried_over.end)
        return ends

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All steps, each after its upstream steps."""
        return tuple(sorted(range(len(self.steps)), key=lambda number: self._depth[number]))

    @cached_property
    def _depth(self) -> list[int]:
        """The number of steps on the longest path to each step."""
        depth, open_ = [0] * len(self.steps), [len(set(step.after)) for step in self.steps]
        ready = [number for number, count in enumerate(open_) if not count]
        for number in ready:  # the list grows during the loop
            for following in self.downstream[number]:
                depth[following] = max(depth[following], depth[number] + 1)
                open_[following] -= 1
                if not open_[following]:
                    ready.append(following)
        return depth

    def before(self, number: int) -> int:
        """Return all steps that must have ended, or been skipped, before this one may start. The recursion is as deep
        as the longest path.
        """
        if self.items is not None:
            return self.upstream[number]
        if number not in self._before:
            upstream = self.upstream[number]
            self._before[number] = reduce(or_, map(self.before, numbers_in(upstream)), upstream)
        return self._before[number]

    def after(self, numbers: int) -> int:
        """Return these steps and all their direct and indirect downstream steps."""
        found, pending = 0, numbers
        while pending:
            found |= pending
            pending = sum(1 << each for each in {down for one in numbers_in(pending) for down in self.downstream[one]})
            pending &= ~found
        return found

    def opens(self, number: int, known: StepOutcomes) -> bool:
        """Return whether an item may start, according to the ends of the items in `upstream`.

        The first `at_once` items may start at once. After that, the end of an item opens one more: in each part, the
        end that is recorded as the c-th one opens the item `at_once` after the c-th item of the part. So exactly one
        end opens each item, at most `at_once` items are active, and an end is followed without a read of other parts.
        Every item is opened: all items before item n - at_once are opened earlier, and so is that item itself.
        """
        before = number - self._at_once
        return before < 0 or (known.passed & self.upstream[number]).bit_count() > before % self.part_steps

    def opened(self, number: int, known: StepOutcomes, *, last: bool) -> list[int]:
        """Return the items that the recorded ends in the part of this item have opened: the `last` one, or all."""
        begin = self.part_of(number) * self.part_steps + self._at_once
        end = begin + (known.passed & self.part(self.part_of(number))).bit_count()
        return list(range(max(begin, end - 1) if last else begin, min(end, len(self.steps))))

    @property
    def _at_once(self) -> int:
        return len(self.steps) if self.items is None else self.items.at_once

    @property
    def parts(self) -> range:
        """The numbers of the items that contain the ends of the steps."""
        return range((len(self.steps) + self.part_steps - 1) // self.part_steps)

    def part_of(self, number: int) -> int:
        """Return the number of the item that contains the end of this step."""
        return number // self.part_steps

    def part(self, part: int) -> int:
        """Return the steps whose ends this item contains."""
        return ((1 << self.part_steps) - 1) << (part * self.part_steps) & self.all

    def parts_of(self, steps: int) -> set[int]:
        """Return the items that contain the ends of these steps."""
        return {part for part in self.parts if steps & self.part(part)}

    def not_its_time(self, occurrence: int, suffix: str) -> int:
        """Return the steps that take no part in the run of this occurrence."""
        if not self.is_timed(suffix):
            return 0
        timed = [(number, step.only) for number, step in enumerate(self.steps) if step.only is not None]
        idle = (number for number, only in timed if self._times(only).next(occurrence - 1) != occurrence)
        return sum(1 << number for number in idle) & ~self.first

    def not_before(self, number: int, occurrence: int, suffix: str) -> int | None:
        """Return the earliest start of a step in the run of this occurrence (UTC seconds)."""
        expression = self.steps[number].not_before
        if expression is None or self.first >> number & 1 or not self.is_timed(suffix):
            return None
        return self._times(expression).next(occurrence - 1)

    @cached_property
    def has_times(self) -> bool:
        """Whether a step has `not_before` or `only`."""
        return any(step.not_before is not None or step.only is not None for step in self.steps)

    def is_timed(self, suffix: str) -> bool:
        """Return whether `not_before` and `only` apply in a run with this suffix."""
        return not suffix.startswith(".m") if self.timed is None else self.timed

    def _times(self, expression: str) -> Occurrences:
        return occurrences_of("", "", ScheduleSpec(expression, self.timezone))


def numbers_in(steps: int) -> list[int]:
    """Return the numbers in a mask, ascending."""
    found = []
    while steps:
        found.append((steps & -steps).bit_length() - 1)
        steps &= steps - 1
    return found
