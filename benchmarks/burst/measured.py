"""The CPU time of a firing, and the CPU time and the requests of a run, as measured by other benchmarks."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.burst.settings import Assumptions
from benchmarks.cost.counts import MEASURED, Counts
from benchmarks.found import result_of


def measured() -> Assumptions:
    """Return the assumptions with the values from results/dispatch.json and results/execute.json, if they exist."""
    return with_counts(Counts.from_results(result_of("dispatch"), result_of("execute")))


def with_counts(counts: Counts) -> Assumptions:
    """Return the assumptions with the measured CPU times (seconds of a whole core) and requests. Other values keep
    their assumption.
    """
    given = Assumptions(run=counts.run, locked_run=counts.locked)
    if counts.sources["dispatch distinct"] == MEASURED:
        given = replace(given, dispatch_cpu=counts.firings["distinct"].cpu_ms_per_firing / 1000)
    if counts.sources["execute http"] == MEASURED:
        given = replace(given, execute_cpu=counts.run.cpu_ms_per_run / 1000)
    return given
