"""The jobs of a burst: who they are, when they are due, and which shard each is in."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from duecourse.domain.jobs.cursor import Cursor, shard_of
from duecourse.domain.schedules import ScheduleSpec

TENANT = "acme"
BURST = 1_795_305_600
"""2026-11-22T00:00:00Z, when everybody's daily job is due."""
DAY_SECONDS = 86_400


def job_id(number: int) -> str:
    """As a client might name it."""
    return f"burst-{number:08d}"


@dataclass(frozen=True, slots=True)
class Placement:
    """Which jobs are in which of `shards` shards, as the real placement has them. `finest` is it for a multiple of that
    count: a hash modulo 1,024 says all about the same hash modulo 16.
    """

    shards: int
    finest: Sequence[array[int]]

    @classmethod
    def of(cls, jobs: int, shards: int) -> Placement:
        """Ask the real code for every job."""
        finest = [array("I") for _ in range(shards)]
        for number in range(jobs):
            finest[shard_of(TENANT, job_id(number), shards)].append(number)
        return cls(shards, finest)

    def coarser(self, shards: int) -> Placement:
        """The same jobs in fewer shards. Raises ValueError where this count is no multiple."""
        if len(self.finest) % shards:
            raise ValueError(f"{len(self.finest)} is no multiple of {shards}")
        return Placement(shards, self.finest)

    def count(self, shard: int) -> int:
        """How many jobs a shard has."""
        return sum(map(len, self.finest[shard :: self.shards]))

    def numbers(self, shard: int) -> array[int]:
        """The jobs of a shard."""
        numbers = array("I")
        for part in self.finest[shard :: self.shards]:
            numbers += part
        return numbers

    def sample(self, count: int) -> list[int]:
        """The fullest shard and `count - 1` others."""
        fullest = max(range(self.shards), key=self.count)
        return [fullest, *(shard for shard in range(self.shards) if shard != fullest)][:count]


@lru_cache(maxsize=256)
def _daily(second: int) -> ScheduleSpec:
    return ScheduleSpec(f"{second % 60} {second // 60 % 60} {second // 3600} * * *")


class ShardJobs:
    """The jobs of a shard as the due index has them, oldest first."""

    def __init__(self, numbers: Sequence[int], seconds: int) -> None:
        self._seconds = seconds
        self._numbers = array("I", sorted(numbers, key=lambda number: number % seconds))
        self._claimed = bytearray(len(numbers))
        self._sent = bytearray(len(numbers))
        self._first = 0
        self._at: dict[str, int] = {}
        self.left = len(numbers)
        self.sent = 0
        """Jobs that were sent at least once."""

    def __len__(self) -> int:
        return len(self._numbers)

    def pages(self, until: float, size: int) -> Iterator[list[Cursor]]:
        """What stands in the index and is due by `until`."""
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
        """Note that a job's message was accepted; False for a repeat."""
        at = self._at[name]
        first = not self._sent[at]
        self._sent[at] = 1
        self.sent += first
        return first

    def claim(self, name: str) -> bool:
        """Take a job out of today's slot; False when it is gone."""
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
