"""`duecourse runs cancel`: one run, or many that a filter selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from duecourse.cli.commands.listing import ChosenRuns, RunFilters, check_tag, run_filter, unlisted
from duecourse.cli.commands.options import answer_options, confirm, connected, yes_option
from duecourse.cli.output.documents import CancelledRuns, RunsToCancel
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, UsageError, say
from duecourse.client import Client

State = Literal["QUEUED", "RETRYING", "WAITING", "RUNNING"]
STATES: tuple[State, ...] = get_args(State)
"""The states of runs that can be cancelled. Waiting runs are cancelled before active ones, so that they do not start
because an active one has ended.
"""

MAX_PER_CALL = 100
"""The maximum number of runs that one call cancels. They take the API some seconds."""


@dataclass(slots=True)
class _Done:
    """The number of runs that were handled, and the number of runs that their queue rejected."""

    cancelled: int = 0
    refused: int = 0


@click.command("cancel", cls=Command, example="duecourse runs cancel --job nightly --state QUEUED --dry-run")
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="Only runs in this state; can be repeated."
)
@run_filter("entered their state")
@click.option("--dry-run", is_flag=True, help="Print the number of runs, without cancelling them.")
@yes_option
@answer_options
def cancel(
    run_id: str | None,
    states: tuple[State, ...],
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
    **chosen: str | None,
) -> None:
    """Cancel a run, or the unfinished runs that the options select.

    A run that has not started yet will not start. The worker of a running attempt receives the cancellation with its
    next heartbeat.
    """
    asked = ChosenRuns(**chosen)
    given = [*asked.options(), *(["--state"] if states else [])]
    if run_id is not None and (given or dry_run):
        raise UsageError(f"RUN cannot be combined with {(*given, '--dry-run')[0]}; remove one of them")
    if run_id is None and not given:
        raise UsageError("there is no run to cancel; name a RUN, or select runs with --job, --tag or --state")
    filters = asked.filters()
    wanted = [state for state in STATES if state in (states or STATES)]
    omitted = unlisted(wanted, filters["job_id"])
    with connected(api, sign) as client:
        if run_id is not None:
            run = client.cancel_run(run_id).run
            if as_json:
                print_json(run)
            else:
                say(f"{run.id} was {run.state}; its cancellation was requested")
            return
        counts = {} if yes and not dry_run else {state: _count(client, state, filters) for state in wanted}
        total = sum(counts.values())
        if counts and not total:
            check_tag(client, asked.tag)
        if dry_run:
            _print_counts(counts, omitted, as_json)
            return
        if not yes:
            if not total:
                _print_none(omitted)
                return
            confirm(f"Cancel {_named(counts)} of {asked}?")
        done = _cancelled(client, wanted, filters, None if yes else total)
        if not done.cancelled and not done.refused:
            check_tag(client, asked.tag)
    if as_json:
        print_json(CancelledRuns(cancelled=done.cancelled, refused=done.refused))
        return
    refused = f", {done.refused} could not be cancelled; repeat the command" if done.refused else ""
    say(f"the cancellation of {done.cancelled} run{'s' * (done.cancelled != 1)} was requested{refused}")
    if omitted is not None:
        click.echo(omitted, err=True)


def _count(client: Client, state: State, filters: RunFilters) -> int:
    """Return the number of runs in this state that the filters select."""
    count, cursor = 0, None
    while True:
        found = client.cancel_runs([state], **filters, limit=MAX_PER_CALL, cursor=cursor, dry_run=True)
        count, cursor = count + found.cancelled, found.next_cursor
        if cursor is None:
            return count


def _cancelled(client: Client, states: Sequence[State], filters: RunFilters, total: int | None) -> _Done:
    """Cancel the runs in several calls, state by state, and return the sums. `total` is their expected number. Each
    call continues after the previous one, because a run is listed until its worker has ended it.
    """
    done = _Done()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        shown = progress.add_task("cancelling", total=total)
        for state in states:
            cursor = None
            while True:
                result = client.cancel_runs([state], **filters, limit=MAX_PER_CALL, cursor=cursor)
                done.cancelled += result.cancelled
                done.refused += result.refused
                progress.update(shown, completed=done.cancelled + done.refused)
                cursor = result.next_cursor
                if cursor is None:
                    break
    return done


def _named(counts: dict[State, int]) -> str:
    named = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{named} run{'s' * (sum(counts.values()) != 1)}"


def _print_none(omitted: str | None) -> None:
    say("No runs match." if omitted is None else f"No listed runs match. {omitted}")


def _print_counts(counts: dict[State, int], omitted: str | None, as_json: bool) -> None:
    if as_json:
        print_json(RunsToCancel(would_cancel={str(state): count for state, count in counts.items()}))
    elif any(counts.values()):
        say(f"{_named(counts)} would be cancelled")
        if omitted is not None:
            click.echo(omitted, err=True)
    else:
        _print_none(omitted)
