"""What the facts about tick, shards, watermarks, lanes and alarms mean. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.checks.check import Check, CheckStatus, bad, fine, runbook, span, warning
from duecourse.checks.facts import Alarms, Queue, Shards, Watermarks

TICK_WARNING, TICK_BAD = 120.0, 180.0
"""One tick a minute; what is due within the lookahead of five minutes is enqueued already. So the API's health."""

FRESH = 300.0
"""A stack so young may still wait for its first tick."""

WATERMARK_OK, WATERMARK_BAD = 3_600, 4 * 3_600
"""It moves once an hour, in the first round after the hour."""

PATIENCE: Mapping[str, float] = {"high": 300.0, "normal": 300.0, "low": 3_600.0, "long": 3_600.0}
"""How long (s) the oldest message of a lane may be there beyond the time for which it may have been held back. A
stage's alarms have the same numbers unless its configuration says otherwise (`patience_seconds`)."""

HELD_SECONDS = 900.0
"""CloudWatch counts a message's age from its sending, and SQS holds it back for so long at most."""

IN_FLIGHT_QUOTA = 120_000
"""Of a standard queue (Amazon SQS Developer Guide, "Amazon SQS standard queue quotas")."""

IN_FLIGHT_SHARE = 0.8
CROWD = 1_000
SHOWN = 5


def ticked(age: float | None, stack_age: float) -> Check:
    """Whether ticks come: the age of the last one; None where none has ever come."""
    where = runbook("ticks-missing")
    if age is None:
        if stack_age < FRESH:
            said = "no tick has come yet; one comes every minute"
            return fine("tick", f"{said}; runs until then are those that the API has sent at once")
        return bad("tick", "no tick has ever come: nothing fires", "look at the tick's log", where)
    said = f"the last tick came {span(age)} ago"
    if age <= TICK_WARNING:
        return fine("tick", said)
    verdict = CheckStatus.BAD if age > TICK_BAD else CheckStatus.WARNING
    more = "; it comes once a minute, and what it has not enqueued by its second is late"
    return Check("tick", verdict, said + more, "look at the tick's log, errors and throttles", where)


def shards(found: Shards) -> Check:
    """Whether every shard that cursors may stand in is ticked."""
    where = "docs/sizing.md#raising-them"
    configured = set(found.configured.values())
    if found.highest is None:
        if found.stack_age < FRESH:
            return fine("shards", "the stack is new; no shard has been used yet")
        return bad(
            "shards",
            "the record of the largest shard count ever used (SHARDS/HIGHEST) is missing: jobs in shards beyond the "
            f"configured {max(configured, default=0)} would never be found",
            "if the count was ever larger, put the record back from a backup of the table",
            where,
        )
    if len(configured) > 1:
        told = ", ".join(f"{name} {count}" for name, count in sorted(found.configured.items()))
        return warning(
            "shards",
            f"the functions have different shard counts ({told}): a deployment is under way, or was broken off",
            "no job is lost by it; finish the deployment",
            where,
        )
    now = max(configured, default=found.highest)
    if found.highest < now:
        return warning(
            "shards",
            f"{now} shards are configured, {found.highest} have been used: the next tick records it",
            "look again in two minutes; if it stays, look at the tick",
            where,
        )
    more = "" if found.highest == now else f"; {found.highest} were used once and all of them are ticked"
    return fine("shards", f"{now} configured{more}")


def watermarks(found: Watermarks) -> Check:
    """Whether rounds come to their end in every shard."""
    where = runbook("watermark-behind")
    silent = sorted(shard for shard, behind in found.behind.items() if behind is None)
    known = ((behind, shard) for shard, behind in found.behind.items() if behind is not None)
    late = sorted((each for each in known if each[0] > WATERMARK_OK), reverse=True)
    if late:
        worst = ", ".join(f"shard {shard} by {span(behind)}" for behind, shard in late[:SHOWN])
        verdict = CheckStatus.BAD if late[0][0] > WATERMARK_BAD else CheckStatus.WARNING
        return Check(
            "watermarks",
            verdict,
            f"{len(late)} of {len(found.behind)} shards are behind ({worst}): old entries of the index cannot be "
            "worked off, and every round reads through them",
            "look at what the rounds of that shard log (actions dispatched, round_stopped, claims_refused)",
            where,
        )
    if silent and found.stack_age > FRESH:
        return warning(
            "watermarks",
            f"no round has ended yet in {len(silent)} of {len(found.behind)} shards (first: {silent[0]})",
            "normal for minutes after the count was raised; otherwise look at the dispatcher's log",
            where,
        )
    return fine("watermarks", f"none of {len(found.behind)} shards is behind")


def lane(found: Queue) -> Check:
    """Whether the workers of a lane keep up."""
    name = f"lane {found.name}"
    said = f"{found.visible} wait, {found.delayed} are held until their second, {found.in_flight} are being worked on"
    where = runbook("oldestmessage")
    if found.in_flight > IN_FLIGHT_SHARE * IN_FLIGHT_QUOTA:
        why = f"{said}: SQS hands out {IN_FLIGHT_QUOTA} at once and no more"
        return bad(name, why, "spread the jobs over other lanes", where)
    allowed = HELD_SECONDS + PATIENCE.get(found.name, 300.0)
    if found.visible and found.oldest is not None and found.oldest > allowed:
        return Check(
            name,
            CheckStatus.BAD if found.oldest > 2 * allowed else CheckStatus.WARNING,
            f"{said}; the oldest was sent {span(found.oldest)} ago: runs of this lane start late",
            "are its workers throttled, failing, or at their maximum concurrency? Are its targets slow?",
            where,
        )
    if found.visible > CROWD and found.oldest is None:
        return warning(name, said, "look again in a minute: does the number fall?", where)
    return fine(name, said)


def alarms(found: Alarms) -> Check:
    """What CloudWatch says by itself."""
    if not found.all:
        return Check(
            "alarms",
            CheckStatus.UNKNOWN,
            "no alarm of this stage was found: nobody learns of it when it stands still",
            "look at the alarms in CloudWatch; deploy the stage again if they are gone",
            "docs/operations.md#alarms-and-notices",
        )
    if not found.ringing:
        return fine("alarms", f"none of {found.all} rings")
    named = " | ".join(f"{each.name}: {each.description}" for each in found.ringing)
    return bad(
        "alarms",
        f"{len(found.ringing)} of {found.all} ring: {named}",
        "each has a section in the runbooks",
        ", ".join(sorted({each.runbook for each in found.ringing})),
    )
