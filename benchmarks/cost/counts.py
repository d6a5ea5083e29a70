"""The AWS resources that a firing and a run use, as measured by `benchmarks.dispatch` and `benchmarks.execute`, or else
as documented. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

CASES = ("distinct", "minutely", "ten_seconds")
DOCUMENTED = "documented"
MEASURED = "measured"

JOB_KILOBYTES = 2.5
"""The size of a job with all its items, as assumed in docs/completeness.md."""

MEASURED_BATCH = 10
POLLER_REQUESTS = 2

_Kind = TypeVar("_Kind", "Firing", "Run")


@dataclass(frozen=True, slots=True)
class Firing:
    """One firing with its dispatch, without the start and end of its run. The requests are those of a dispatcher with a
    thousand firings.
    """

    cpu_ms_per_firing: float
    requests_per_1000: float
    claim_wru_per_firing: float
    rru_per_firing: float
    sqs_requests_per_1000: float


@dataclass(frozen=True, slots=True)
class Run:
    """One run with an HTTP target: start, call and end. `list_wru_per_run` is the cost of its entry in the lists.
    `sqs_requests_per_run` contains the requests of the lane's pollers: one receive and one deletion for a batch of
    MEASURED_BATCH.
    """

    cpu_ms_per_run: float
    wru_per_run: float
    list_wru_per_run: float
    rru_per_run: float
    sqs_requests_per_run: float

    def sqs_requests(self, batch: int) -> float:
        """Return the requests with batches of another size."""
        own = max(self.sqs_requests_per_run - POLLER_REQUESTS / MEASURED_BATCH, 0.0)
        return own + POLLER_REQUESTS / batch


#: docs/data.md: a claim takes 3 write units, shared by all firings that it covers; benchmarks/README.md has the
#: budgets.
DOCUMENTED_FIRINGS: Mapping[str, Firing] = {
    "distinct": Firing(0.2, 160, 3.0, 0.1, 100),
    "minutely": Firing(0.05, 115, 3 / 9, 0.01, 100),
    "ten_seconds": Firing(0.05, 103, 3 / 55, 0.002, 100),
}

#: docs/data.md: start 1, finish 1, its entry in the lists 1; the job is read strongly before the start.
DOCUMENTED_RUN = Run(3.0, 2.0, 1.0, 1.0, 0.2)

#: The same, with a write and two reads for the lock. Overlap is forbidden unless a job allows it.
DOCUMENTED_LOCKED_RUN = Run(3.5, 3.0, 1.0, 3.0, 0.2)


#: The write units of a one-off over its whole life, from its request on, as counted by `benchmarks.oneoff`.
ONE_OFF_WRU: Mapping[str, int] = {
    "at_job": 22,
    "delayed_run": 9,
    "delayed_run_overlap_skip": 10,
}


#: docs/completeness.md: an audit four times a day and a pass of index repair read the whole job (2.5 KB), and an audit
#: half a unit for the records of a window.
DOCUMENTED_CARETAKING: Mapping[str, float] = {"distinct": 2.1, "minutely": 0.06, "ten_seconds": 0.06}


@dataclass(frozen=True, slots=True)
class Counts:
    """All counts behind the per-firing costs. `sources` states for each case whether it was measured, `gaps` lists
    figures that a result lacks. `caretaking` has the read units of the audit and of index repair per firing
    (`benchmarks.cost.caretakers`).
    """

    firings: Mapping[str, Firing]
    run: Run
    """A run whose job allows overlap."""
    locked: Run
    """A run whose job forbids overlap, as by default."""
    sources: Mapping[str, str]
    gaps: tuple[str, ...] = field(default=())
    caretaking: Mapping[str, float] = field(default_factory=lambda: DOCUMENTED_CARETAKING)

    @classmethod
    def from_results(cls, dispatch: Mapping[str, Any] | None, execute: Mapping[str, Any] | None) -> Self:
        """Read two results of `--json` (None: there is none). Figures that a result lacks are taken from the
        documentation.
        """
        gaps: list[str] = []
        sources: dict[str, str] = {}
        firings = {
            case: _read(Firing, DOCUMENTED_FIRINGS[case], _case(dispatch, case), f"dispatch {case}", gaps, sources)
            for case in CASES
        }
        run = _read(Run, DOCUMENTED_RUN, _case(execute, "http"), "execute http", gaps, sources)
        skip = _case(execute, "http_overlap_skip")
        locked = _read(Run, DOCUMENTED_LOCKED_RUN, skip, "execute http_overlap_skip", gaps, sources)
        return cls(firings, run, locked, sources, tuple(gaps))


def _case(result: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    found = (result or {}).get("cases", {}).get(name)
    return found if isinstance(found, Mapping) else None


def _read(
    kind: type[_Kind],
    documented: _Kind,
    found: Mapping[str, Any] | None,
    name: str,
    gaps: list[str],
    sources: dict[str, str],
) -> _Kind:
    """Return one case. Figures that it lacks are added to `gaps`."""
    sources[name] = DOCUMENTED if found is None else MEASURED
    values = {}
    for one in fields(kind):
        value = None if found is None else _number(found.get(one.name))
        if found is not None and value is None:
            gaps.append(f"{name}: no {one.name}")
        values[one.name] = getattr(documented, one.name) if value is None else value
    return kind(**values)


def _number(value: object) -> float | None:
    """Return a figure, or the median of a figure that was measured several times."""
    if isinstance(value, Mapping):
        value = value.get("median")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
