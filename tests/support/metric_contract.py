"""Which metrics there are: ours by function, and of AWS's those that alarms and dashboards look at, each with the names
of its dimensions.
"""

from collections.abc import Mapping

from duecourse.telemetry import SYMPTOMS

ENDS = frozenset({"RunsSucceeded", "RunsDead", "RunsSkipped", "RunsCancelled"})

BY_TARGET = ENDS
"""What a worker tells by type of target, too."""

BY_LANE = frozenset({"Lateness", "FailuresBeyond"})
"""What a worker tells by lane, too."""

OURS: Mapping[str, frozenset[str]] = {
    "tick": frozenset(
        {
            *("TicksRefused", "ShardsOverdue", "RoundsWaiting", "QueuesUnread"),
            *("MaintenanceSilent", "ArchiveStopped", "LettersWaiting", "WatchesFailed", "QuotaBelowSetting"),
            *("FencesMissing", "PrescalesFailed"),
        }
    ),
    "dispatch": frozenset(
        {
            *("Enqueued", "ClaimsLost", "ClaimsFailed", "ClaimsRefused", "LargeCatchUps"),
            *("StatementsThrottled", "SendsRefused", "WakesSent", "CursorsQuarantined", "Missed", "Skipped"),
            *("RoundsFailed", "RoundsUnfinished", "ClaimsDeferred", "WatermarkAge", "ShardsBehind", "EventsRefused"),
            "FencesMissing",
        }
    ),
    "execute": ENDS
    | {
        *("AttemptsStarted", "AttemptsFailed"),
        *("MessagesReceived", "DuplicatesDropped", "Lateness", "CaughtUp", "DeathsAnnounced", "MessagesFailed"),
        *(
            "BreakersOpened",
            "FinishesRefused",
            "LogsLost",
            "ResultsLost",
            "ResultsRefused",
            "EventsRefused",
            "PausesFailed",
            "JobsPaused",
            "RescueReadsFailed",
        ),
        *("FailuresBeyond", "TargetsFailing", "FencesMissing"),
    },
    "reconcile": frozenset(
        {
            *("DeadLettersRecorded", "DeadLettersUnreadable", "ReconciliationsFailed"),
            *("JobsPaused", "PausesFailed", "EventsRefused", "AttemptsFailed", "RunsDead"),
        }
    ),
    "repair": frozenset(
        {
            *("EntriesBelowWatermark", "CursorsOutdated", "CursorsOutsideIndex", "CursorsRepaired"),
            *("CursorsFoundQuarantined", "CursorsReleased", "RepairsFailed", "CleanUpsFailed"),
        }
    ),
    "audit": frozenset(
        {
            *("JobsAudited", "OccurrencesAudited", "OccurrencesLost", "OccurrencesDoubled"),
            *("StepsLost", "RunsStuck", "AuditsFailed", "AuditsWaiting"),
        }
    ),
    "archive": frozenset({"RecordsArchived", "ObjectsWritten", "ArchivesFailed"}),
    "api": frozenset({"InternalErrors", "SendsRefused"}),
    "callbacks": frozenset({"RefusalsBeyond", "WorkersNotNoted"}),
}

AWS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "AWS/SQS": {
        name: frozenset({"QueueName"})
        for name in (
            *("ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesDelayed"),
            *("ApproximateAgeOfOldestMessage", "NumberOfMessagesSent", "NumberOfMessagesReceived"),
        )
    },
    "AWS/Lambda": {
        name: frozenset({"FunctionName"})
        for name in ("Invocations", "Errors", "Throttles", "Duration", "ConcurrentExecutions")
    },
    "AWS/ApiGateway": {name: frozenset({"ApiId"}) for name in ("4xx", "5xx", "Count")},
    "AWS/DynamoDB": {
        name: frozenset({"TableName"})
        for name in (
            *("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"),
            *("ReadThrottleEvents", "WriteThrottleEvents"),
        )
    },
}
"""Those of a table are of an index, too, with `GlobalSecondaryIndexName` beside its table's name."""


def problem_of(namespace: str, name: str, dimensions: Mapping[str, str]) -> str | None:
    """Why there is no such metric; None where there is."""
    if namespace.startswith("Duecourse/"):
        return _problem_of_ours(name, dimensions)
    if name not in AWS.get(namespace, {}):
        return f"{namespace} has no {name}"
    known, given = AWS[namespace][name], frozenset(dimensions)
    if namespace == "AWS/DynamoDB":
        given -= {"GlobalSecondaryIndexName"}
    if name == "Errors":  # of a version behind an alias, all three together
        given -= {"Resource", "ExecutedVersion"} if {"Resource", "ExecutedVersion"} <= given else set()
    return None if given == known else f"{name} has the dimensions {sorted(known)}, not {sorted(given)}"


def _problem_of_ours(name: str, dimensions: Mapping[str, str]) -> str | None:
    if "symptom" in dimensions:
        fits = name == "Failures" and set(dimensions) == {"service", "symptom"} and dimensions["symptom"] in SYMPTOMS
        return None if fits else f"{name} is not told of {dimensions['symptom']}"
    function = dimensions.get("function", "")
    if dimensions.get("service") != "duecourse" or name not in OURS.get(function, frozenset()):
        return f"the function {function} tells no {name}"
    more = frozenset(dimensions) - {"service", "function"}
    if more == {"target"} and name not in BY_TARGET:
        return f"{name} is not told by target"
    if more == {"lane"} and name not in BY_LANE:
        return f"{name} is not told by lane"
    known = not more or (function == "execute" and more in ({"lane"}, {"target"}))
    return None if known else f"nothing is told by {sorted(more)}"
