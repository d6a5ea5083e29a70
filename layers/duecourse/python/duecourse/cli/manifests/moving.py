"""Moves a job to another id: creates it under the new id, and deletes the job with the old id.

The API has no such request, so the move takes several. The new job is paused until the old one is deleted. Occurrences
that are due before the old job is paused belong to the old job, and all later ones to the new job. The stored jobs show
how far an interrupted move has come, so that a repetition completes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

from duecourse.cli.manifests.documents import FaultsError, Manifest
from duecourse.client import Client, NotFoundError
from duecourse.client.bodies import JobRequest
from duecourse.client.models import Job

MOVING_TAG = "duecourse-moving"
"""The tag of a new job until its move is complete."""

CONSEQUENCES = (
    "its runs and history stay under {0}; runs that wait, are delayed or would be retried do not start again",
    "overlap with its active runs is not prevented; its API keys end",
)
"""What a plan says about a move."""

DELAY = timedelta(hours=1)
"""The longest delay of an occurrence by spread and jitter."""

_WINDOW = re.compile(r"(?P<begin>[^/]+Z)/(?P<end>[^/]+Z)(?P<catch_up>/catch_up)?")
_MOVES = "duecourse apply moves this job"
_FROM = re.compile(rf"{_MOVES} here from \S+; next occurrence (?P<next>\S+)")

Patient = Callable[[Callable[[], Any]], Any]
"""Sends a request, and repeats it while the tenant's rate limit is reached."""


def faults_of(manifest: Manifest, old: Job) -> list[str]:
    """Return why the old job cannot be moved."""
    place = manifest.place("moved_from")
    if old.target.get("type") == "workflow":
        return [f"{place}: {old.id} is a workflow; put it under its new name, and delete the old one"]
    if old.workflow is not None:
        return [f"{place}: {old.id} is a step of workflow {old.workflow}; remove it from that workflow first"]
    if old.state == "COMPLETED":
        return [f"{place}: {old.id} is COMPLETED, so it has no occurrences to move; remove it, or this document"]
    found = _window(old)
    if found is not None and found["catch_up"] and _at(found["begin"]) <= datetime.now(UTC) < _at(found["end"]):
        return [f"{place}: a planned pause of {old.id} is in progress; move the job after {found['end']}"]
    return []


def is_unfinished(job: Job) -> bool:
    """Return whether the move of this new job is not complete."""
    return MOVING_TAG in job.tags


def kept(manifest: Manifest, stored: Job) -> Manifest:
    """Return the manifest with what the move of its job has set: the rest of `max_runs`, and the `start` of a job with
    jitter. As long as the file names the old id, its `max_runs` counts the occurrences under both ids.
    """
    body, found = dict(manifest.body), stored.document
    if not manifest.moved_from or body.get("schedule") is None:
        return manifest
    if isinstance(most := body.get("max_runs"), int) and stored.max_runs is not None:
        body["max_runs"] = min(most, stored.max_runs)
    if stored.start is not None and body.get("start") is None:
        body["start"] = found["start"]
        if body.get("anchor") is None:
            body["anchor"] = found["anchor"]
    return replace(manifest, body=body)


def move(client: Client, manifest: Manifest, old_id: str, etag: str | None, ask: Patient) -> None:
    """Move the job `old_id`, which has this ETag, to the id of the manifest, or continue its move. Raises ApiError, and
    FaultsError if an occurrence of the old job comes due at this moment.
    """
    new, old = (_standing(client, job_id, ask) for job_id in (manifest.id, old_id))
    if new is None and old is None:
        ask(partial(client.get_job, old_id))  # raises NotFoundError
    if old is not None and (new is None or (is_unfinished(new) and (new.state == "PAUSED" or new.schedule is None))):
        new = _replaced(client, manifest, new, old, etag, ask)
    if new is not None:
        _finish(client, manifest, new, ask)


def _replaced(client: Client, manifest: Manifest, new: Job | None, old: Job, etag: str | None, ask: Patient) -> Job:
    """Return the new job, paused in place of the old one, which is deleted."""
    to = f"{_MOVES} to {manifest.id}"
    if new is None or old.paused_because != to:
        if old.paused_because == to:  # another caller has deleted the new job
            old = ask(partial(client.resume_job, old.id, catch_up=True))
            etag = old.etag
        if new is not None:  # the rest of an interrupted move; it has never run
            ask(partial(client.delete_job, new.id, if_match=new.etag))
        new = _prepared(client, manifest, old, ask)
        if old.state == "ACTIVE" and old.next_occurrence is not None:
            old = ask(partial(client.pause_job, old.id, if_match=etag, note=to))
    if old.paused_because == to:
        found = _FROM.fullmatch(new.paused_because or "")
        if found is None or _at(found["next"]) <= old.updated_at:
            ask(partial(client.resume_job, old.id, catch_up=True))
            raise FaultsError(
                [f"an occurrence of {old.id} came due during the move; run the command again in a minute"]
            )
        etag = old.etag
    ask(partial(client.delete_job, old.id, if_match=etag))
    return new


def _prepared(client: Client, manifest: Manifest, old: Job, ask: Patient) -> Job:
    """Create the new job, and return it. It is PAUSED like the old one or, for an ACTIVE one, with a note that contains
    the instant at which its next occurrence is due. The first request creates it without a schedule, because no request
    creates a paused job.
    """
    tags = [*(manifest.body.get("tags") or ()), MOVING_TAG]
    own = {name: manifest.body[name] for name in ("target", "task") if name in manifest.body}
    bare = cast("JobRequest", {"schedule": None, "tags": tags, **own})
    made: Job = ask(partial(client.put_job, manifest.id, bare, if_none_match="*"))
    as_before = cast("JobRequest", {**manifest.body, "id": old.id})
    after: Job = ask(partial(client.put_job, old.id, as_before, dry_run=True))
    latest: Job = ask(partial(client.get_job, old.id))
    note = latest.paused_because
    if latest.state == "ACTIVE":
        due = min(_pending(client, latest, after, made.updated_at, ask), default=latest.next_occurrence)
        note = f"{_MOVES} here from {old.id}; next occurrence {'none' if due is None else _text(due)}"
    paused: Job = ask(partial(client.pause_job, manifest.id, note=note, until=latest.paused_until))
    body = cast(
        "JobRequest", {**manifest.body, "tags": tags, **_carried_over(manifest, latest, after, made.updated_at)}
    )
    return cast("Job", ask(partial(client.put_job, manifest.id, body, if_match=paused.etag)))


def _pending(client: Client, old: Job, after: Job, now: datetime, ask: Patient) -> list[datetime]:
    """Return when occurrences of the old job are due that its spread or jitter has delayed beyond `now`. Raises
    FaultsError if they may be due at another time under the new id.
    """
    if old.spread is None and not old.jitter_seconds:
        return []
    page = ask(partial(client.list_runs, old.id, state="QUEUED", from_=now - DELAY, to=old.next_occurrence))
    pending = [run for run in page if run.due > now]
    if pending and _delays_differ(old, after):
        found = f"an occurrence of {old.id} is delayed until {_text(pending[0].due)}"
        raise FaultsError([f"{found}; run the command again after that"])
    return [run.due for run in pending]


def _delays_differ(old: Job, after: Job) -> bool:
    """Return whether an occurrence may be due at different times under the two ids."""
    return bool(old.jitter_seconds or after.jitter_seconds) or old.document["spread"] != after.document["spread"]


def _carried_over(manifest: Manifest, old: Job, after: Job, now: datetime) -> dict[str, Any]:
    """Return the fields with which the new job continues the schedule of the old one."""
    found = after.document
    if found["schedule"] is None:
        return {}
    more = {name: found[name] for name in ("anchor", "spread") if found[name] is not None}
    if after.max_runs is not None and old.max_runs is not None and old.runs_left is not None:
        more["max_runs"] = after.max_runs - (old.max_runs - old.runs_left)
    following = old.next_occurrence
    if following is not None and _delays_differ(old, after) and (after.start is None or after.start < following):
        more |= {"start": _text(following), "anchor": found["anchor"] or found["start"]}
    if (window := _window(old)) is not None and _at(window["begin"]) > now:
        more["exclude"] = [*(manifest.body.get("exclude") or ()), window[0]]
    return more


def _finish(client: Client, manifest: Manifest, new: Job, ask: Patient) -> None:
    """Restore the state and the planned pause of the old job, and write the document as it is in the file."""
    planned = [each for each in new.exclude if each not in (manifest.body.get("exclude") or ())]
    if new.state == "PAUSED" and _FROM.fullmatch(new.paused_because or ""):
        new = ask(partial(client.resume_job, new.id, catch_up=True))
    for window in filter(None, map(_WINDOW.fullmatch, planned)):
        begin, end, catch_up = window["begin"], window["end"], bool(window["catch_up"])
        new = ask(partial(client.pause_job, new.id, from_=begin, until=end, catch_up=catch_up))
    body = cast("JobRequest", kept(manifest, new).body)
    ask(partial(client.put_job, manifest.id, body, if_match=new.etag))


def _standing(client: Client, job_id: str, ask: Patient) -> Job | None:
    try:
        return cast("Job", ask(partial(client.get_job, job_id)))
    except NotFoundError:
        return None


def _window(job: Job) -> re.Match[str] | None:
    return None if job.planned_pause is None else _WINDOW.fullmatch(job.planned_pause)


def _at(text: str) -> datetime:
    return datetime.max.replace(tzinfo=UTC) if text == "none" else datetime.fromisoformat(text)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
