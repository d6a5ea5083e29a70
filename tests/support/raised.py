"""A world whose shard count is raised while it works: its functions are updated one after the other, in any order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from duecourse.domain.jobs.job import Job
from duecourse.ports import InlineExecutor
from duecourse.stores.jobs import JobStore
from duecourse.usecases.dispatch.round import DispatchRules
from duecourse.usecases.dispatch.tick import Tick
from tests.support.limits import MemoryMark
from tests.support.tables import Tables
from tests.support.world import World

FUNCTIONS = ("tick", "api", "dispatch", "execute")
LOOKAHEAD_SECONDS = 300


@dataclass
class AskedShards:
    """ports.ShardQueue: keeps which shards were ticked."""

    shards: list[int] = field(default_factory=list)

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        self.shards = list(shards)
        return []


class RaisedWorld(World):
    """`running` says by which counts each function answers: one, or during its update the old or the new, by chance.

    Cursors are claimed every minute, since nothing is enqueued further ahead than the lookahead.
    """

    def __init__(self, tables: Tables, *, shards: int, chance: Random) -> None:
        super().__init__(
            tables, rules=DispatchRules(shards=shards, lookahead=LOOKAHEAD_SECONDS, horizon=LOOKAHEAD_SECONDS)
        )
        self.chance = chance
        self.running: dict[str, tuple[int, ...]] = dict.fromkeys(FUNCTIONS, (shards,))
        self.ticked: list[list[int]] = []
        self._stores: dict[tuple[str, int], JobStore] = {}

    def updates(self, shards: int, order: Sequence[str], *, minutes: int) -> Iterator[None]:
        """One step a minute: each function takes so many for its update, and the next one follows."""
        for name in order:
            self.running[name] = (*self.running[name], shards)
            yield from [None] * minutes
            self.running[name] = (shards,)

    def create(self, job: Job) -> Job:
        """Write a job and send its first two minutes, by an API of either count."""
        self.jobs = self._store("api")
        return self.add(job)

    def rename(self, job_id: str, name: str) -> None:
        """An edit that writes the cursor and leaves the schedule as it is."""
        self.jobs = self._store("api")
        self.office.edit(job_id, name=name)

    def tick(self, minute: int) -> None:
        """A minute's tick by a function of either count, then every shard's round, in any order, by either."""
        queue = AskedShards()
        Tick(self.cursors, queue, MemoryMark(), self.clock, InlineExecutor(), self._count("tick"), 300)()
        self.ticked.append(queue.shards)
        for shard in self.chance.sample(queue.shards, len(queue.shards)):
            count = self._count("dispatch")
            self.settings = replace(self.settings, shards=count)
            self.jobs = self._store("dispatch", count)
            self.dispatch(shard=shard)

    def work(self) -> None:
        """Hand every visible message to workers of one count."""
        count = self._count("execute")
        self.jobs, self.timers = self._store("execute", count), self.tables.timers(count)
        super().work()

    def _count(self, function: str) -> int:
        return self.chance.choice(self.running[function])

    def _store(self, function: str, count: int | None = None) -> JobStore:
        """The store of a process of this function: it remembers what it has recorded."""
        count = self._count(function) if count is None else count
        if (function, count) not in self._stores:
            self._stores[function, count] = self.tables.job_store(self.clock, count)
        return self._stores[function, count]
