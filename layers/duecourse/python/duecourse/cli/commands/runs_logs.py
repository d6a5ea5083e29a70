"""`duecourse runs logs`: print the log of a run, and follow it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress

import click

from duecourse.cli.commands.options import connected, named_options
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, escaped, form, plain
from duecourse.client import ApiError, ApiUnreachableError, Client
from duecourse.client.models import LogText, RunLog

TOO_MANY, BUSY_STATUS = 429, 500
"""A request of `--follow` is repeated after TOO_MANY, and from BUSY_STATUS on."""


@click.command(cls=Command, example="duecourse runs logs nightly.20261121T030000Z --follow")
@click.argument("run_id", metavar="RUN")
@click.option("--follow", "-f", is_flag=True, help="Print new lines until the run has ended.")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Only the log of this attempt.")
@click.option(
    "--every", type=click.FloatRange(0.2, 60), default=2.0, show_default=True, help="Seconds between requests."
)
@named_options
def logs(
    run_id: str, follow: bool, attempt: int | None, every: float, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Print the log of a run: what its worker reported, and the end of the log of a Lambda function.

    Control characters are replaced. With --json each line is a part of the log; with -o yaml, each document.
    """
    printer = _Printer(several=attempt is None)
    with connected(api, sign) as client, suppress(KeyboardInterrupt):  # Ctrl-C ends the command
        page = None
        try:
            for page in _pages(client, run_id, attempt, every if follow else None):
                for text in page.texts:
                    _print_document(text) if as_json else printer.add(text)
        finally:
            printer.end()
        if page is not None and page.open and not follow:
            click.echo(plain(f"the log may grow; follow it: duecourse runs logs {run_id} --follow"), err=True)
        elif page is not None and page.after is None:
            click.echo("no log is stored; the how-to page read-a-log shows how to write one", err=True)


def _pages(client: Client, run_id: str, attempt: int | None, every: float | None) -> Iterator[RunLog]:
    """Yield the pages of a log. With `every` (seconds), continue until no further lines can follow."""
    after, known = None, False
    while True:
        wait = every or 0.0
        try:
            page = client.get_run_log(run_id, attempt=attempt, after=after)
        except (ApiError, ApiUnreachableError) as error:
            passing = not isinstance(error, ApiError) or error.status == TOO_MANY or error.status >= BUSY_STATUS
            if every is None or not known or not passing:
                raise
            if isinstance(error, ApiError):
                wait = max(wait, error.retry_after or 0.0)
            click.echo(plain(f"{run_id}: {error}"), err=True)
        else:
            known = True
            yield page
            after = page.after
            if page.more:
                continue
            if every is None or not page.open:
                return
        time.sleep(wait)


def _print_document(text: LogText) -> None:
    if form() == "json":
        click.echo(escaped(json.dumps(text.document)))
        return
    if form() == "yaml":
        click.echo("---")
    print_json(text)


class _Printer:
    """Prints complete lines. The number of an attempt is printed to standard error."""

    def __init__(self, *, several: bool) -> None:
        self._several = several
        self._attempt = 0
        self._source: str | None = None
        self._begun = ""

    def add(self, text: LogText) -> None:
        """Print the lines that end in this part of the log."""
        if (text.attempt, text.source) != (self._attempt, self._source):
            self.end()
            if self._several and text.attempt != self._attempt:
                click.echo(f"attempt {text.attempt}:", err=True)
            self._attempt, self._source = text.attempt, text.source
        *lines, self._begun = (self._begun + text.text).replace("\r\n", "\n").split("\n")
        for line in lines:
            click.echo(plain(line))

    def end(self) -> None:
        """Print a line without an end."""
        if self._begun:
            click.echo(plain(self._begun))
        self._begun = ""
