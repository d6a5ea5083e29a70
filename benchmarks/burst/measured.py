"""The CPU of a firing and of a run, as the other benchmarks have measured it."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.burst.settings import Assumptions
from benchmarks.cost.counts import MEASURED, Counts
from benchmarks.found import result_of


def measured() -> Assumptions:
    """The assumptions with what results/dispatch.json and execute.json say, where they are there."""
    return with_counts(Counts.from_results(result_of("dispatch"), result_of("execute")))


def with_counts(counts: Counts) -> Assumptions:
    """Seconds on a whole core; what was not measured stays as it is assumed."""
    given = Assumptions()
    if counts.sources["dispatch distinct"] == MEASURED:
        given = replace(given, dispatch_cpu=counts.firings["distinct"].cpu_ms_per_firing / 1000)
    if counts.sources["execute http"] == MEASURED:
        given = replace(given, execute_cpu=counts.run.cpu_ms_per_run / 1000)
    return given
