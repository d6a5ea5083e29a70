"""Which runs a list shows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from duecourse.domain.runs.run import Run, RunState, state_since


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Selects runs by their states (all by default), by when they came into them (`state_since`: from `since` on,
    before `until`, UTC seconds), and by a text that their error contains, whatever its case.
    """

    states: Collection[RunState] = tuple(RunState)
    since: float | None = None
    until: float | None = None
    error: str | None = None

    @property
    def sifts(self) -> bool:
        """Whether it leaves runs out."""
        return self != RunFilter()

    def passes(self, run: Run) -> bool:
        """Whether the run is selected."""
        return (
            run.state in self.states
            and (self.since is None or state_since(run) >= self.since)
            and (self.until is None or state_since(run) < self.until)
            and (self.error is None or self.error.casefold() in (run.error or "").casefold())
        )
