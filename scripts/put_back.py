"""Puts the items of a restored table back into the table that the stage works with (docs/upgrading.md#restoring).

    .venv/bin/python -m scripts.put_back RESTORED TABLE [--tenant TENANT] [--delete-others]

DynamoDB restores into a new table. Its items are copied over those of the stage's own, which so keeps its name, its
stream and its alarms. Nobody may write to that table meanwhile: stop the functions first.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse_cli.aws_session import own_session

BATCH = 25
"""Most items of one BatchWriteItem (Amazon DynamoDB API Reference, "BatchWriteItem")."""
TOLD_EVERY = 10_000
MIN_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.1, 20.0

Item = dict[str, Any]


def put_back(
    client: Any,
    restored: str,
    table: str,
    *,
    tenant: str | None = None,
    delete_others: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Copy every item; say what was done. `tenant` leaves everybody else's items as they are. With `delete_others` what
    the restored table does not have is deleted: it was written after the moment that was restored. `progress` is told
    how far it is every TOLD_EVERY items. Raises ValueError for a table that is to be put back into itself.
    """
    if restored == table:
        raise ValueError(f"{table} is named twice: name the restored table first, then the stage's own")
    into = Writer(client, table, sleep, progress)
    kept = {_key_of(item) for item in into.each("PutRequest", _items(client, restored, tenant))}
    deleted = 0
    if delete_others:
        others = (item for item in _items(client, table, tenant) if _key_of(item) not in kept)
        deleted = sum(1 for _ in into.each("DeleteRequest", others))
    return f"{len(kept)} items put back, {deleted} deleted"


def _items(client: Any, table: str, tenant: str | None) -> Iterator[Item]:
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from (item for item in page["Items"] if tenant is None or _belongs(item, tenant))


def _belongs(item: Item, tenant: str) -> bool:
    """`JOB#acme#nightly`, `TAG#acme#billing`, `TENANT#acme`; shards and the clock are nobody's."""
    kind, _, rest = item["PK"]["S"].partition("#")
    return kind in {"JOB", "TAG", "TENANT"} and rest.partition("#")[0] == tenant


def _key_of(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes a table in batches, as fast as it lets itself be written."""

    client: Any
    table: str
    sleep: Callable[[float], None]
    progress: Callable[[str], None]

    def each(self, request: str, items: Iterator[Item]) -> Iterator[Item]:
        """Write (`PutRequest`) or delete (`DeleteRequest`) each item, and give it back."""
        batch: list[Item] = []
        for number, item in enumerate(items, 1):
            batch.append(item)
            if len(batch) == BATCH:
                self._write(request, batch)
                yield from batch
                batch = []
            if number % TOLD_EVERY == 0:
                self.progress(f"{number:,} items {'put back' if request == 'PutRequest' else 'deleted'}")
        if batch:
            self._write(request, batch)
            yield from batch

    def _write(self, request: str, batch: list[Item]) -> None:
        """One batch; what is throttled out of it is sent again, ever more slowly."""
        left = [{request: {"Item": item} if request == "PutRequest" else {"Key": _whole_key(item)}} for item in batch]
        wait = MIN_WAIT_SECONDS
        while left:
            answer = self.client.batch_write_item(RequestItems={self.table: left})
            left = answer.get("UnprocessedItems", {}).get(self.table, [])
            if left:
                self.sleep(wait)
                wait = min(2 * wait, MAX_WAIT_SECONDS)


def _whole_key(item: Item) -> Item:
    return {name: item[name] for name in ("PK", "SK")}


def _tell(said: str) -> None:
    sys.stderr.write(f"{said}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 when it could not be done. It can be repeated: an item that is there already is written again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("restored", help="the table that DynamoDB restored into")
    parser.add_argument("table", help="the stage's own table")
    parser.add_argument("--tenant", help="only this tenant's items")
    parser.add_argument("--delete-others", action="store_true", help="delete what the restored table does not have")
    given = parser.parse_args(arguments)
    try:
        done = put_back(
            own_session().create_client("dynamodb"),
            given.restored,
            given.table,
            tenant=given.tenant,
            delete_others=given.delete_others,
            progress=_tell,
        )
    except (BotoCoreError, ClientError, ValueError) as problem:
        sys.stderr.write(f"put_back: {problem}\n(of {given.restored} into {given.table}; it can be repeated)\n")
        return 1
    sys.stdout.write(f"{done}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
