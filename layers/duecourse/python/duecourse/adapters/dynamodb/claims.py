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
from duecourse.domain.schedule import TZDATA_VERSION
from duecourse.domain.sharding import shard_of, slot_of
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
    wanted = None if claim.occurrence is None else str(claim.occurrence)
    mine = bool(item) and stands == wanted and generation == str(claim.cursor.generation)
    return ClaimResult.WON if mine else ClaimResult.LOST


def _statement(table: str, claim: Claim, shards: int) -> dict[str, Any]:
    cursor = claim.cursor
    where = [
        {"S": job_partition(cursor.tenant, cursor.job_id)},
        {"S": CURSOR},
        {"N": str(cursor.due)},
        {"N": str(cursor.generation)},
    ]
    if claim.occurrence is None:
        last = claim.last if claim.last is not None else claim.cursor.last
        change = 'SET "last" = ? REMOVE "slot" REMOVE "due" REMOVE "occurrence"'
        parameters = [{"N": str(last or 0)}]
    else:
        due = claim.occurrence
        change = 'SET "slot" = ? SET "due" = ? SET "occurrence" = ? SET "tzdata" = ?'
        parameters = [
            {"S": slot_of(due, shard_of(cursor.tenant, cursor.job_id, shards))},
            {"N": str(due)},
            {"N": str(claim.occurrence)},
            {"S": TZDATA_VERSION},
        ]
    return {
        "Statement": f'UPDATE "{table}" {change} WHERE "PK" = ? AND "SK" = ? AND "due" = ? AND "generation" = ?',
        "Parameters": parameters + where,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
