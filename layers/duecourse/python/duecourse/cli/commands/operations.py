"""`duecourse operations`: redrives, discards and cancellations of many runs."""

from __future__ import annotations

import time
from collections.abc import Mapping

import click
from rich.progress import BarColumn, TextColumn

from duecourse.cli.commands.options import connected, named_options
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import coloured, print_fields, print_json
from duecourse.cli.progress import bar
from duecourse.cli.terminal import CliError, Command, Group, InterruptedCliError, plain, say
from duecourse.cli.when import local_zone, moment
from duecourse.client import Client
from duecourse.client.models import Operation

POLL_SECONDS = 1.0

SAID_SECONDS = 10.0
"""How often the progress is printed without a terminal, in seconds."""


@click.group(cls=Group, example="duecourse operations list")
def operations() -> None:
    """List, follow and cancel redrives, discards and cancellations of many runs."""


@operations.command("list", cls=Command, example="duecourse operations list")
@named_options
def list_operations(api: str | None, sign: bool | None, as_json: bool) -> None:
    """List the running operations and about 20 ended ones of the last two days, newest first."""
    with connected(api, sign) as client:
        found = client.list_operations()
    if as_json:
        print_json(found)
    elif found.items:
        rows = [
            (each.id, each.kind, coloured(each.state), str(each.done), each.created_at, chosen_by(each))
            for each in found.items
        ]
        print_table(("operation", "kind", "state", "done", "created", "runs"), rows)
    else:
        say("No operations were created in the last two days.")


@operations.command(cls=Command, example="duecourse operations show op-q7pVnCk2Xw8sLr4e")
@click.argument("operation_id", metavar="OPERATION")
@named_options
def show(operation_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show an operation with its progress."""
    with connected(api, sign) as client:
        found = client.get_operation(operation_id)
    if as_json:
        print_json(found)
    else:
        print_fields(found.document)


@operations.command(cls=Command, example="duecourse operations watch op-q7pVnCk2Xw8sLr4e")
@click.argument("operation_id", metavar="OPERATION")
@named_options
def watch(operation_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Follow an operation until it ends. Ctrl-C stops the command (exit code 130); the operation continues."""
    with connected(api, sign) as client:
        ended = followed(client, client.get_operation(operation_id))
    if as_json:
        print_json(ended)
    else:
        say(f"{ended.id} is {ended.state}: {counts_of(ended)}")
    check(ended)


@operations.command(cls=Command, example="duecourse operations cancel op-q7pVnCk2Xw8sLr4e")
@click.argument("operation_id", metavar="OPERATION")
@named_options
def cancel(operation_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Cancel an operation. Commands that were already sent to runs remain in effect."""
    with connected(api, sign) as client:
        found = client.cancel_operation(operation_id)
    if as_json:
        print_json(found)
    else:
        say(f"{found.id} is {found.state}: {counts_of(found)}")


def chosen_by(operation: Operation) -> str:
    """Return the filter of an operation in words."""
    where = operation.filter
    said = (("tagged", where.tag), ("since", where.since), ("until", where.until), ("with the error", where.error))
    parts = [f"{word} {_text(value)}" for word, value in said if value is not None]
    return " ".join([",".join(where.state), "of", where.job_id or "all jobs", *parts])


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{value:%Y-%m-%d %H:%M:%SZ}"


def unsent(operation: Operation) -> int:
    """Return the number of runs of the filter to which no command was sent."""
    return operation.refused + sum(operation.skipped.values())


def reasons(skipped: Mapping[str, int], refused: int = 0) -> str:
    """Return why no command was sent to some runs, with their numbers. Empty if there are no such runs."""
    counts = {**skipped, "refused": refused}
    return ", ".join(f"{count} {why.replace('_', ' ')}" for why, count in counts.items() if count)


def exceptions(done: str, skipped: Mapping[str, int], refused: int = 0) -> str:
    """Return the part of a sentence about the runs that could not be `done`. Empty if there are none."""
    why = reasons(skipped, refused)
    return f", {sum(skipped.values()) + refused} could not be {done} ({why})" if why else ""


def counts_of(operation: Operation) -> str:
    """Return the counts of an operation in words."""
    why = reasons(operation.skipped, operation.refused)
    return f"{operation.done} done" + (f", {why}" if why else "")


def followed(client: Client, operation: Operation) -> Operation:
    """Return the operation when it has ended. Show its progress: a bar on a terminal, otherwise a line from time to
    time. Raises InterruptedCliError after Ctrl-C.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
    said_at = time.monotonic()
    try:
        with bar(*columns) as progress:
            shown = progress.add_task(operation.kind, total=operation.expected, said=_progress(operation))
            while operation.state == "RUNNING":
                time.sleep(POLL_SECONDS)
                operation = client.get_operation(operation.id)
                completed = operation.done + unsent(operation)
                progress.update(shown, completed=completed, said=_progress(operation))
                if progress.disable and time.monotonic() >= said_at + SAID_SECONDS:
                    said_at = time.monotonic()
                    click.echo(_progress(operation), err=True)
    except KeyboardInterrupt:
        name = operation.id
        raise InterruptedCliError(
            plain(
                f"{name} continues; follow it with duecourse operations watch {name}, or cancel it with duecourse "
                f"operations cancel {name}"
            )
        ) from None
    return operation


def check(operation: Operation) -> None:
    """Raise CliError if the operation has not succeeded."""
    if operation.state == "SUCCEEDED":
        return
    why = f": {operation.reason}" if operation.reason else ""
    raise CliError(plain(f"the operation {operation.id} is {operation.state} after {operation.done} runs{why}"))


def _progress(operation: Operation) -> str:
    handled, total = operation.done + unsent(operation), operation.expected
    count = f"{handled} runs" if total is None else f"{handled} of {total} runs"
    if operation.searched_to is None:
        return count
    return f"{count}, back to {moment(operation.searched_to, local_zone())}"
