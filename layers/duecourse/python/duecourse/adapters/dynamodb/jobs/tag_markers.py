"""Markers: one small item a job and tag, so that the jobs of a tag are found without reading the others."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb.keys import MARKER_PREFIX, Item, marker_key
from duecourse.domain.jobs.job import Job


def added(job: Job, tags: tuple[str, ...], table: str) -> list[dict[str, Any]]:
    """The writes that mark a job with the tags."""
    return [{"Put": {"TableName": table, "Item": marker_key(job.tenant, tag, job.id)}} for tag in sorted(set(tags))]


def removed(job: Job, tags: tuple[str, ...], table: str) -> list[dict[str, Any]]:
    """The writes that unmark it."""
    return [{"Delete": {"TableName": table, "Key": marker_key(job.tenant, tag, job.id)}} for tag in sorted(set(tags))]


def changed(job: Job, now: Job, table: str) -> list[dict[str, Any]]:
    """The writes that turn the markers of `job` into those of `now`. A job of before there were markers has none."""
    had = () if job.revision == 0 else job.tags
    gone = tuple(tag for tag in job.tags if tag not in now.tags)
    fresh = tuple(tag for tag in now.tags if tag not in had)
    return [*removed(job, gone, table), *added(now, fresh, table)]


def job_of(item: Item) -> str:
    """The id of the job that a marker stands for."""
    sort: str = item["SK"]["S"]
    return sort.removeprefix(MARKER_PREFIX)
