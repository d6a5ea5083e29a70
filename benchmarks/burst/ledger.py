"""The waiting times of a shard, by reason."""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest
from operator import itemgetter

TICK = "first tick that finds the burst"
NEXT_TICK = "next tick"
ALIGNMENT = "alignment to the second"
CPU = "dispatcher CPU"
SENDS = "SQS round trips"
TABLE = "DynamoDB round trips"
DISPATCHERS = "dispatch concurrency"
ROUND = "length of a round"
JOBS_WRITES = "write throughput of the jobs table"
DUE_WRITES = "write throughput of the due index"
DUE_READS = "read throughput of the due index"
CALLS = "calls to the shard queue"
STOPPED = "next tick, since a claim failed ("
"""The beginning of a reason; the limit that rejected the claim follows."""
COLD = "cold starts and invocation"


class Ledger:
    """Seconds by reason. `refused_by` is the limit that rejected a claim of the current round, `busy` the limit that
    throttled the last claims.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.refused_by: str | None = None
        self.busy: str | None = None

    def charge(self, name: str, seconds: float) -> None:
        """Add to the waiting time for a reason."""
        if seconds > 0:
            self.seconds[name] += seconds

    def top(self, count: int = 3) -> dict[str, float]:
        """Return the reasons with the longest times."""
        return {name: round(seconds, 1) for name, seconds in nlargest(count, self.seconds.items(), key=itemgetter(1))}
