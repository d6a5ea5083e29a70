"""`duecourse dead-letters`: runs that used up their attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar
from uuid import uuid4

import click

from duecourse.cli.commands.listing import ChosenRuns, check_tag, print_page, run_filter
from duecourse.cli.commands.operations import check, exceptions, followed
from duecourse.cli.commands.options import answer_options, confirm, connected, list_options, page_options, yes_option
from duecourse.cli.output.documents import DiscardedRuns, RedrivenRuns, RunsToDiscard, RunsToRedrive
from duecourse.cli.output.runs import print_dead_letters
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, Group, UsageError
from duecourse.client.models import OperationEstimate

F = TypeVar("F", bound=Callable[..., Any])


Kind = Literal["redrive", "discard"]
DONE: Mapping[Kind, str] = {"redrive": "redriven", "discard": "discarded"}

note_option = click.option("--note", metavar="TEXT", help="Why: at most 500 characters, shown with the runs.")


def many_options(kind: Kind) -> Callable[[F], F]:
    """Return a decorator that adds the options which limit an operation on many dead runs."""

    def add(command: F) -> F:
        for option in (
            click.option("--dry-run", is_flag=True, help="Print the number of dead runs, and change nothing."),
            click.option("--pace", metavar="N/s", help="The rate: N/s or N/m, to limit the load."),
            click.option("--limit", type=click.IntRange(1), help="The maximum number of runs.  [default: all]"),
        ):
            command = option(command)
        return note_option(command) if kind == "discard" else command

    return add


@click.group("dead-letters", cls=Group, example="duecourse dead-letters list --job nightly")
def dead_letters() -> None:
    """List, redrive and discard dead runs."""


@dead_letters.command("list", cls=Command, example="duecourse dead-letters list --since today --tag billing")
@run_filter("died")
@page_options("runs")
@list_options
def list_dead(
    limit: int, cursor: str | None, output: str, api: str | None, sign: bool | None, as_json: bool, **chosen: str | None
) -> None:
    """List dead runs, newest first."""
    filters = ChosenRuns(**chosen).filters()
    with connected(api, sign) as client:
        page = client.list_dead_runs(**filters, limit=limit, cursor=cursor)
    print_page(
        page,
        "dead runs",
        as_json=as_json,
        output=output,
        name="id",
        table=lambda items: print_dead_letters(items, wide=output == "wide"),
    )


@dead_letters.command(cls=Command, example="duecourse dead-letters redrive --job nightly --since today --pace 5/s")
@run_filter("died")
@many_options("redrive")
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
    """Redrive dead runs: start them again with a new set of attempts.

    The redrive is an operation, which continues if this command is stopped (duecourse operations list).
    """
    asked = ChosenRuns(**chosen)
    handle_many("redrive", asked, limit, pace, dry_run=dry_run, yes=yes, api=api, sign=sign, as_json=as_json)


@dead_letters.command(cls=Command, example="duecourse dead-letters discard --error 503 --note 'outage of the shop'")
@run_filter("died")
@many_options("discard")
@yes_option
@answer_options
def discard(
    note: str | None,
    limit: int | None,
    pace: str | None,
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
    **chosen: str | None,
) -> None:
    """Discard dead runs: they need no further attention, and are no longer listed.

    They stay dead, and can still be redriven (duecourse runs list --discarded). The discard is an operation, which
    continues if this command is stopped (duecourse operations list).
    """
    asked = ChosenRuns(**chosen)
    handle_many("discard", asked, limit, pace, note, dry_run=dry_run, yes=yes, api=api, sign=sign, as_json=as_json)


def handle_many(
    kind: Kind,
    asked: ChosenRuns,
    limit: int | None,
    pace: str | None,
    note: str | None = None,
    *,
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Redrive or discard the dead runs of a filter, and print the counts."""
    per_minute, filters = _per_minute(pace), asked.filters()
    with connected(api, sign) as client:
        counted = not yes or pace or limit or dry_run
        found = client.estimate_operation(kind, **filters) if counted else None
        if dry_run and found is not None:
            if not found.runs:
                check_tag(client, asked.tag)
            _print_count(kind, found, as_json)
            return
        if found is None or not found.runs:
            check_tag(client, asked.tag)
        if found is not None and not found.runs and not found.more:
            _print_done(kind, None, 0, found.skipped, more=False, as_json=as_json)
            return
        if found is not None and not yes:
            confirm(_question(kind, found, asked, limit))
        made = client.create_operation(
            kind,
            **filters,
            note=note,
            per_minute=per_minute,
            limit=limit,
            expected=_total(found, limit),
            idempotency_key=str(uuid4()),
        )
        ended = followed(client, made)
    handled = ended.done + ended.refused
    all_found = ended.state == "SUCCEEDED" and (limit is None or handled < limit)
    left = 0 if found is None or all_found else max(found.runs - handled, 0)
    uncounted = not all_found and (found is None or found.more)
    said = f"; {_more(left, uncounted)}" if limit else ""
    _print_done(
        kind,
        ended.id,
        ended.done,
        ended.skipped,
        ended.refused,
        more=uncounted or left > 0,
        as_json=as_json,
        said=said,
    )
    check(ended)


def _more(left: int, uncounted: bool) -> str:
    """Return the number of dead runs that are left. `uncounted`: there may be others."""
    if uncounted:
        return f"at least {left} more dead runs are left" if left else "there may be more dead runs"
    return f"{left} more dead run{'s are' if left != 1 else ' is'} left" if left else "no more dead runs are left"


def _per_minute(text: str | None) -> int | None:
    """Parse a rate such as `5/s` or `30/m` as a number per minute. Raises UsageError."""
    if text is None:
        return None
    number, _, unit = text.partition("/")
    times = {"s": 60, "m": 1}.get(unit)
    if not (number.isascii() and number.isdigit() and times and 1 <= int(number) <= 1000):
        raise UsageError(f"--pace: {text!r} is not a rate; write one such as 5/s or 30/m, with a number from 1 to 1000")
    return int(number) * times


def _total(found: OperationEstimate | None, limit: int | None) -> int | None:
    """Return the number of runs to handle, or None if it is not known."""
    if found is None or found.more:
        return limit
    return min(found.runs, limit or found.runs)


def _print_done(
    kind: Kind,
    operation: str | None,
    done: int,
    skipped: Mapping[str, int],
    refused: int = 0,
    *,
    more: bool,
    as_json: bool,
    said: str = "",
) -> None:
    by_reason, unsent = dict(skipped), sum(skipped.values()) + refused
    match kind:
        case _ if not as_json:
            click.echo(f"{done} {DONE[kind]}{exceptions(DONE[kind], skipped, refused)}{said}")
        case "redrive":
            print_json(RedrivenRuns(operation=operation, redriven=done, refused=unsent, skipped=by_reason, more=more))
        case "discard":
            print_json(DiscardedRuns(operation=operation, discarded=done, refused=unsent, skipped=by_reason, more=more))


def _print_count(kind: Kind, found: OperationEstimate, as_json: bool) -> None:
    skipped = dict(found.skipped)
    match kind:
        case _ if not as_json:
            runs = f"{_count(found) or 'no'} dead run{'' if found.runs == 1 else 's'}"
            click.echo(f"{runs} would be {DONE[kind]}{exceptions(DONE[kind], skipped)}")
        case "redrive":
            print_json(RunsToRedrive(would_redrive=found.runs, more=found.more, skipped=skipped))
        case "discard":
            print_json(RunsToDiscard(would_discard=found.runs, more=found.more, skipped=skipped))


def _count(found: OperationEstimate) -> str:
    """Return the number of the runs, or a lower bound if there are many. Empty if there are none."""
    return f"at least {found.runs}" if found.more else str(found.runs or "")


def _question(kind: Kind, found: OperationEstimate, asked: ChosenRuns, limit: int | None) -> str:
    some = f"{limit} of " if limit is not None and (found.more or limit < found.runs) else ""
    return f"{kind.capitalize()} {some}{_count(found)} dead run{'s' * (found.more or found.runs != 1)} of {asked}?"
