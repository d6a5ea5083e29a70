"""A job of its item, and of its payload's where that has one of its own."""

from __future__ import annotations

from collections.abc import Callable

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.jobs import job_item
from duecourse.adapters.dynamodb.keys import JOB, PAYLOAD, Item, job_key
from duecourse.domain.jobs.job import Job

PAYLOAD_READS = 3
"""How often a job is read anew whose payload was written anew in between."""


class JobMissingError(ValueError):
    """The job of an item was deleted before its payload was read."""


def read_job(item: Item, get: Callable[[Item], Item | None]) -> Job:
    """The job; `get` reads an item by its key. Raises JobGoneError, KeyError or ValueError for what cannot be read."""
    for _ in range(PAYLOAD_READS):
        if not job_item.has_own_payload(item):
            return job_item.from_item(item)
        where = item["tenant"]["S"], item["job_id"]["S"]
        own = get(job_key(*where, PAYLOAD))
        if job_item.belongs(own, item):
            return job_item.from_item(item, None if own is None else values.text(own, "payload"))
        anew = get(job_key(*where, JOB))
        if anew is None:
            raise JobMissingError(f"{where[1]} was deleted while it was read")
        item = anew
    raise ValueError("its payload is another one's")
