"""The jobs of each case, as in the due index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice
from zoneinfo import ZoneInfo

from duecourse.domain.jobs.cursor import Cursor, cursor_for, shard_of
from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import HttpTarget
from duecourse.stores import cursor_item
from duecourse.stores.keys import Item
from duecourse_schedules import ScheduleSpec

SHARDS = 16
SHARD = 7
NOW = 1_795_244_400  # 2026-11-21T07:00:00Z, a second's first moment
TENANT = "acme"
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney", "America/Sao_Paulo")

OWN_MINUTES = 31
OWN_IN_AN_HOUR = 60 * OWN_MINUTES
"""The further minutes of expressions, at least a quarter of an hour from the first one, and the expressions with the
same further hour. With 22 further hours there are 40,920 expressions.
"""

PAGE = 1000
"""The entries of a page of the wire: about a third of the megabyte that DynamoDB returns at a time."""


@dataclass(frozen=True, slots=True)
class Case:
    """Jobs of one kind, each next due `ahead` seconds after NOW, and the budget of a firing."""

    name: str
    says: str
    expression: str
    ahead: int
    firings: int
    """The minimum number of occurrences that one claim covers."""
    least_ratio: float
    most_write_units: float
    own: bool = False
    """Whether each job has an expression of its own, which is compiled again in each turn."""

    def cursors(self, wanted: int) -> list[Cursor]:
        """Return cursors of one shard, oldest first, that fire `wanted` times in total (or slightly more often)."""
        made = (cursor_for(job, NOW + self.ahead - 1) for job in islice(self._jobs(), self.jobs_for(wanted)))
        return sorted(made, key=lambda cursor: cursor.due or 0)

    def jobs_for(self, wanted: int) -> int:
        """Return the number of jobs that fire this often, or slightly more often, in one round."""
        return -(-wanted // self.firings)

    def _jobs(self) -> Iterator[Job]:
        ids = (f"{self.name.replace('_', '-')}-report-{number:06d}" for number in count())
        for number, job_id in enumerate(job_id for job_id in ids if shard_of(TENANT, job_id, SHARDS) == SHARD):
            yield Job(
                tenant=TENANT,
                id=job_id,
                schedule=self._schedule(number),
                target=HttpTarget("https://example.com/hook"),
                generation=NOW * 1000 - number,
                created_at=NOW,
                updated_at=NOW,
                changed_at=NOW,
                created_generation=NOW * 1000 - number,
                seated=True,
            )

    def _schedule(self, number: int) -> ScheduleSpec:
        """Return the job's expression on the wall clock of one of the zones. There are at most sixty schedules, which
        the jobs share as real jobs do: none is compiled twice. If each job has its `own`, it has a further minute and a
        further hour, outside the horizon of a round.
        """
        zone = ZONES[number % len(ZONES)]
        at = datetime.fromtimestamp(NOW + self.ahead + number % 60, UTC).astimezone(ZoneInfo(zone))
        minute, hour = (at.minute + 15 + number // 60 % OWN_MINUTES) % 60, (at.hour + 1 + number // OWN_IN_AN_HOUR) % 24
        expression = self.expression.format(
            second=at.second, minute=at.minute, hour=at.hour, further_minute=minute, further_hour=hour
        )
        return ScheduleSpec(expression, zone, anchor=NOW)


CASES = (
    Case(
        "distinct", "daily jobs, all due in one minute, of 60 schedules", "{second} {minute} {hour} * * *", 120, 1, 7, 5
    ),
    Case(
        "own",
        "jobs that fire up to four times a day, all due in one minute, each with an expression of its own that is not "
        "yet compiled",
        "{second} {minute},{further_minute} {hour},{further_hour} * * *",
        120,
        1,
        5,
        5,
        own=True,
    ),
    Case("minutely", "jobs that fire every minute", "{second} * * * * *", 240, 10, 12, 2.4),
    Case("ten_seconds", "jobs that fire every ten seconds", "*/10 * * * * *", 240, 61, 12, 2.4),
)
"""The last two cases are in the state after a claim: due within the lookahead of 300 s, enqueued up to 840 s."""


def named(name: str) -> Case:
    """Return the case with that name. Raises KeyError."""
    return {case.name: case for case in CASES}[name]


def items(cursors: list[Cursor]) -> list[Item]:
    """Return the stored items of the cursors."""
    return [cursor_item.to_item(cursor, SHARDS, now=NOW) for cursor in cursors]
