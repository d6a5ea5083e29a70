"""Discards dead runs: they need no further attention, and are no longer listed with the other dead runs.

The record is written immediately, because no worker has a part in it. The reconciler then removes the dead letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.runs.states import Dead, Discard, Run
from duecourse.domain.runs.transitions import discarded
from duecourse.limits import LOST_RACES
from duecourse.ports import Clock, Randomness, StoreBusyError

if TYPE_CHECKING:
    from duecourse.stores.runs import RunStore


@dataclass(frozen=True, slots=True)
class Discards:
    """Writes the discards."""

    runs: RunStore
    clock: Clock
    randomness: Randomness

    def of(self, run: Run | None, by: str | None, note: str | None) -> Dead | None:
        """Discard a run as it was read, and return it as it is stored; None if it is not dead, or has died again. An
        earlier discard remains. Raises StoreBusyError if other writers keep changing the record.
        """
        died_at = run.finished_at if isinstance(run, Dead) else None
        for _ in range(LOST_RACES):
            if not isinstance(run, Dead) or run.finished_at != died_at:
                return None
            if run.discard is not None:
                return run
            discard = Discard(self.clock.now(), by, note)
            after = discarded(run, discard, f"discard/{self.randomness.nonce()}")
            conflict = self.runs.write(after, run)
            if conflict is None:
                return after
            run = conflict.found
        raise StoreBusyError("the record of the run")
