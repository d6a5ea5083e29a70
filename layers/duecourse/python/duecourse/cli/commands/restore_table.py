"""`duecourse restore-table`: copy a restored DynamoDB table into the stage's own table (docs/upgrading.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import click

from duecourse.checks.tenants import tenant_of
from duecourse.cli.terminal import CliError, Command
from duecourse.client.aws_session import own_session

BATCH = 25
"""The maximum number of items of one BatchWriteItem (Amazon DynamoDB API Reference, "BatchWriteItem")."""
PROGRESS_ITEMS = 10_000
MIN_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.1, 20.0

Item = dict[str, Any]


@click.command(cls=Command, example="duecourse restore-table duecourse-restored Duecourse-prod-Jobs --delete-others")
@click.argument("restored")
@click.argument("table")
@click.option("--tenant", metavar="ID", help="Restore only the items of this tenant.")
@click.option("--delete-others", is_flag=True, help="Delete items that are missing from the restored table.")
def restore_table(restored: str, table: str, tenant: str | None, delete_others: bool) -> None:
    """Copy the items of RESTORED into TABLE, the table of a stage.

    DynamoDB restores into a new table. This command copies the items into the stage's own table, which keeps its name,
    its stream and its alarms. Stop the functions first, because no other process may write to that table during this
    time. The command can be repeated; existing items are then written again. It requires AWS credentials and a region.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client = own_session().create_client("dynamodb")
        progress = lambda text: click.echo(text, err=True)  # noqa: E731
        click.echo(restore(client, restored, table, tenant=tenant, delete_others=delete_others, progress=progress))
    except (BotoCoreError, ClientError, ValueError) as problem:
        raise CliError(f"{problem}\n(restoring {restored} into {table}; the command can be repeated)") from problem


def restore(
    client: Any,
    restored: str,
    table: str,
    *,
    tenant: str | None = None,
    delete_others: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Copy every item and return a summary. With `tenant`, only items of this tenant change. With `delete_others`,
    items that are missing from the restored table are deleted: they were written after the restored point in time.
    Raises ValueError if both tables are the same.
    """
    if restored == table:
        raise ValueError(f"{table} is given twice; pass the restored table first, then the table of the stage")

    def write(items: Iterator[Item], request: Callable[[Item], Item], done: str) -> Iterator[Item]:
        """Write items in batches and yield each."""
        written = 0
        while batch := list(islice(items, BATCH)):
            _write(client, table, list(map(request, batch)), sleep)
            yield from batch
            written += len(batch)
            if written % PROGRESS_ITEMS < len(batch):
                progress(f"{written // PROGRESS_ITEMS * PROGRESS_ITEMS:,} items {done}")

    copied = write(_items(client, restored, tenant), lambda item: {"PutRequest": {"Item": item}}, "restored")
    kept = {_name(item) for item in copied}
    deleted = 0
    if delete_others:
        others = (item for item in _items(client, table, tenant) if _name(item) not in kept)
        deleted = sum(1 for _ in write(others, lambda item: {"DeleteRequest": {"Key": _key(item)}}, "deleted"))
    return f"{len(kept)} items restored, {deleted} deleted"


def _items(client: Any, table: str, tenant: str | None) -> Iterator[Item]:
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from (item for item in page["Items"] if tenant is None or tenant_of(*_name(item)) == tenant)


def _key(item: Item) -> Item:
    return {name: item[name] for name in ("PK", "SK")}


def _name(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]


def _write(client: Any, table: str, requests: list[Item], sleep: Callable[[float], None]) -> None:
    """Write one batch. Throttled items are retried with increasing waits."""
    wait = MIN_WAIT_SECONDS
    while requests:
        answer = client.batch_write_item(RequestItems={table: requests})
        requests = answer.get("UnprocessedItems", {}).get(table, [])
        if requests:
            sleep(wait)
            wait = min(2 * wait, MAX_WAIT_SECONDS)
