"""Evaluates the facts about queues, functions, tables, quotas, audit and index repair. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duecourse.checks.check import Check, CheckStatus, bad, fine, runbook, span, warning
from duecourse.checks.facts import Queue
from duecourse.cli.doctor.facts import AuditState, Function, Quotas, RepairState, Table

ROUND_SECONDS = 150.0
"""The maximum age of a waiting round, in seconds. A round takes up to 46 s, and the next round of its shard waits for
its end.
"""

CONCURRENCY_SHARE = 0.8
MIN_CONCURRENCY = 100
"""New accounts have a lower quota than the usual 1,000 (AWS Lambda Developer Guide, "Lambda quotas"). AWS keeps 100
executions unreserved ("Configuring reserved concurrency for a function"), so with a lower quota the functions of the
tick cannot have reserved concurrency.
"""

ERROR_SHARE = 0.05
CLOCKWORK = ("Tick", "Dispatch")

DAY = 86_400.0
AUDIT_SECONDS = 3 * 3_600.0
"""The maximum time without progress of an audit, in seconds. An audit runs every hour."""

REPAIR_FINDS: Mapping[str, str] = {
    "EntriesBelowWatermark": "entries below their watermark (corrected)",
    "CursorsOutsideIndex": "cursors of active jobs outside the index (restored)",
    "CursorsFoundQuarantined": "cursors quarantined",
    "CursorsReleased": "cursors that were quarantined without an error (restored)",
}
"""The counts of index repair, worst first. Each has an alarm of the same name."""


def shard_queue(found: Queue, shards: int | None) -> Check:
    """Check whether rounds start soon after their tick."""
    said = f"{found.visible} rounds are waiting, {found.in_flight} are in progress"
    old = found.oldest is not None and found.oldest > ROUND_SECONDS
    if not old and (shards is None or found.visible <= 2 * shards):
        return fine("shard queue", said)
    age = "" if found.oldest is None else f", the oldest for {span(found.oldest)}"
    return Check(
        "shard queue",
        CheckStatus.BAD if old else CheckStatus.WARNING,
        f"{said}{age}: dispatch is slower than the ticks",
        "check whether the dispatch function is throttled or fails, and whether its reserved concurrency is too "
        "small for the number of shards",
        runbook("roundswaiting"),
    )


def dead_letters(found: Queue) -> Check:
    """Check whether there are dead runs that were not handled."""
    if not (count := found.visible + found.in_flight):
        return fine("dead letters", "no dead letters")
    return warning(
        "dead letters",
        f"messages of dead runs, kept for at most 14 days: {count}",
        "run duecourse dead-letters list, correct the target, then run duecourse dead-letters redrive",
        runbook("runsdead"),
    )


def archive_letters(found: Queue) -> Check:
    """Check whether expired runs must be archived manually."""
    if not (count := found.visible + found.in_flight):
        return fine("archive", "all expired runs are archived")
    return bad(
        "archive",
        f"batches of expired runs that could not be archived: {count}; the stream deletes them after 24 hours",
        "correct the cause, then send them to the archive function again (see the runbook)",
        runbook("archiveletterswaiting"),
    )


def functions(found: Sequence[Function]) -> Check:
    """Check the errors and throttles of the last hour. Throttles of the tick and the dispatcher are bad; for other
    functions, errors and throttles above 5% are bad.
    """
    failing = [each for each in found if each.errors or each.throttles]
    if not failing:
        return fine("functions", f"{len(found)} functions had no errors or throttles in the last hour")
    bad = any(
        each.errors + each.throttles > ERROR_SHARE * max(each.invocations, 1.0)
        or (each.name in CLOCKWORK and each.throttles)
        for each in failing
    )
    told = ", ".join(
        f"{each.name} {each.errors:.0f} errors and {each.throttles:.0f} throttles in {each.invocations:.0f} calls"
        for each in failing
    )
    first = max(failing, key=lambda each: each.errors + each.throttles)
    section = "functionerrors" if first.errors >= first.throttles else "functionthrottles"
    return Check(
        "functions",
        CheckStatus.BAD if bad else CheckStatus.WARNING,
        f"in the last hour: {told}",
        f"check the log of {first.name} (errors) and the concurrency (throttles)",
        runbook(section),
    )


def tables(found: Sequence[Table]) -> Check:
    """Check for requests that DynamoDB throttled in the last hour. Most of them were retried and succeeded."""
    throttled = [each for each in found if each.throttled]
    if not throttled:
        return fine("tables", "no request was throttled in the last hour")
    told = ", ".join(f"{each.name} {each.throttled:.0f}" for each in throttled)
    return warning(
        "tables",
        f"requests throttled in the last hour: {told}",
        "the load grew faster than the capacity of the table; see warm throughput in docs/sizing.md",
        runbook("tablethrottles"),
    )


def quotas(found: Quotas) -> Check:
    """Check whether the account's quota is sufficient for the stage."""
    where = "docs/operations.md#quotas-to-raise"
    most = "" if found.most is None else f", at most {found.most:.0f} at once in the last hour"
    said = f"{found.concurrency} concurrent executions, {found.unreserved} of them unreserved{most}"
    if found.concurrency < MIN_CONCURRENCY:
        return warning(
            "quotas",
            f"{said}: the quota of a new account, which is too small for production",
            "raise it (Service Quotas, AWS Lambda, Concurrent executions)",
            where,
        )
    if found.most is not None and found.most > CONCURRENCY_SHARE * found.concurrency:
        return Check(
            "quotas",
            CheckStatus.BAD if found.most >= found.concurrency else CheckStatus.WARNING,
            f"{said}: Lambda throttles every function of the account above this quota",
            "find the functions that use it; raise the quota, or lower max_concurrency of the lanes",
            where,
        )
    return fine("quotas", said)


def audit(found: AuditState) -> Check:
    """Check the progress of the completeness audit, and its findings of the last day."""
    if found.last is None or found.last > AUDIT_SECONDS:
        if found.last is None and found.stack_age < AUDIT_SECONDS:
            return fine("audit", "the stack is new; its first audit has not run yet")
        since = "ever" if found.last is None else f"for {span(found.last)}"
        return warning(
            "audit",
            f"no audit has made progress {since}; one runs every hour",
            "check the log of the audit function (actions audit_failed, audit_waits)",
            runbook("auditsfailed"),
        )
    recent = [each for each in found.found if each.age < DAY]
    if not recent:
        older = f"; {len(found.found)}{'+' if found.more else ''} findings of the last 30 days" if found.found else ""
        return fine("audit", f"no lost or duplicate runs were found in the last day{older}")
    told = ", ".join(f"{each.count} {each.kind} of {each.job} from {each.first}" for each in recent[:5])
    lost = any(each.kind == "lost" for each in recent)
    return bad(
        "audit",
        f"found in the last day: {told}",
        "run duecourse runs list JOB, then backfill the missing occurrences" if lost else "compare the two records",
        runbook("occurrenceslost" if lost else "occurrencesdoubled"),
    )


def repair(found: RepairState) -> Check:
    """Check whether the daily index repair runs, and the findings of the last one."""
    if found.begun is None or found.begun > 2 * DAY:
        if found.begun is None and found.stack_age < 2 * DAY:
            return fine("repair", "the stack is new; its first index repair has not run yet")
        since = "ever" if found.begun is None else f"for {span(found.begun)}"
        return warning(
            "repair",
            f"no index repair has started {since}; one starts every day",
            "check the log of the repair function (action repair_failed)",
            runbook("repairsfailed"),
        )
    when = f"the last one started {span(found.begun)} ago" + ("" if found.ended else " and is in progress")
    wrong = {each: found.counts[each] for each in REPAIR_FINDS if found.counts.get(each)}
    if not wrong:
        return fine("repair", f"{when}; it found no errors")
    told = ", ".join(f"{REPAIR_FINDS[each]}: {count}" for each, count in wrong.items())
    return bad(
        "repair",
        f"{when} and found {told}",
        "see its log (actions entry_below_watermark, cursor_outside_index, cursor_found_quarantined, cursor_released)",
        runbook(next(iter(wrong)).lower()),
    )
