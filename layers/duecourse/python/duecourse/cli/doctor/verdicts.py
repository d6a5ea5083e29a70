"""Evaluates the facts about clock, rules, event sources and the due index. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from duecourse.checks.check import Check, CheckStatus, bad, fine, runbook, span, warning
from duecourse.checks.jobs import LEFT_OUT
from duecourse.checks.verdicts import ticked
from duecourse.cli.doctor.facts import ClockRules, Cursors, Due, LastTick, Skew, SkippedRuns, Source

SKEW_WARNING, SKEW_BAD = 5.0, 240.0
"""The differences between the clocks, in seconds, from which the check is a warning, and bad. AWS rejects a signature
that is five minutes old (AWS General Reference, "Signing AWS API requests").
"""

OVERDUE_OK, OVERDUE_BAD = 120.0, 300.0
"""The ages of an overdue entry, in seconds, up to which the check is ok, and from which it is bad. The API enqueues an
immediately due run itself. The next round, a minute later, claims its entry.
"""

SHOWN = 5

PROBLEM, OF_THE_FUNCTION = "PROBLEM", "PROBLEM: Function call failed"
"""The prefix of an event source's result if Lambda could not deliver its last batch (AWS Lambda API Reference,
"EventSourceMappingConfiguration": LastProcessingResult). A function's own failures have separate alarms.
"""

PASSING = ("Creating", "Enabling", "Updating")


def clock(found: Skew) -> Check:
    """Compare this machine's clock with AWS's. Signed requests fail if the difference is too large; the stage is not
    affected.
    """
    ahead = f"{span(abs(found.ahead))} {'ahead of' if found.ahead > 0 else 'behind'} AWS's"
    if abs(found.ahead) < SKEW_WARNING:
        return fine("clock", "the clock of this machine agrees with AWS")
    verdict = CheckStatus.BAD if abs(found.ahead) > SKEW_BAD else CheckStatus.WARNING
    return Check(
        "clock",
        verdict,
        f"the clock of this machine is {ahead}: signed requests fail if the difference exceeds five minutes, "
        "and the times of one-off jobs created here are wrong; the stage itself is not affected",
        "set the clock (NTP); ages in this report use the clock of AWS",
    )


def tick(found: LastTick) -> Check:
    """Check whether the stage's tick runs."""
    if found.rule != "ENABLED":
        state = "is missing" if found.rule is None else f"is {found.rule}"
        return bad(
            "tick",
            f"the rule that starts the tick once a minute {state}: no job fires after the occurrences that are "
            "already enqueued (14 minutes)",
            "enable the rule (aws events enable-rule), or deploy the stage again if it is missing",
            runbook("ticks-missing"),
        )
    return ticked(found.age, found.stack_age)


def rules(found: ClockRules) -> Check:
    """Check whether the rules of the maintenance functions are enabled. `tick` checks the tick's rule."""
    off = {name: state for name, state in found.states.items() if state != "ENABLED"}
    if not off:
        return fine("rules", f"the rules of {', '.join(found.states) or 'no function'} are enabled")
    told = ", ".join(f"{name} {'has no rule' if state is None else state}" for name, state in off.items())
    return warning(
        "rules",
        f"rules that do not start their function: {told}; their checks do not run",
        "enable the rule (aws events enable-rule), or deploy the stage again if it is missing",
        runbook("maintenancesilent"),
    )


def event_sources(found: Sequence[Source]) -> Check:
    """Check whether every queue and the stream are read. A disabled event source does not raise an error, and its
    messages wait or expire.
    """
    off = [each for each in found if each.state not in ("Enabled", *PASSING)]
    ill = [each for each in found if each not in off and (each.result or "").startswith(PROBLEM)]
    passing = [each for each in found if each.state in PASSING]
    told = [f"{each.name} {'has no event source' if each.state is None else 'is ' + each.state}" for each in off]
    told += [f"{each.name} reports {each.result}" for each in ill]
    told += [f"{each.name} is {each.state}" for each in passing if each not in ill]
    if not told:
        pollers = ", ".join(f"{each.name} {each.pollers}" for each in found if each.pollers)
        billed = f"; provisioned pollers, which are billed by the hour: {pollers}" if pollers else ""
        return fine(
            "event sources", f"the event sources of {', '.join(each.name for each in found)} are enabled{billed}"
        )
    first = (off + ill + passing)[0].name
    where = {"shards": runbook("roundswaiting"), "archive": runbook("archivestopped")}
    bad = off or any(each.result != OF_THE_FUNCTION for each in ill)
    return Check(
        "event sources",
        CheckStatus.BAD if bad else CheckStatus.WARNING,
        f"event sources that do not deliver their messages: {', '.join(told)}",
        "enable the event source (aws lambda update-event-source-mapping), restore its permissions, or create it "
        "again; see the runbook",
        where.get(first, runbook("queuesunread")),
    )


def due(found: Due) -> Check:
    """Check whether all due entries have been claimed."""
    soon = f"{found.soon}{'+' if found.soon_more else ''} entries are due within the lookahead"
    if found.left_out:
        soon += f"; {found.left_out} shards were not checked"
    late = [slot for slot in found.overdue if slot.oldest > OVERDUE_OK]
    if not late:
        return fine("due index", f"nothing is overdue; {soon}")
    entries = sum(slot.entries for slot in late)
    plus = "+" if any(slot.more for slot in late) else ""
    worst = ", ".join(f"{slot.slot}: {slot.entries}{'+' if slot.more else ''}" for slot in late[:SHOWN])
    return Check(
        "due index",
        CheckStatus.BAD if late[0].oldest > OVERDUE_BAD else CheckStatus.WARNING,
        f"{entries}{plus} entries are overdue and not claimed, the oldest by {span(late[0].oldest)} ({worst}); {soon}",
        "dispatch is too slow or does not run; check the tick, the shard queue and the log of the dispatch function",
        runbook("jobs-not-firing"),
    )


def cursors(found: Cursors) -> Check:
    """Check whether there are quarantined cursors."""
    part = "" if found.complete else f" (of the first {found.looked_at} items; index repair reads all)"
    if not found.aside:
        return fine("cursors", f"no cursor is quarantined{part}")
    named = "; ".join(f"{each.job}: {each.error[:120]}" for each in found.aside[:SHOWN])
    return warning(
        "cursors",
        f"{len(found.aside)} jobs do not fire, because their cursor is quarantined{part}: {named}",
        "edit the job's schedule to correct the error; the edit writes the cursor again",
        runbook("cursorsquarantined"),
    )


def skipping(found: SkippedRuns) -> Check:
    """Check whether many of the last runs of a job were skipped or cover several occurrences."""
    part = "" if found.complete else f" (of the first {found.looked_at} ended runs)"
    worst = sorted((each for each in found.jobs if each.skipped >= LEFT_OUT), key=lambda each: -each.skipped)
    if not worst:
        return fine("skipped runs", f"no job has many skipped or merged runs{part}")
    named = ", ".join(f"{each.job}: {each.skipped} of the last {each.runs}" for each in worst[:SHOWN])
    return warning(
        "skipped runs",
        f"jobs whose last runs were skipped or merged{part}: {named}",
        "read the warnings of each job (duecourse jobs get JOB), and change its interval, overlap or missed",
    )
