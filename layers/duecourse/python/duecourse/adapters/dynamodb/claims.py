"""Claims: a cursor moves on where it stands exactly as it was read. What the statements promise: `statements`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from duecourse.adapters.dynamodb.keys import CURSOR, job_partition
from duecourse.adapters.dynamodb.statements import CONDITION_FAILED, Outcome, Statement, execute
from duecourse.adapters.dynamodb.values import pack
from duecourse.ports import Claim, Claimed, ClaimResult, Clock, Crew

_LOST = Claimed(ClaimResult.LOST)
_CONDITIONS = ("PK", "SK", "due", "generation")


def claim(client: Any, table: str, claims: Sequence[Claim], shards: int, clock: Clock, crew: Crew) -> list[Claimed]:
    """Claim each; the results in the order of the claims. A cursor named twice is claimed once, the rest is LOST."""
    first: dict[tuple[str, str], int] = {}
    for index, wanted in enumerate(claims):
        first.setdefault((wanted.cursor.tenant, wanted.cursor.job_id), index)
    unique = list(first.values())
    now = clock.now()
    outcomes = execute(client, [_statement(table, claims[index], shards, now) for index in unique], clock, crew)
    results = [_LOST] * len(claims)
    for index, outcome in zip(unique, outcomes, strict=True):
        results[index] = _judge(outcome, claims[index])
    return results


def _judge(outcome: Outcome, claim: Claim) -> Claimed:
    """Where it stands as the claim wanted, either the claim's own answer was lost, or somebody made the very same."""
    if outcome.code in CONDITION_FAILED and outcome.found:
        stands = outcome.found.get("occurrence", {}).get("N")
        generation = outcome.found.get("generation", {}).get("N")
        wanted = None if claim.moved.occurrence is None else str(claim.moved.occurrence)
        if stands == wanted and generation == str(claim.cursor.generation):
            return outcome.claimed(lost=ClaimResult.WON)
    return outcome.claimed()


def _statement(table: str, claim: Claim, shards: int, now: float) -> Statement:
    cursor, moved = claim.cursor, claim.moved
    written = pack(
        {
            "slot": moved.slot(shards, now=now),
            "due": moved.due,
            "occurrence": moved.occurrence,
            "after": moved.after,
            "remaining": moved.remaining,
            "last": moved.last,
            "tzdata": moved.tzdata,
        }
    )
    return {
        "Statement": _text(table, tuple(written)),
        "Parameters": [
            *written.values(),
            {"S": job_partition(cursor.tenant, cursor.job_id)},
            {"S": CURSOR},
            {"N": str(cursor.due)},
            {"N": str(cursor.generation)},
        ],
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


@lru_cache
def _text(table: str, written: tuple[str, ...]) -> str:
    """An exhausted cursor leaves the index; what was never there need not be removed. One that was set aside keeps its
    due time, and is not to be put back by whoever had read it before.
    """
    gone = [name for name in ("slot", "due", "occurrence") if name not in written]
    change = [f'SET "{name}" = ?' for name in written] + [f'REMOVE "{name}"' for name in gone]
    conditions = " AND ".join(f'"{name}" = ?' for name in _CONDITIONS) + ' AND "error" IS MISSING'
    return f'UPDATE "{table}" {" ".join(change)} WHERE {conditions}'
