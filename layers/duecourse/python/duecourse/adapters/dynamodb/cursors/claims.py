"""Claims: a cursor moves on where it stands exactly as it was read. What the statements promise: `writing`.

A claim without an answer may have been made: its cursor is read back, and the claim is WON where it stands as wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.dynamodb.keys import CURSOR, Item, job_key, job_partition
from duecourse.adapters.dynamodb.runs.run_item import put_new
from duecourse.adapters.dynamodb.values import pack
from duecourse.adapters.dynamodb.writing import CONDITION_FAILED, Outcome, Statement, execute, transact
from duecourse.ports import Claim, Claimed, ClaimResult, Clock, Executor, StoreBusyError

READ_BATCH = 100
"""Keys of one BatchGetItem, at most (Amazon DynamoDB API Reference)."""

_LOST = Claimed(ClaimResult.LOST)
_CONDITIONS = ("PK", "SK", "due", "generation")


@dataclass(frozen=True, slots=True)
class Claims:
    """Makes claims on the cursors in the table `jobs`; records are written into the table `runs`."""

    client: Any
    jobs: str
    runs: str
    clock: Clock
    executor: Executor

    def make(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        """Make each; the results in the order of the claims. A cursor named twice is claimed once, the rest is LOST.
        Those that write a cursor alone go together; each of the others is a transaction.
        """
        first: dict[tuple[str, str], int] = {}
        for index, wanted in enumerate(claims):
            first.setdefault((wanted.cursor.tenant, wanted.cursor.job_id), index)
        now = self.clock.now()
        alone = [index for index in first.values() if not claims[index].records]
        statements = [_statement(self.jobs, claims[index], shards, now) for index in alone]
        outcomes = dict(zip(alone, execute(self.client, statements, self.clock, self.executor), strict=True))
        with_records = [index for index in first.values() if claims[index].records]
        made = self.executor.map(lambda index: self._transact(claims[index], shards, now), with_records)
        outcomes |= zip(with_records, made, strict=True)
        standing = self._read_back([claims[index] for index, outcome in outcomes.items() if _is_unknown(outcome)])
        results = [_LOST] * len(claims)
        for index, outcome in outcomes.items():
            wanted = claims[index]
            found = outcome.found or standing.get(job_partition(wanted.cursor.tenant, wanted.cursor.job_id))
            stands = outcome.code is not None and found is not None and _stands(found, wanted)
            results[index] = Claimed(ClaimResult.WON, throttled=outcome.throttled) if stands else outcome.claimed()
        return results

    def _transact(self, claim: Claim, shards: int, now: float) -> Outcome:
        """One claim and its records, or nothing."""
        writes = [_update(self.jobs, claim, shards, now), *(put_new(run, self.runs) for run in claim.records)]
        try:
            failed = transact(self.client, writes, self.clock)
        except StoreBusyError as busy:
            return Outcome("TransactionConflict", str(busy))
        except ClientError as problem:
            return Outcome(problem.response["Error"]["Code"], str(problem))
        except BotoCoreError as problem:
            return Outcome(type(problem).__name__, str(problem))
        return Outcome("ConditionalCheckFailed" if failed else None)

    def _read_back(self, claims: Sequence[Claim]) -> dict[str, Item]:
        """The cursors of claims as they stand now, by partition key; without those that cannot be read."""
        found: dict[str, Item] = {}
        for begin in range(0, len(claims), READ_BATCH):
            some = claims[begin : begin + READ_BATCH]
            keys = [job_key(each.cursor.tenant, each.cursor.job_id, CURSOR) for each in some]
            try:
                answer = self.client.batch_get_item(RequestItems={self.jobs: {"Keys": keys, "ConsistentRead": True}})
            except (BotoCoreError, ClientError):
                continue  # the claims stay as their outcomes say
            found |= {item["PK"]["S"]: item for item in answer["Responses"].get(self.jobs, ())}
        return found


def _is_unknown(outcome: Outcome) -> bool:
    """Whether the outcome does not say if the claim was made: no answer, or a failed condition without the item."""
    if outcome.code in CONDITION_FAILED:
        return not outcome.found
    return outcome.claimed().result is ClaimResult.FAILED


def _stands(found: Item, claim: Claim) -> bool:
    """Whether the cursor stands as the claim wanted: the claim's answer was lost, or somebody made the very same."""
    wanted = {"occurrence": claim.moved.occurrence, "due": claim.moved.due, "generation": claim.cursor.generation}
    return all(
        found.get(name, {}).get("N") == (None if value is None else str(value)) for name, value in wanted.items()
    )


def _written(claim: Claim, shards: int, now: float) -> Item:
    moved = claim.moved
    return pack(
        {
            "slot": moved.slot(shards, now=now),
            "due": moved.due,
            "occurrence": moved.occurrence,
            "after": moved.after,
            "remaining": moved.remaining,
            "last": moved.last,
            "tzdata": moved.tzdata,
            "ending": True if moved.ending else None,
        }
    )


def _removed(claim: Claim, written: Item) -> tuple[str, ...]:
    """An exhausted cursor leaves the index; what was never there need not be removed."""
    could_stand = ("slot", "due", "occurrence") + (("ending",) if claim.cursor.ending else ())
    return tuple(name for name in could_stand if name not in written)


def _statement(table: str, claim: Claim, shards: int, now: float) -> Statement:
    cursor, written = claim.cursor, _written(claim, shards, now)
    return {
        "Statement": _text(table, tuple(written), _removed(claim, written)),
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
def _text(table: str, written: tuple[str, ...], removed: tuple[str, ...]) -> str:
    """A quarantined cursor keeps its due time; whoever had read it before must not put it back into the index."""
    change = [f'SET "{name}" = ?' for name in written] + [f'REMOVE "{name}"' for name in removed]
    conditions = " AND ".join(f'"{name}" = ?' for name in _CONDITIONS) + ' AND "error" IS MISSING'
    return f'UPDATE "{table}" {" ".join(change)} WHERE {conditions}'


def _update(table: str, claim: Claim, shards: int, now: float) -> dict[str, Any]:
    """The same as a part of a transaction."""
    cursor, written = claim.cursor, _written(claim, shards, now)
    removed = _removed(claim, written)
    standing = pack({":was_due": cursor.due, ":was_generation": cursor.generation})
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in written)
    update = {
        "TableName": table,
        "Key": job_key(cursor.tenant, cursor.job_id, CURSOR),
        "UpdateExpression": change + (" REMOVE " + ", ".join(f"#{name}" for name in removed) if removed else ""),
        "ConditionExpression": "#due = :was_due AND #generation = :was_generation AND attribute_not_exists(#error)",
        "ExpressionAttributeNames": {f"#{name}": name for name in {*written, *removed, "due", "generation", "error"}},
        "ExpressionAttributeValues": {f":{name}": value for name, value in written.items()} | standing,
    }
    return {"Update": update}
