"""The effects of the steps' ends on the other steps and on the run of their workflow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from duecourse.domain.runs.decision import Readiness, WorkflowOutcome
from duecourse.domain.workflows.graph import Graph, Rule, StepOutcome, StepOutcomes, end_by, numbers_in


@dataclass(frozen=True)
class WorkflowState:
    """The state of a workflow's run according to the `known` ends of its steps. A step without an end has not ended.

    `occurrence` (UTC seconds) and `suffix` are parts of the run's name. The state depends on the ends, not on their
    order.

    After an end was withdrawn in the run, because its step runs again, the ends of the downstream steps only count when
    their upstream steps have ended again. Then the ends of all upstream steps of a step must be known.
    """

    graph: Graph
    occurrence: int
    suffix: str
    known: StepOutcomes

    @cached_property
    def ends(self) -> StepOutcomes:
        """The ends that count: the known ends (without those that were withdrawn or must be decided again), and the
        ends that were carried over to a rerun.
        """
        if not self.known.again or self.graph.items is not None:
            return self.known.joined(self.graph.carried_over)
        ends = self.graph.carried_over
        for number in self.graph.order:
            end = self.known.of(number)
            if end is not None and self._counts(end, self._readiness(number, ends)):
                ends = ends.having(number, end)
        return ends

    def _counts(self, end: StepOutcome, readiness: Readiness) -> bool:
        """Return whether the end of a step agrees with its readiness: it has run, or it was skipped for an equivalent
        reason.
        """
        if end in (StepOutcome.SUCCEEDED, StepOutcome.FAILED):
            return not self.known.again or self.graph.items is not None or readiness is not Readiness.WAITS
        return readiness.skips and end is end_by(readiness)

    @cached_property
    def _not_its_time(self) -> int:
        return self.graph.not_its_time(self.occurrence, self.suffix)

    def readiness(self, number: int) -> Readiness:
        """Return whether a step may start, waits, or will not run in this run of its workflow."""
        return self._readiness(number, self.ends)

    def _readiness(self, number: int, ends: StepOutcomes) -> Readiness:
        if self.graph.items is not None:
            return _once(self.graph.opens(number, self.known), Readiness.READY)
        if self._not_its_time >> number & 1:
            return Readiness.NOT_ITS_TIME
        if self.graph.first >> number & 1:
            return Readiness.READY
        upstream = self.graph.upstream[number]
        ok, failed = upstream & ends.succeeded, upstream & (ends.failed | ends.aborted)
        ended = not upstream & ~ends.any
        match self.graph.steps[number].when:
            case Rule.ALL_SUCCESS:
                if failed:
                    return Readiness.UPSTREAM_FAILED
                return _once(ended, Readiness.READY if ok == upstream else Readiness.UPSTREAM_SKIPPED)
            case Rule.ALL_DONE:
                return _once(ended, Readiness.READY)
            case Rule.ANY_SUCCESS:
                if ok:
                    return Readiness.READY
                return _once(ended, Readiness.UPSTREAM_FAILED if failed else Readiness.UPSTREAM_SKIPPED)
            case Rule.ANY_FAILURE:
                return Readiness.READY if failed else _once(ended, Readiness.NOT_NEEDED)
            case Rule.NONE_FAILED:
                if failed:
                    return Readiness.UPSTREAM_FAILED
                return _once(ended, Readiness.READY if ok or not upstream else Readiness.UPSTREAM_SKIPPED)

    def settled(self, number: int) -> bool:
        """Return whether nothing is left to do for a step. A skipped step is not settled if the redrive of an upstream
        step allows it to start, or changes the reason for the skip.
        """
        end = self.ends.of(number)
        return end is not None and bool(
            self.graph.carried_over.any >> number & 1 or self._counts(end, self.readiness(number))
        )

    def to_start(self, numbers: list[int] | None = None) -> list[int]:
        """Return the steps (among `numbers`, or all) that need a start message. Either they may run, or their record
        must contain the reason why they will not.
        """
        wanted = range(len(self.graph.steps)) if numbers is None else numbers
        return [
            number for number in wanted if not self.settled(number) and self.readiness(number) is not Readiness.WAITS
        ]

    def to_cancel(self) -> list[int]:
        """Return the steps to cancel when their workflow's run ends.

        These are the steps that may run. They also include the steps that run again, and their downstream steps, unless
        they have ended: ends from before the redrive may have started them.
        """
        again = sum(1 << number for number, _ in self.known.rounds)
        ended = self.known.succeeded | self.known.failed | self.graph.carried_over.any | self._not_its_time
        begun = (again | self.graph.after(again)) & ~ended
        ready = (number for number in self.to_start() if self.readiness(number) is Readiness.READY)
        return sorted({*ready, *numbers_in(begun)})

    @cached_property
    def outcome(self) -> WorkflowOutcome:
        """The outcome of the run: OPEN until all steps are settled, then FAILED if a step without `may_fail` failed, or
        more items than `max_failed`, else DONE.
        """
        if not all(map(self.settled, range(len(self.graph.steps)))):
            return WorkflowOutcome.OPEN
        most = 0 if self.graph.items is None else self.graph.items.max_failed
        return WorkflowOutcome.FAILED if len(self.failed) > most else WorkflowOutcome.DONE

    @property
    def failed(self) -> list[int]:
        """The steps that failed, except those with `may_fail`."""
        return numbers_in(self.ends.failed & ~self.graph.may_fail)

    def parts_wanted(self, number: int) -> set[int]:
        """Return the parts that must be read to derive the effects of the end of a step. Its own part is `known`.

        Each end is written before the others are read. So, among the ends that decide a rule, the last one is written
        by a process that reads all others. Nothing is read for a step that waits for steps of the same part.
        """
        own = self.graph.part_of(number)
        if self.known.again:
            return set(self.graph.parts) - {own}
        mask, wanted = self.graph.part(own), set[int]()
        for following in self.graph.downstream[number]:
            upstream = self.graph.upstream[following]
            if self.readiness(following) is not Readiness.WAITS:
                wanted |= self.graph.parts_of(1 << following)  # its start may have been sent already
            elif not upstream & mask & ~self.ends.any:
                wanted |= self.graph.parts_of(upstream | 1 << following)
        if not mask & ~self.ends.any:
            wanted |= set(self.graph.parts)
        return wanted - {own}


def _once(ended: bool, then: Readiness) -> Readiness:
    return then if ended else Readiness.WAITS
