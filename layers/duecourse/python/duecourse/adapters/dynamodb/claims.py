"""Claims: a cursor moves on where it stands exactly as it was read. What the statements promise: `statements`.

A claim without an answer may have been made: its cursor is read back, and the claim is WON where it stands as wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.dynamodb.keys import CURSOR, Item, job_key, job_partition
from duecourse.adapters.dynamodb.statements import CONDITION_FAILED, Outcome, Statement, execute
from duecourse.adapters.dynamodb.values import pack
from duecourse.ports import Claim, Claimed, ClaimResult, Clock, Crew

READ_BATCH = 100
"""Keys of one BatchGetItem, at most (Amazon DynamoDB API Reference)."""

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
    unknown = [claims[index] for index, outcome in zip(unique, outcomes, strict=True) if _is_unknown(outcome)]
    standing = _read_back(client, table, unknown)
    results = [_LOST] * len(claims)
    for index, outcome in zip(unique, outcomes, strict=True):
        wanted = claims[index]
        found = outcome.found or standing.get(job_partition(wanted.cursor.tenant, wanted.cursor.job_id))
        made = outcome.code is not None and found is not None and _stands(found, wanted)
        results[index] = Claimed(ClaimResult.WON, throttled=outcome.throttled) if made else outcome.claimed()
    return results


def _is_unknown(outcome: Outcome) -> bool:
    """Whether the outcome does not say if the claim was made: no answer, or a failed condition without the item."""
    if outcome.code in CONDITION_FAILED:
        return not outcome.found
    return outcome.claimed().result is ClaimResult.FAILED


def _read_back(client: Any, table: str, claims: Sequence[Claim]) -> dict[str, Item]:
    """The cursors of claims as they stand now, by partition key; without those that cannot be read."""
    found: dict[str, Item] = {}
    for begin in range(0, len(claims), READ_BATCH):
        keys = [job_key(each.cursor.tenant, each.cursor.job_id, CURSOR) for each in claims[begin : begin + READ_BATCH]]
        try:
            answer = client.batch_get_item(RequestItems={table: {"Keys": keys, "ConsistentRead": True}})
        except (BotoCoreError, ClientError):
            continue  # the claims stay as their outcomes say
        found |= {item["PK"]["S"]: item for item in answer["Responses"].get(table, ())}
    return found


def _stands(found: Item, claim: Claim) -> bool:
    """Whether the cursor stands as the claim wanted: the claim's answer was lost, or somebody made the very same."""
    wanted = {"occurrence": claim.moved.occurrence, "due": claim.moved.due, "generation": claim.cursor.generation}
    return all(
        found.get(name, {}).get("N") == (None if value is None else str(value)) for name, value in wanted.items()
    )


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
