"""Interpretation of the facts about tick, shards, watermarks, lanes and alarms. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.checks.check import Check, CheckStatus, bad, fine, runbook, span, warning
from duecourse.checks.facts import Alarms, Queue, Shards, Watermarks

TICK_WARNING, TICK_BAD = 120.0, 180.0
"""The limits for the age of the last tick, in seconds. There is one tick a minute, and everything due within the
lookahead of five minutes is already enqueued. The health of the API uses the same limit as TICK_BAD.
"""

FRESH = 300.0
"""The age in seconds up to which a stack may still wait for its first tick."""

WATERMARK_OK, WATERMARK_BAD = 3_600, 4 * 3_600
"""The limits for the delay of a watermark, in seconds. It moves once an hour, in the first round after the hour."""

PATIENCE: Mapping[str, float] = {"high": 300.0, "normal": 300.0, "low": 3_600.0, "long": 3_600.0}
"""How long (s) the oldest message of a lane may stay in it beyond the longest delay of a message.
"""

HELD_SECONDS = 900.0
"""The longest delay of a message in SQS. CloudWatch counts the age of a message from the time it was sent."""

IN_FLIGHT_QUOTA = 120_000
"""The quota of a standard queue (Amazon SQS Developer Guide, "Amazon SQS standard queue quotas")."""

TICKET = "[ticket]"
"""The beginning of the description of an alarm that can wait until morning."""

IN_FLIGHT_SHARE = 0.8
CROWD = 1_000
SHOWN = 5


def ticked(age: float | None, stack_age: float) -> Check:
    """Check whether the tick runs. `age` is the age of the last tick, or None if there was none."""
    where = runbook("ticks-missing")
    if age is None:
        if stack_age < FRESH:
            said = "no tick has run yet; one runs every minute"
            return fine("tick", f"{said}; until then, only runs that the API enqueued itself start")
        return bad("tick", "no tick has ever run, so no job fires", "check the log of the tick function", where)
    said = f"the last tick ran {span(age)} ago"
    if age <= TICK_WARNING:
        return fine("tick", said)
    verdict = CheckStatus.BAD if age > TICK_BAD else CheckStatus.WARNING
    more = "; it should run once a minute, and occurrences that are not enqueued in time are late"
    return Check("tick", verdict, said + more, "check the log of the tick function, errors and throttles", where)


def shards(found: Shards) -> Check:
    """Check whether every shard that may contain cursors receives ticks."""
    where = "docs/sizing.md#raising-the-number-of-shards"
    configured = set(found.configured.values())
    if found.highest is None:
        if found.stack_age < FRESH:
            return fine("shards", "the stack is new and has not used a shard yet")
        return bad(
            "shards",
            "the record of the largest shard count ever used (SHARDS/HIGHEST) is missing: jobs in shards beyond the "
            f"configured {max(configured, default=0)} would never be found",
            "if the count was ever larger, restore the record from a backup of the table",
            where,
        )
    if len(configured) > 1:
        told = ", ".join(f"{name} {count}" for name, count in sorted(found.configured.items()))
        return warning(
            "shards",
            f"the functions have different shard counts ({told}): a deployment is in progress, or was interrupted",
            "finish the deployment; no job is lost",
            where,
        )
    now = max(configured, default=found.highest)
    if found.highest < now:
        return warning(
            "shards",
            f"{now} shards are configured, but only {found.highest} have been used; the next tick records the count",
            "check again in two minutes; if the problem continues, check the log of the tick function",
            where,
        )
    more = "" if found.highest == now else f"; {found.highest} were used earlier, and all of them still receive ticks"
    return fine("shards", f"{now} configured{more}")


def watermarks(found: Watermarks) -> Check:
    """Check whether rounds complete in every shard."""
    where = runbook("shardsbehind")
    silent = sorted(shard for shard, behind in found.behind.items() if behind is None)
    known = ((behind, shard) for shard, behind in found.behind.items() if behind is not None)
    late = sorted((each for each in known if each[0] > WATERMARK_OK), reverse=True)
    if late:
        worst = ", ".join(f"shard {shard} by {span(behind)}" for behind, shard in late[:SHOWN])
        verdict = CheckStatus.BAD if late[0][0] > WATERMARK_BAD else CheckStatus.WARNING
        return Check(
            "watermarks",
            verdict,
            f"{len(late)} of {len(found.behind)} shards are behind ({worst}): old entries of the index "
            "remain, and every round reads them again",
            "check the log lines of that shard's rounds (actions dispatched, round_stopped, claims_refused)",
            where,
        )
    if silent and found.stack_age > FRESH:
        return warning(
            "watermarks",
            f"no round has ended yet in {len(silent)} of {len(found.behind)} shards (first: {silent[0]})",
            "this is normal for some minutes after the shard count was raised; otherwise check the log of the dispatch "
            "function",
            where,
        )
    return fine("watermarks", f"none of {len(found.behind)} shards is behind")


def lane(found: Queue) -> Check:
    """Check whether the workers of a lane process its messages in time."""
    name = f"lane {found.name}"
    said = f"{found.visible} visible, {found.delayed} delayed until they are due, {found.in_flight} in flight"
    where = runbook("queuesunread")
    if found.in_flight > IN_FLIGHT_SHARE * IN_FLIGHT_QUOTA:
        why = f"{said}: SQS allows at most {IN_FLIGHT_QUOTA} in flight"
        return bad(name, why, "move some jobs to other lanes", where)
    allowed = HELD_SECONDS + PATIENCE.get(found.name, 300.0)
    if found.visible and found.oldest is not None and found.oldest > allowed:
        return Check(
            name,
            CheckStatus.BAD if found.oldest > 2 * allowed else CheckStatus.WARNING,
            f"{said}; the oldest was sent {span(found.oldest)} ago: runs of this lane start late",
            "check whether its workers are throttled, fail or are at their maximum concurrency, and whether its "
            "targets are slow",
            where,
        )
    if found.visible > CROWD and found.oldest is None:
        return warning(name, said, "check again in a minute whether the number decreases", where)
    return fine(name, said)


def alarms(found: Alarms) -> Check:
    """Check the alarms of CloudWatch."""
    if not found.all:
        return Check(
            "alarms",
            CheckStatus.UNKNOWN,
            "no alarms of this stage were found, so its failures are not reported",
            "check the alarms in CloudWatch; deploy the stage again if they are missing",
            "docs/operations.md#alarms-and-notices",
        )
    if not found.ringing:
        return fine("alarms", f"none of {found.all} alarms is active")
    named = " | ".join(f"{each.name}: {each.description}" for each in found.ringing)
    tickets = all(each.description.startswith(TICKET) for each in found.ringing)
    return Check(
        "alarms",
        CheckStatus.WARNING if tickets else CheckStatus.BAD,
        f"{len(found.ringing)} of {found.all} alarms are active: {named}",
        "see the section of each alarm in the runbooks",
        ", ".join(sorted({each.runbook for each in found.ringing})),
    )
