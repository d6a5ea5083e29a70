"""The jobs of a burst: their ids, due times and shards."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from duecourse.domain.jobs.cursor import Cursor, shard_of
from duecourse_schedules import ScheduleSpec

TENANT = "acme"
BURST = 1_795_305_600
"""2026-11-22T00:00:00Z, when all daily jobs are due."""
DAY_SECONDS = 86_400


def job_id(number: int) -> str:
    """Return an id as a client might choose it."""
    return f"burst-{number:08d}"


@dataclass(frozen=True, slots=True)
class Placement:
    """The jobs in each of `shards` shards, as the real hash assigns them. `finest` is the assignment for a multiple of
    that count: a hash modulo 1,024 determines the hash modulo 16.
    """

    shards: int
    finest: Sequence[array[int]]

    @classmethod
    def of(cls, jobs: int, shards: int) -> Placement:
        """Compute the shard of each job with the real code."""
        finest = [array("I") for _ in range(shards)]
        for number in range(jobs):
            finest[shard_of(TENANT, job_id(number), shards)].append(number)
        return cls(shards, finest)

    def coarser(self, shards: int) -> Placement:
        """Return the placement of the same jobs in fewer shards. Raises ValueError if `shards` does not divide this
        count.
        """
        if len(self.finest) % shards:
            raise ValueError(f"{len(self.finest)} is no multiple of {shards}")
        return Placement(shards, self.finest)

    def count(self, shard: int) -> int:
        """Return the number of jobs of a shard."""
        return sum(map(len, self.finest[shard :: self.shards]))

    def numbers(self, shard: int) -> array[int]:
        """Return the jobs of a shard."""
        numbers = array("I")
        for part in self.finest[shard :: self.shards]:
            numbers += part
        return numbers

    def sample(self, count: int) -> list[int]:
        """Return the fullest shard and `count - 1` others."""
        fullest = max(range(self.shards), key=self.count)
        return [fullest, *(shard for shard in range(self.shards) if shard != fullest)][:count]


@lru_cache(maxsize=256)
def _daily(second: int) -> ScheduleSpec:
    return ScheduleSpec(f"{second % 60} {second // 60 % 60} {second // 3600} * * *")


class ShardJobs:
    """The jobs of a shard as in the due index, oldest first."""

    def __init__(self, numbers: Sequence[int], seconds: int) -> None:
        self._seconds = seconds
        self._numbers = array("I", sorted(numbers, key=lambda number: number % seconds))
        self._claimed = bytearray(len(numbers))
        self._sent = bytearray(len(numbers))
        self._first = 0
        self._at: dict[str, int] = {}
        self.left = len(numbers)
        self.sent = 0
        """The number of jobs that were sent at least once."""

    def __len__(self) -> int:
        return len(self._numbers)

    def pages(self, until: float, size: int) -> Iterator[list[Cursor]]:
        """Yield pages of the jobs in the index that are due by `until`."""
        claimed, numbers = self._claimed, self._numbers
        while self._first < len(numbers) and claimed[self._first]:
            self._first += 1
        page: list[Cursor] = []
        for at in range(self._first, len(numbers)):
            if BURST + numbers[at] % self._seconds > until:
                break
            if not claimed[at]:
                page.append(self._cursor(at))
                if len(page) == size:
                    yield page
                    page = []
        if page:
            yield page

    def send(self, name: str) -> bool:
        """Record that a job's message was accepted. Return False for a repeated message."""
        at = self._at[name]
        first = not self._sent[at]
        self._sent[at] = 1
        self.sent += first
        return first

    def claim(self, name: str) -> bool:
        """Remove a job from the slot of the day. Return False if it is no longer there."""
        at = self._at.pop(name, None)
        if at is None or self._claimed[at]:
            return False
        self._claimed[at] = 1
        self.left -= 1
        return True

    def _cursor(self, at: int) -> Cursor:
        number = self._numbers[at]
        name = job_id(number)
        self._at[name] = at
        due = BURST + number % self._seconds
        return Cursor(TENANT, name, 1, _daily(due % DAY_SECONDS), due, due, due - DAY_SECONDS)
