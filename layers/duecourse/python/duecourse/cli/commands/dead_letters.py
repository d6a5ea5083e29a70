"""`duecourse dead-letters`: runs that used up their attempts."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from duecourse.cli.commands.listing import ChosenRuns, RunFilters, check_tag, output_option, print_page, run_filter
from duecourse.cli.commands.options import answer_options, confirm, connected, page_options, yes_option
from duecourse.cli.output.documents import RedrivenRuns, RunsToRedrive
from duecourse.cli.output.runs import print_dead_letters
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, Group, UsageError
from duecourse.cli.when import local_zone
from duecourse.client import Client

MAX_PER_CALL = 100
"""The maximum number of runs that one call redrives. They take the API some seconds."""

SAID_SECONDS = 10.0
"""How often the progress is printed without a terminal, in seconds."""

MAX_PAGES = 10
"""The maximum number of pages of dead runs that are counted for the prompt."""


@click.group("dead-letters", cls=Group, example="duecourse dead-letters list --job nightly")
def dead_letters() -> None:
    """List and redrive dead runs."""


@dead_letters.command("list", cls=Command, example="duecourse dead-letters list --since today --tag billing")
@run_filter("died")
@page_options("runs")
@output_option
@answer_options
def list_dead(
    limit: int, cursor: str | None, output: str, api: str | None, sign: bool | None, as_json: bool, **chosen: str | None
) -> None:
    """List dead runs, newest first."""
    filters = ChosenRuns(**chosen).filters()
    with connected(api, sign) as client:
        page = client.list_dead_runs(**filters, limit=limit, cursor=cursor)
    given = [(name.replace("job_id", "job"), text) for name, text in chosen.items() if text]
    print_page(
        page,
        as_json=as_json,
        output=output,
        name="id",
        table=lambda items: print_dead_letters(items, wide=output == "wide"),
        more=shlex.join(["duecourse", "dead-letters", "list", *(word for n, t in given for word in (f"--{n}", t))]),
    )


@dead_letters.command(cls=Command, example="duecourse dead-letters redrive --job nightly --since today --pace 5/s")
@run_filter("died")
@click.option("--limit", type=click.IntRange(1), help="The maximum number of runs.  [default: all]")
@click.option("--pace", metavar="N/s", help="The rate: N/s or N/m, to limit the load on the targets.")
@click.option("--dry-run", is_flag=True, help="Print the number of dead runs, without redriving them.")
@yes_option
@answer_options
def redrive(
    limit: int | None,
    pace: str | None,
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
    **chosen: str | None,
) -> None:
    """Redrive dead runs: start them again with a new set of attempts."""
    asked, steps = ChosenRuns(**chosen), _Pace.read(pace)
    filters = asked.filters()
    with connected(api, sign) as client:
        count = _count(client, filters) if not yes or pace or limit or dry_run else ""
        if dry_run:
            if not count:
                check_tag(client, asked.tag)
            _print_count(count, as_json)
            return
        if count and not yes:
            confirm(_question(count, asked, limit))
        done = _redriven(client, filters, limit, steps, _total(count, limit))
        if not done["redriven"] and not done["refused"]:
            check_tag(client, asked.tag)
    if as_json:
        print_json(done)
        return
    refused = f", {done['refused']} could not be redriven" if done["refused"] else ""
    click.echo(f"{done['redriven']} redriven{refused}" + (f"; {_more(count, done)}" if done["more"] else ""))


def _more(count: str, done: RedrivenRuns) -> str:
    """Return the number of dead runs that are left, if they were counted before."""
    left = int(count) - done["redriven"] - done["refused"] if count.isdigit() else 0
    return f"{left} more dead run{'s are' if left != 1 else ' is'} left" if left > 0 else "there are more dead runs"


@dataclass(frozen=True, slots=True)
class _Pace:
    """At most `runs` in one call, and `seconds` between the starts of two calls."""

    runs: int = MAX_PER_CALL
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str | None) -> _Pace:
        """Parse a rate such as `5/s` or `30/m`. Raises UsageError."""
        if text is None:
            return cls()
        number, _, unit = text.partition("/")
        length = {"s": 1.0, "m": 60.0}.get(unit)
        if not (number.isascii() and number.isdigit() and length and 1 <= int(number) <= 1000):
            raise UsageError(
                f"--pace: {text!r} is not a rate; write one such as 5/s or 30/m, with a number from 1 to 1000"
            )
        a_second = int(number) / length
        runs = max(1, min(MAX_PER_CALL, int(a_second)))
        return cls(runs, runs / a_second)


def _total(count: str, limit: int | None) -> int | None:
    """Return the number of runs to redrive, or None if it is not known."""
    return min(int(count), limit or int(count)) if count.isdigit() else limit


def _left(done: int, total: int | None, pace: _Pace) -> str:
    """Return the progress at this pace: `15 of 100 runs, ends at about 19:05:10 CET`."""
    if total is None:
        return f"{done} runs"
    calls = max(0, -(-(total - done) // pace.runs) - 1)
    ends = datetime.now(local_zone()) + timedelta(seconds=calls * pace.seconds)
    return f"{done} of {total} runs, ends at about {ends:%H:%M:%S %Z}"


def _redriven(client: Client, filters: RunFilters, limit: int | None, pace: _Pace, total: int | None) -> RedrivenRuns:
    """Redrive the runs in several calls and return the sums. `total` is their expected number. Each call continues
    after the previous one, because a run remains in the list until its worker has started it again.
    """
    redriven = refused = 0
    cursor = None
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
    console = Console(stderr=True)
    shown_at = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not pace.seconds) as progress:
        shown = progress.add_task("redriving", total=total, said=_left(0, total, pace))
        while True:
            begin = time.monotonic()
            left = pace.runs if limit is None else min(limit - redriven - refused, pace.runs)
            done = client.redrive_dead_runs(**filters, limit=left, cursor=cursor)
            redriven, refused, cursor = redriven + done.redriven, refused + done.refused, done.next_cursor
            sent = redriven + refused
            progress.update(shown, completed=sent, said=_left(sent, total, pace))
            if cursor is None or (limit is not None and redriven + refused >= limit):
                return {"redriven": redriven, "refused": refused, "more": bool(done.more)}
            if not console.is_terminal and time.monotonic() >= shown_at + SAID_SECONDS:
                shown_at = time.monotonic()
                click.echo(_left(sent, total, pace), err=True)
            time.sleep(max(0.0, begin + pace.seconds - time.monotonic()))


def _count(client: Client, filters: RunFilters) -> str:
    """Return the number of the runs, or a lower bound if there are many. Empty if there are none."""
    count, cursor = 0, None
    for _ in range(MAX_PAGES):
        page = client.list_dead_runs(**filters, limit=MAX_PER_CALL, cursor=cursor)
        count, cursor = count + len(page.items), page.next_cursor
        if cursor is None:
            return str(count or "")
    return f"at least {count}"


def _print_count(count: str, as_json: bool) -> None:
    if as_json:
        found = int(count.removeprefix("at least ") or 0)
        print_json(RunsToRedrive(would_redrive=found, more=count.startswith("at least")))
    else:
        click.echo(f"{count or 'no'} dead run{'' if count == '1' else 's'} would be redriven")


def _question(count: str, asked: ChosenRuns, limit: int | None) -> str:
    some = limit is not None and (not count.isdigit() or limit < int(count))
    return f"Redrive {f'{limit} of ' if some else ''}{count} dead run{'s' * (count != '1')} of {asked}?"
