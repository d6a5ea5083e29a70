"""Cancel the runs of a workflow that was deleted."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.messages import MessageKind, message_about
from duecourse.ports import Clock, Lanes, Outgoing, Randomness, RunStore

LOOKED_AT = 1000
"""The newest runs, of which those are cancelled that have not ended."""


@dataclass(frozen=True, slots=True)
class CancelRuns:
    """Beside the newest runs the holder of the overlap lock is looked at: it may be older than all those that were
    skipped on its account.
    """

    runs: RunStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness

    def __call__(self, tenant: str, workflow_id: str, generation: int) -> int:
        """Cancel the runs of the workflow's definitions up to that generation; how many cancellations their lanes did
        not accept.
        """
        found = {run.name: run for run in self.runs.page(tenant, workflow_id, limit=LOOKED_AT, before=None)}
        lock = self.runs.locked(tenant, workflow_id)
        if lock is not None and (holder := self.runs.get(tenant, workflow_id, lock.holder)) is not None:
            found[holder.name] = holder
        now = self.clock.now()
        orders = [
            message_about(run, MessageKind.CANCEL, now=now, nonce=self.randomness.nonce(), reason="deleted")
            for run in found.values()
            if run.workflow is not None and not run.is_member and run.generation <= generation and not run.state.final
        ]
        return self.lanes.send([Outgoing(order, 0) for order in orders]).count(False)
