"""The rules of a job's fields that depend on other fields or on the stage.

A rule returns the problem of a value, or None. `given` has the valid fields of the body before this one; a nested
object has its fields as attributes. Only the API imports this module: the fields of domain.jobs.job refer to it in
annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from duecourse.domain.jobs.job import COMPLETION_SECONDS, Completion, Overlap, ResultLocation
from duecourse.domain.jobs.result_buckets import ResultBuckets, bucket_refusal, prefix_of, prefix_refusal
from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.schedule import MAX_JITTER_SECONDS, joined

Given = Mapping[str, Any]


class Stage(Protocol):
    """The rules of a stage, and the tenant of the request."""

    tenant: str
    result_buckets: ResultBuckets


def is_within(offset: int, given: Given, _stage: Stage) -> str | None:
    """Compare the chosen minute with the range."""
    within = given.get("within_minutes")
    if within is None or offset < within:
        return None
    return f"must be less than within_minutes ({within}); choose a smaller number, or remove this field"


def fits_into_an_hour(spread: Any, given: Given, _stage: Stage) -> str | None:
    """Limit the sum of `spread` and `jitter_seconds`."""
    longest = (MAX_JITTER_SECONDS - given.get("jitter_seconds", 0)) // 60
    if spread.within_minutes <= longest:
        return None
    reason = "because its sum with jitter_seconds must not exceed one hour"
    return f"within_minutes must be at most {longest}, {reason}; reduce within_minutes or jitter_seconds"


def has_deadline(effect: str, given: Given, _stage: Stage) -> str | None:
    """Reject the effect of a deadline on a job without one."""
    if effect == "notify" or given.get("start_within_seconds") or given.get("finish_by"):
        return None
    return "requires a deadline; set start_within_seconds or finish_by, or remove this field"


def silence(every: int) -> str:
    """Return the schedule of a job that expects a ping every `every` seconds."""
    return f"rate({every} seconds)"


def sets_the_schedule(every: int, given: Given, _stage: Stage) -> str | None:
    """Reject an interval of pings if the job has another schedule."""
    if given.get("schedule", silence(every)) == silence(every):
        return None
    return "determines when the job is due; set schedule to null, or remove this field"


def needs_a_wait(_seconds: int, given: Given, _stage: Stage) -> str | None:
    """Reject limits of the wait after the call if a run does not wait."""
    if given.get("completion") != Completion.RESPONSE:
        return None
    return "applies only to jobs that wait after their call; set completion to callback or end, or remove this field"


def above_timeout(longest: int, given: Given, _stage: Stage) -> str | None:
    """Compare the wait for a callback with the time for the call."""
    timeout = given.get("timeout_seconds")
    if timeout is None or longest >= timeout:
        return None
    default = f"the default is {COMPLETION_SECONDS}"
    return f"must not be less than timeout_seconds ({timeout}), which limits only the call; {default}"


def may_wait_for_a_place(_limit: Any, given: Given, _stage: Stage) -> str | None:
    """Reject a concurrency key of jobs whose newest run does not wait for its turn."""
    if given.get("overlap") not in (Overlap.NEWEST, Overlap.REPLACE):
        return None
    return "cannot be used with overlap newest or replace; choose skip, queue or allow"


def may_wait_for_a_call(_limit: Any, given: Given, _stage: Stage) -> str | None:
    """Reject a rate or breaker of jobs whose new run cancels the active one."""
    if given.get("overlap") != Overlap.REPLACE:
        return None
    return "cannot be used with overlap replace; choose newest, skip, queue or allow"


def has_a_key(breaker: Any, given: Given, _stage: Stage) -> str | None:
    """Reject a breaker without a key whose default, the host, does not exist."""
    target = given.get("target")
    if breaker.key is not None or target is None or target.type == "http":
        return None
    return "requires a key, because the target has no host; add key, such as crm-{{payload.region}}"


def bucket_allowed(bucket: str, _given: Given, stage: Stage) -> str | None:
    """Return the reason why the tenant may not use the bucket."""
    return bucket_refusal(stage.tenant, bucket, stage.result_buckets)


def own_prefix(given: Given, stage: Stage) -> str | None:
    """Return the tenant's prefix in the bucket."""
    return prefix_of(stage.tenant, given["bucket"], stage.result_buckets) if "bucket" in given else None


def prefix_allowed(prefix: str, given: Given, stage: Stage) -> str | None:
    """Return the reason why the tenant may not use the prefix."""
    if "bucket" not in given:
        return None
    return prefix_refusal(stage.tenant, ResultLocation(given["bucket"], prefix), stage.result_buckets)


NO_END = 4_102_444_800
"""2100-01-01T00:00:00Z. A schedule with a later occurrence counts as a schedule without an end."""


def ends(removal: Any, given: Given, _stage: Stage) -> str | None:
    """Reject the removal of a job that never ends."""
    if not {"schedule", "timezone", "end", "max_runs"} <= given.keys():
        return None
    if given["schedule"] is None:
        return "requires a schedule that ends; remove this field, or set schedule"
    if removal.delete_after_seconds is not None and given["end"] is None and given["max_runs"] is None:
        with suppress(ScheduleError):
            spec = ScheduleSpec(joined(given["schedule"]), given["timezone"], anchor=0)
            if compile_schedule(spec).next(NO_END) is not None:
                return "applies only to jobs that end; add end or max_runs, or remove this field"
    return None
