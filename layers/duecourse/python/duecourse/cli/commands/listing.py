"""The common parts of all list commands: pages and their output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar

import click

from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import UsageError, plain, say
from duecourse.cli.when import instant_of, local_zone
from duecourse.client import Page
from duecourse.client.reading import Answer

A = TypeVar("A", bound=Answer)
F = TypeVar("F", bound=Callable[..., Any])

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "name"]),
    default="table",
    show_default=True,
    help="`wide`: all columns, and values are not truncated; `name`: only ids, one per line.",
)


wide_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide"]),
    default="table",
    show_default=True,
    help="`wide`: values are not truncated.",
)


def print_page(
    page: Page[A], *, as_json: bool, output: str, name: str, table: Callable[[Sequence[A]], None], more: str
) -> None:
    """Print a page in the requested format. A table is followed by the command for the next page (`more`, without the
    cursor).
    """
    if as_json:
        total = {} if page.total is None else {"total": asdict(page.total)}
        print_json({"items": [item.document for item in page.items], "next_cursor": page.next_cursor, **total})
        return
    if output == "name":
        for item in page.items:
            click.echo(plain(str(getattr(item, name))))
        return
    table(page.items)
    if page.total is not None:
        say(f"{page.total.matching:,} of {page.total.searched:,} jobs{'' if page.total.complete else ', and more'}")
    if page.next_cursor:
        say(f"more: {more} --cursor {page.next_cursor}")


def instant_option(option: str, text: str | None, zone: tzinfo | None = None) -> datetime | None:
    """Return the instant of an option. A time of day is in `zone`, or else in this machine's timezone. Raises
    UsageError.
    """
    if text is None:
        return None
    try:
        return instant_of(text, zone or local_zone(), datetime.now(UTC))
    except ValueError as error:
        raise UsageError(f"--{option}: {error}") from None
