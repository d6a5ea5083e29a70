"""Alarms of those who look after the rest: sweep, patrol, audit and archive."""

from __future__ import annotations

from collections.abc import Iterator

from infra.observability.alarms import AlarmSpec
from infra.observability.metrics import ours


def alarms_of_care() -> Iterator[AlarmSpec]:
    """Function by function."""
    yield from _sweep()
    yield from _patrol()
    yield from _audit()
    yield _any(
        "archive",
        "ArchivesFailed",
        "Expired runs could not be written to the archive. The stream tries again, then keeps the batch's place in a "
        "queue of its own.",
        "read the error in the log of the archive function (action archive_failed): policy, key, or S3's health. "
        "What is in its queue must be read back within 24 hours.",
    )


def _any(function: str, metric: str, means: str, first: str) -> AlarmSpec:
    """An alarm as soon as one is counted."""
    return AlarmSpec(name=metric, means=means, first=first, metric=ours(function, metric), above=0)


def _sweep() -> Iterator[AlarmSpec]:
    """What lies in the dead-letter queue."""
    yield _any(
        "sweep",
        "DeadLettersRecorded",
        "The dead-letter queue held messages whose runs were not dead: workers were killed, or throttled, at a "
        "message's last delivery. The runs are recorded as dead now.",
        "look at the lanes' workers: errors, time-outs, memory, throttles.",
    )
    yield _any(
        "sweep",
        "DeadLettersUnreadable",
        "Something lies in the dead-letter queue that is no message of ours: nothing will come of it.",
        "find it by its id (action dead_letter_unreadable), find out who sent it, and delete it.",
    )
    yield _any(
        "sweep",
        "SweepsFailed",
        "Dead letters could not be looked at or recorded; the next sweep tries again.",
        "read the error in the log (action dead_letter_failed): throttling, rights, or a defect.",
    )


def _patrol() -> Iterator[AlarmSpec]:
    """What the due index holds that no round finds."""
    yield _any(
        "patrol",
        "EntriesBelowWatermark",
        "The due index held entries under their shard's watermark: no round of dispatch would have found them, so "
        "their jobs did not fire. The patrol has lowered the watermark or moved them.",
        "see which jobs they are and how long they were overdue (log of the patrol function), and what preceded: an "
        "outage of more than two hours, a changed zone, a restored table.",
    )
    yield _any(
        "patrol",
        "CursorsOutsideIndex",
        "Jobs that are ACTIVE had no entry in the due index, so they did not fire. The patrol has put them back.",
        "see which jobs they are (action cursor_outside_index), what they missed, and who wrote their cursors last: it "
        "is a defect, or a table restored in part.",
    )
    yield _any(
        "patrol",
        "CursorsSetAsideFound",
        "Jobs that are ACTIVE do not fire since their cursors were set aside, and nobody has corrected them.",
        "list them (log of the patrol function), read each job's error, and correct or delete it.",
    )
    yield _any(
        "patrol",
        "PatrolsFailed",
        "The patrol of the due index ended with an error: what it should have found is not known.",
        "read the error in the log of the patrol function, and start it again by hand.",
    )
    yield _any(
        "patrol",
        "CleanUpsFailed",
        "Completed jobs whose history has expired could not be removed. They do no harm, but the table keeps them.",
        "read the error in the log of the patrol function (action clean_up_failed); each part of the jobs has its turn "
        "again tomorrow.",
    )


def _audit() -> Iterator[AlarmSpec]:
    """What should have happened."""
    yield _any(
        "audit",
        "OccurrencesLost",
        "Occurrences that should have had a run have no record: they were lost.",
        "read which they are (action occurrence_lost), run them by a backfill, then look for the cause: it is a defect "
        "until proven otherwise.",
    )
    yield _any(
        "audit",
        "OccurrencesDoubled",
        "Occurrences have more than one record: they may have run twice.",
        "read which they are (action occurrence_doubled) and compare attempts and times of the records.",
    )
    yield _any(
        "audit",
        "AuditsFailed",
        "The audit ended with an error, or could not look at a job: whether occurrences were lost there is not known.",
        "read the error in the log of the audit function; the next one goes on with the same segment.",
    )
