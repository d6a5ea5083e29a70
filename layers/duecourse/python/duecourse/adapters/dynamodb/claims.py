"""Claims: conditional PartiQL statements, 25 a request, each succeeding or failing by itself.

Amazon DynamoDB API Reference, BatchExecuteStatement: at most 25 statements; the same key twice is refused; the SDK
retries the request, never a single statement. Conditional PartiQL is right on DynamoDB, DynamoDB Local and MiniStack,
and wrong on moto.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duecourse.adapters.dynamodb.errors import RETRYABLE
from duecourse.adapters.dynamodb.keys import CURSOR, job_partition
from duecourse.adapters.dynamodb.values import pack
from duecourse.ports import Claim, ClaimResult, Clock

BATCH = 25
TRIES = 4


def claim(client: Any, table: str, claims: Sequence[Claim], shards: int, clock: Clock) -> list[ClaimResult]:
    """Claim each; the results in the order of the claims. A cursor named twice is claimed once, the rest is LOST."""
    results = [ClaimResult.LOST] * len(claims)
    first: dict[tuple[str, str], int] = {}
    for index, wanted in enumerate(claims):
        first.setdefault((wanted.cursor.tenant, wanted.cursor.job_id), index)
    unique = list(first.values())
    for begin in range(0, len(unique), BATCH):
        _batch(client, table, claims, unique[begin : begin + BATCH], results, shards, clock)
    return results


def _batch(
    client: Any,
    table: str,
    claims: Sequence[Claim],
    open_: list[int],
    results: list[ClaimResult],
    shards: int,
    clock: Clock,
) -> None:
    for attempt in range(1, TRIES + 1):
        answer = client.batch_execute_statement(Statements=[_statement(table, claims[i], shards) for i in open_])
        again: list[int] = []
        for index, response in zip(open_, answer["Responses"], strict=True):
            results[index] = _judge(response.get("Error"), claims[index])
            if results[index] is ClaimResult.FAILED and response["Error"]["Code"] in RETRYABLE:
                again.append(index)
        if not again:
            return
        open_ = again
        if attempt < TRIES:
            clock.sleep_until(clock.now() + 0.05 * 2**attempt)


def _judge(error: dict[str, Any] | None, claim: Claim) -> ClaimResult:
    if error is None:
        return ClaimResult.WON
    if error["Code"] not in ("ConditionalCheckFailed", "ConditionalCheckFailedException"):
        return ClaimResult.FAILED
    # Moved to where this claim wanted it: either its own answer was lost, or somebody made the very same claim.
    item = error.get("Item") or {}
    stands = item.get("occurrence", {}).get("N")
    generation = item.get("generation", {}).get("N")
    wanted = None if claim.moved.occurrence is None else str(claim.moved.occurrence)
    mine = bool(item) and stands == wanted and generation == str(claim.cursor.generation)
    return ClaimResult.WON if mine else ClaimResult.LOST


def _statement(table: str, claim: Claim, shards: int) -> dict[str, Any]:
    cursor, moved = claim.cursor, claim.moved
    values = {
        "slot": moved.slot(shards),
        "due": moved.due,
        "occurrence": moved.occurrence,
        "after": moved.after,
        "remaining": moved.remaining,
        "last": moved.last,
        "tzdata": moved.tzdata,
    }
    written = pack(values)
    # An exhausted cursor leaves the index; what was never there need not be removed.
    gone = [name for name in ("slot", "due", "occurrence") if name not in written]
    change = [f'SET "{name}" = ?' for name in written] + [f'REMOVE "{name}"' for name in gone]
    where = pack(
        {
            "PK": job_partition(cursor.tenant, cursor.job_id),
            "SK": CURSOR,
            "due": cursor.due,
            "generation": cursor.generation,
        }
    )
    conditions = " AND ".join(f'"{name}" = ?' for name in where)
    return {
        "Statement": f'UPDATE "{table}" {" ".join(change)} WHERE {conditions}',
        "Parameters": [*written.values(), *where.values()],
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
