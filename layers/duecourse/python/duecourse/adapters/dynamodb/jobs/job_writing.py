"""Transactions on one job: all is written or nothing, and what has no answer is read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.dynamodb.jobs.tenant_limits import JobCount, part_of
from duecourse.adapters.dynamodb.writing import transact
from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.ports import Clock, StoreBusyError


class JobWriting:
    """Writes on one job; `snapshot` reads it by tenant and id."""

    def __init__(self, client: Any, clock: Clock, count: JobCount, snapshot: Callable[[str, str], JobSnapshot]) -> None:
        self._client = client
        self._clock = clock
        self._count = count
        self._snapshot = snapshot

    def written(
        self, job: Job, writes: list[dict[str, Any]], made: Callable[[JobSnapshot], bool], counted: bool = False
    ) -> bool:
        """Whether all was written, else nothing is. `made` knows the job after these writes. `counted`: the last one
        puts a place back, for which room is made.
        """
        try:
            failed = transact(self._client, writes, self._clock)
            if counted and failed == [len(writes) - 1]:
                self._count.emptied(job.tenant, part_of(job))
                failed = transact(self._client, writes, self._clock)
        except StoreBusyError:
            return False
        except (BotoCoreError, ClientError) as error:
            return self.read_back(job, made, error)
        return not failed

    def read_back(self, job: Job, made: Callable[[JobSnapshot], bool], error: Exception) -> bool:
        """True where the job stands as `made` knows it: a write without an answer was made. Raises `error` otherwise:
        nobody knows then.
        """
        try:
            standing = self._snapshot(job.tenant, job.id)
        except (BotoCoreError, ClientError):
            raise error from None
        if not made(standing):
            raise error
        return True
