"""Pull workers: programs that receive runs from a queue, and report with the token of the run (`callbacks`).

A report can name the worker. The record of the run keeps the name with its next write (`states.Callback`). The list of
a tenant's workers has one note of each worker, which is at most NOTED_SECONDS older than its last report. The notes are
distributed over GROUPS items by the hash of the name, so that their number and size are bounded whatever names arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from zlib import crc32

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.states import Attempt, Run, Running, RunState, Waiting, attempts_of

MAX_WORKER = 100
WORKER_PATTERN = f"[A-Za-z0-9_.:/@=+-]{{1,{MAX_WORKER}}}"
"""The name of a worker: ASCII without spaces, so that its length is its size in bytes."""

NOTED_SECONDS = 600
"""The precision of a note: it is written at most once in this time."""

RUN_SECONDS = 60
"""A process handles at most one note for reports about the same run in this time (seconds). So the holder of a run's
token cannot cause a write with each request.
"""

LISTED_SECONDS = 3600
"""How long a worker is listed after its last report."""

KEPT_SECONDS = DAY_SECONDS
"""How long a note is kept."""

GROUPS, GROUP_SIZE = 64, 16
"""The number of items with the notes of a tenant's workers, and the maximum number of notes of an item. With 300
workers, an item has five notes on average: about half a KB.
"""

OVERDUE_CODES = frozenset({"callback.heartbeat", "callback.timeout"})
"""The codes of attempts that ended because a heartbeat or the completion was overdue (transitions)."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A note of a worker: the attempt of a run for which it reported at `at` (UTC seconds)."""

    name: str
    at: float
    run_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """The notes of one item, newest first. `version` increases with each write. `displaced_at`: the last report (UTC
    seconds) of a worker that was removed although it would be listed, because the item was full.
    """

    sightings: tuple[Sighting, ...] = ()
    version: int = 0
    displaced_at: float | None = None


def group_of(name: str) -> int:
    """Return the number of the item with the note of a worker."""
    return crc32(name.encode()) % GROUPS


def noted(group: WorkerGroup, new: Sighting) -> WorkerGroup | None:
    """Return the group with a new note, or None if it has a recent one of this worker. Old notes are removed, and those
    that exceed GROUP_SIZE.
    """
    if any(each.name == new.name and new.at - each.at < NOTED_SECONDS for each in group.sightings):
        return None
    others = (each for each in group.sightings if each.name != new.name and new.at - each.at < KEPT_SECONDS)
    found = sorted((*others, new), key=lambda each: -each.at)
    displaced = [each.at for each in found[GROUP_SIZE:] if is_listed(each.at, new.at)]
    if group.displaced_at is not None:
        displaced.append(group.displaced_at)
    displaced_at = max(displaced, default=None)
    return replace(group, sightings=tuple(found[:GROUP_SIZE]), version=group.version + 1, displaced_at=displaced_at)


class WorkerStatus(StrEnum):
    """What the noted run shows about a worker. WORKING: the attempt is in progress. SILENT: the attempt ended, or is
    about to end, because the heartbeat or completion did not arrive in time, and the worker was not noted since. SEEN:
    neither.
    """

    WORKING = "working"
    SEEN = "seen"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class ListedWorker:
    """A worker in a list: its last report (UTC seconds), and the status of the attempt of the run in its note, or of a
    later attempt of this run. `state` is that of the run; None if the run has no record.
    """

    sighting: Sighting
    seen_at: float
    attempt: int
    status: WorkerStatus
    state: RunState | None


def listed(sighting: Sighting, run: Run | None, now: float) -> ListedWorker:
    """Return the worker of a note. `run` is the record of its run."""
    seen_at, number, status = sighting.at, sighting.attempt, WorkerStatus.SEEN
    if run is not None and (attempt := _attempt(sighting, run)) is not None:
        number = attempt.number
        if isinstance(run, Running | Waiting) and number == run.attempt:
            if run.callback is not None and run.callback.worker == sighting.name:
                seen_at = max(seen_at, run.callback.heartbeat_at or 0.0)
            overdue = run.deadlines is not None and run.deadlines.next < now
            status = WorkerStatus.SILENT if overdue else WorkerStatus.WORKING
        elif attempt.code in OVERDUE_CODES and (attempt.ended_at is None or attempt.ended_at > seen_at):
            status = WorkerStatus.SILENT
    return ListedWorker(sighting, seen_at, number, status, None if run is None else run.state)


def _attempt(sighting: Sighting, run: Run) -> Attempt | None:
    """Return the noted attempt, or a later one of the same worker. None if the record names another worker: that one
    has received the message of the attempt again.
    """
    own = {each.number: each for each in attempts_of(run) if each.number >= sighting.attempt}
    found = [each for each in own.values() if each.worker == sighting.name]
    if not found and sighting.attempt in own and own[sighting.attempt].worker is None:
        return own[sighting.attempt]
    return found[-1] if found else None


def is_listed(seen_at: float, now: float) -> bool:
    """Return whether a worker with this last report (UTC seconds) is listed at `now`."""
    return now - seen_at < LISTED_SECONDS
