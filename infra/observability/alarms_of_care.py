"""Alarms of those who look after the rest: sweep, patrol and audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from infra.config import StageConfig
from infra.observability.alarms import AlarmSpec
from infra.observability.metrics import of_function, ours
from infra.python_function import PythonFunction

HOUR = 3600

CARETAKERS = ("Sweep", "Patrol", "Audit")
"""Started by rules of their own, every fifteen minutes or (sweep) at least every hour. Nobody misses them."""


def alarms_of_care(config: StageConfig, functions: Mapping[str, PythonFunction]) -> Iterator[AlarmSpec]:
    """Function by function."""
    for name in CARETAKERS:
        yield _silent(name, functions[name])
    yield from _sweep(config)
    yield from _patrol(config)
    yield from _audit(config)


def _any(config: StageConfig, function: str, metric: str, means: str, first: str, *, prefix: str = "") -> AlarmSpec:
    """An alarm as soon as one is counted; with a prefix where another function's alarm has the metric's name."""
    return AlarmSpec(
        name=f"{prefix}{metric}",
        means=means,
        first=first,
        metric=ours(config, function, metric),
        above=0,
        section=metric if prefix else None,
    )


def _silent(name: str, function: PythonFunction) -> AlarmSpec:
    """Whoever looks for what went wrong must not stop unnoticed: its counts are missing then, which is no alarm."""
    return AlarmSpec(
        name=f"{name}Silent",
        means=f"The function {name} has not been started for two hours: what it looks for is not found meanwhile.",
        first="see whether the rule that starts it is enabled (`duecourse doctor` names the rules that are not).",
        metric=of_function(function.function, "Invocations", seconds=HOUR),
        above=1,
        below=True,
        periods=2,
        section="FunctionSilent",
    )


def _sweep(config: StageConfig) -> Iterator[AlarmSpec]:
    """What lies in the dead-letter queue."""
    yield _any(
        config,
        "sweep",
        "DeadLettersRecorded",
        "The dead-letter queue held messages whose runs were not dead: workers were killed, or throttled, at a "
        "message's last delivery. The runs are recorded as dead now.",
        "look at the lanes' workers: errors, time-outs, memory, throttles.",
    )
    yield _any(
        config,
        "sweep",
        "DeadLettersUnreadable",
        "Something lies in the dead-letter queue that is no message of ours: nothing will come of it.",
        "find it by its id (action dead_letter_unreadable), find out who sent it, and delete it.",
    )
    yield _any(
        config,
        "sweep",
        "SweepsFailed",
        "Dead letters could not be looked at or recorded; the next sweep tries again.",
        "read the error in the log (action dead_letter_failed): throttling, rights, or a defect.",
    )
    yield _any(
        config,
        "sweep",
        "JobsPaused",
        "The sweep recorded deaths, and a job was paused for them: it does not fire until someone resumes it.",
        "read which job it is (action job_paused), find out what kills its workers, resume it.",
        prefix="Sweep",
    )
    yield _any(
        config,
        "sweep",
        "PausesFailed",
        "The sweep recorded a death, and whether its job is to be paused could not be decided: it goes on firing.",
        "read the reason in the log (action job_not_paused), and pause the job by hand if its target is ill.",
        prefix="Sweep",
    )
    yield _any(
        config,
        "sweep",
        "EventsRefused",
        "The event bus did not accept outcomes that the sweep recorded: those who hook on missed them.",
        "read the bus's error in the log (action event_refused); it is not sent again.",
        prefix="Sweep",
    )


def _patrol(config: StageConfig) -> Iterator[AlarmSpec]:
    """What the due index holds that no round finds."""
    yield _any(
        config,
        "patrol",
        "EntriesBelowWatermark",
        "The due index held entries under their shard's watermark: no round of dispatch would have found them, so "
        "their jobs did not fire. The patrol has moved them to where the next round looks.",
        "see which jobs they are and how long they were overdue (log of the patrol function), and what preceded: an "
        "outage of more than two hours, a changed zone, a restored table.",
    )
    yield _any(
        config,
        "patrol",
        "CursorsOutsideIndex",
        "Jobs that are ACTIVE had no entry in the due index, so they did not fire. The patrol has put them back.",
        "see which jobs they are (action cursor_outside_index), what they missed, and who wrote their cursors last: it "
        "is a defect, or a table restored in part.",
    )
    yield _any(
        config,
        "patrol",
        "CursorsSetAsideFound",
        "Jobs that are ACTIVE do not fire since their cursors were set aside, and nobody has corrected them.",
        "list them (log of the patrol function), read each job's error, and correct or delete it.",
    )
    yield _any(
        config,
        "patrol",
        "PatrolsFailed",
        "The patrol of the due index ended with an error: what it should have found is not known.",
        "read the error in the log of the patrol function, and start it again by hand.",
    )
    yield _any(
        config,
        "patrol",
        "CleanUpsFailed",
        "Completed jobs whose history has expired could not be removed. They do no harm, but the table keeps them.",
        "read the error in the log of the patrol function (action clean_up_failed); each part of the jobs has its turn "
        "again tomorrow.",
    )


def _audit(config: StageConfig) -> Iterator[AlarmSpec]:
    """What should have happened."""
    yield _any(
        config,
        "audit",
        "OccurrencesLost",
        "Occurrences that should have had a run have no record: they were lost.",
        "read which they are (action occurrence_lost), run them by a backfill, then look for the cause: it is a defect "
        "until proven otherwise.",
    )
    yield _any(
        config,
        "audit",
        "OccurrencesDoubled",
        "Occurrences have more than one record: they may have run twice.",
        "read which they are (action occurrence_doubled) and compare attempts and times of the records.",
    )
    yield _any(
        config,
        "audit",
        "AuditsFailed",
        "The audit ended with an error, or could not look at a job: whether occurrences were lost there is not known.",
        "read the error in the log of the audit function; the next one goes on with the same segment.",
    )
    yield _any(
        config,
        "audit",
        "AuditsWaiting",
        "A thousand jobs have occurrences that neither ran nor were lost: the audit waits until there are fewer, and "
        "sees nothing new meanwhile.",
        "look at dispatch and the lanes, which are hours behind.",
    )
