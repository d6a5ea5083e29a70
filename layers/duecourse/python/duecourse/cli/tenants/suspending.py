"""Suspends and resumes a tenant. Both can be repeated: after an interruption they continue."""

from __future__ import annotations

from duecourse.checks.tenants import ADMITTED_SECONDS, QUIET_SECONDS, SUSPENDED, Closed, slot_again
from duecourse.cli.output.documents import ResumedTenant, SuspendedTenant, utc
from duecourse.cli.tenants.place import Item, Place
from duecourse.cli.terminal import CliError

PASSES = 5
"""The maximum number of passes over the jobs. After them, a suspension fails. The first pass finds all jobs except
those that requests in progress write in the meantime. The second pass finds these jobs.
"""


def suspend(place: Place, *, by: str, note: str | None) -> SuspendedTenant:
    """Suspend the tenant and return the report. Raises CliError for an erased tenant.

    First the API rejects the tenant's requests. Then each job is marked, and its cursor leaves the due index. When no
    request can be in progress any longer, another pass finds the jobs that such requests have written.
    """
    closed = close(place, "suspended", by=by, note=note)
    if closed.state != "suspended":
        raise CliError(f"the tenant {place.tenant} was erased, so it cannot be suspended")
    changed = _pass(place)
    for _ in range(PASSES):
        place.wait_until(closed.since + ADMITTED_SECONDS, "requests in progress")
        found = _pass(place)
        changed += found
        if not found:
            break
    else:
        raise CliError(f"jobs of {place.tenant} were written during the suspension; repeat the command")
    place.write(
        place.jobs,
        place.rate_key,
        "SET quiet_at = if_not_exists(quiet_at, :quiet)",
        "closed = :suspended",
        {"quiet": place.now() + QUIET_SECONDS, "suspended": "suspended"},
    )
    return {"tenant": place.tenant, "state": "suspended", "since": utc(closed.since), "changed": changed}


def close(place: Place, state: str, *, by: str, note: str | None = None) -> Closed:
    """Close the tenant for requests, and return how it is closed now. A suspended tenant may be erased."""
    place.write(
        place.jobs,
        place.rate_key,
        "SET closed = :state, closed_at = :now, closed_by = :by, full_at = if_not_exists(full_at, :zero), "
        "#at = if_not_exists(#at, :zero)" + ("" if note is None else ", closed_note = :note") + " REMOVE expires_at",
        "attribute_not_exists(closed)" if state == "suspended" else "attribute_not_exists(closed) OR closed = :before",
        {"state": state, "now": place.now(), "by": by, "zero": 0, "note": note, "before": "suspended"},
    )
    closed = place.closed()
    if closed is None:
        raise CliError(f"the tenant {place.tenant} was resumed in the meantime; repeat the command")
    return closed


def _pass(place: Place) -> int:
    """Mark all jobs and take their cursors out of the index. Return how many items were changed."""
    changed = looked_at = 0
    for ids in place.job_ids():
        for item in sorted(place.read(ids, ("JOB", "CURSOR")), key=lambda item: item["SK"]["S"] == "CURSOR"):
            changed += _mark(place, item)
        looked_at += len(ids)
        place.progress("jobs", looked_at, None)
    return changed


def _mark(place: Place, item: Item) -> bool:
    """Mark one item. A job is marked before its cursor leaves the index, so that a message that dispatch sends in the
    meantime waits at the worker. Because of the new revision, an edit fails if it read the job earlier.
    """
    key = {name: item[name] for name in ("PK", "SK")}
    if item["SK"]["S"] == "JOB":
        if "job_id" not in item or "suspended_at" in item:
            return False  # the item only reserves an id, or is marked already
        change = "SET suspended_at = :now, revision = revision + :one"
        condition = "attribute_exists(job_id) AND attribute_not_exists(suspended_at)"
        return place.write(place.jobs, key, change, condition, {"now": place.now(), "one": 1})
    if "slot" not in item:
        return False
    change, slot = "SET #error = :error, slot_was = :slot REMOVE slot", item["slot"]["S"]
    return place.write(place.jobs, key, change, "slot = :slot", {"error": SUSPENDED, "slot": slot})


def resume(place: Place) -> ResumedTenant:
    """Resume the tenant and return the report. Raises CliError for a tenant that is not suspended.

    The jobs are resumed before their cursors return to the index, so that no run that dispatch starts waits at the
    worker. Occurrences that came due in the meantime count as missed, as after an outage. Finally, the API accepts
    requests.
    """
    closed = place.closed()
    if closed is None:
        raise CliError(f"the tenant {place.tenant} is not suspended")
    if closed.state != "suspended":
        raise CliError(f"the tenant {place.tenant} was erased, so it cannot be resumed")
    changed = 0
    for sort in ("JOB", "CURSOR"):
        looked_at = 0
        for ids in place.job_ids():
            for item in place.read(ids, (sort,)):
                changed += _unmark(place, item)
            looked_at += len(ids)
            place.progress("jobs" if sort == "JOB" else "cursors", looked_at, None)
    place.write(
        place.jobs,
        place.rate_key,
        "SET expires_at = :now REMOVE closed, closed_at, closed_by, closed_note, quiet_at",
        "closed = :suspended",
        {"now": int(place.now()) + 86_400, "suspended": "suspended"},
    )
    return {"tenant": place.tenant, "state": "active", "suspended_since": utc(closed.since), "changed": changed}


def _unmark(place: Place, item: Item) -> bool:
    key = {name: item[name] for name in ("PK", "SK")}
    if item["SK"]["S"] == "JOB":
        if "suspended_at" not in item:
            return False
        change = "SET revision = revision + :one REMOVE suspended_at"
        return place.write(place.jobs, key, change, "attribute_exists(suspended_at)", {"one": 1})
    if item.get("error", {}).get("S") != SUSPENDED:
        return False
    due = int(item["due"]["N"])
    return place.write(
        place.jobs,
        key,
        "SET slot = :slot REMOVE #error, slot_was",
        "#error = :error AND due = :due",
        {"slot": slot_again(item["slot_was"]["S"], due, place.now()), "error": SUSPENDED, "due": due},
    )
