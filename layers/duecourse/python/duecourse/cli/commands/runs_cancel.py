"""`duecourse runs cancel`: one run, or many that a filter selects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, get_args
from uuid import uuid4

import click

from duecourse.cli.commands.listing import ChosenRuns, RunFilters, check_tag, run_filter, unlisted
from duecourse.cli.commands.operations import check, exceptions, followed, unsent
from duecourse.cli.commands.options import answer_options, confirm, connected, yes_option
from duecourse.cli.output.documents import CancelledRuns, Listed, RunsToCancel
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, UsageError, say
from duecourse.client import Client
from duecourse.client.models import OperationEstimate, Run

State = Literal["QUEUED", "RETRYING", "WAITING", "RUNNING"]
STATES: tuple[State, ...] = get_args(State)
"""The states of runs that can be cancelled. Waiting runs are cancelled before active ones, so that they do not start
because an active one has ended.
"""


@click.command("cancel", cls=Command, example="duecourse runs cancel --job nightly --state QUEUED --dry-run")
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="Only runs in this state; can be repeated."
)
@run_filter("entered their state")
@click.option("--dry-run", is_flag=True, help="Print the number of runs, without cancelling them.")
@yes_option
@answer_options
def cancel(
    run_ids: tuple[str, ...],
    states: tuple[State, ...],
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
    **chosen: str | None,
) -> None:
    """Cancel runs, or the unfinished runs that the options select.

    A run that has not started yet will not start. The worker of a running attempt receives the cancellation with its
    next heartbeat. The cancellation of many runs is an operation, which continues if this command is stopped (duecourse
    operations list).
    """
    asked = ChosenRuns(**chosen)
    given = [*asked.options(), *(["--state"] if states else [])]
    if run_ids and (given or dry_run):
        raise UsageError(f"RUN cannot be combined with {(*given, '--dry-run')[0]}; remove one of them")
    if not run_ids and not given:
        raise UsageError("there is no run to cancel; name a RUN, or select runs with --job, --tag or --state")
    filters = asked.filters()
    wanted = [state for state in STATES if state in (states or STATES)]
    omitted = unlisted(wanted, filters["job_id"])
    with connected(api, sign) as client:
        if run_ids:
            asked_of = requested("its cancellation")
            each_run(run_ids, lambda run_id: client.cancel_run(run_id).run, asked_of, as_json=as_json)
            return
        found = {} if yes and not dry_run else {state: _estimate(client, state, filters) for state in wanted}
        total = sum(each.runs for each in found.values())
        if not total:
            check_tag(client, asked.tag)
        if dry_run:
            _print_counts(found, omitted, as_json)
            return
        if not yes:
            if not total and not any(each.more for each in found.values()):
                _print_counts(found, omitted, as_json)
                return
            confirm(f"Cancel {_named(found)} of {asked}?")
        expected = total if not yes and not any(each.more for each in found.values()) else None
        made = client.create_operation(
            "cancel", **filters, state=wanted, expected=expected, idempotency_key=str(uuid4())
        )
        ended = followed(client, made)
    if as_json:
        print_json(
            CancelledRuns(operation=ended.id, cancelled=ended.done, refused=unsent(ended), skipped=dict(ended.skipped))
        )
    else:
        others = exceptions("cancelled", ended.skipped, ended.refused)
        repeat = "; repeat the command" if ended.refused else ""
        say(f"the cancellation of {ended.done} run{'s' * (ended.done != 1)} was requested{others}{repeat}")
        if omitted is not None:
            click.echo(omitted, err=True)
    check(ended)


def requested(what: str) -> Callable[[Run], str]:
    """Return the sentence about a run as it was when something was requested of it."""
    return lambda run: f"{run.id} was {run.state}; {what} was requested"


def each_run(
    run_ids: Iterable[str], act: Callable[[str], Run], sentence: Callable[[Run], str], *, as_json: bool
) -> None:
    """Do something with each run, and print a sentence about the response. The JSON of one run is its document, and of
    several runs a list.
    """
    done = list[Run]()
    for run_id in dict.fromkeys(run_ids):
        done.append(act(run_id))
        if not as_json:
            say(sentence(done[-1]))
    if as_json:
        listed = Listed(items=[run.document for run in done], next_cursor=None)
        print_json(done[0] if len(done) == 1 else listed)


def _estimate(client: Client, state: State, filters: RunFilters) -> OperationEstimate:
    """Return the number of runs in this state that the filters select."""
    return client.estimate_operation("cancel", **filters, state=[state])


def _named(found: Mapping[State, OperationEstimate]) -> str:
    named = ", ".join(
        f"{'at least ' if each.more else ''}{each.runs} {state}"
        for state, each in found.items()
        if each.runs or each.more
    )
    return f"{named or 'no'} run{'s' * (sum(each.runs for each in found.values()) != 1)}"


def _print_counts(found: Mapping[State, OperationEstimate], omitted: str | None, as_json: bool) -> None:
    skipped = Counter[str]()
    for each in found.values():
        skipped.update(each.skipped)
    more = any(each.more for each in found.values())
    if as_json:
        counts = {str(state): each.runs for state, each in found.items()}
        print_json(RunsToCancel(would_cancel=counts, more=more, skipped=dict(skipped)))
    elif more or skipped or any(each.runs for each in found.values()):
        say(f"{_named(found)} would be cancelled{exceptions('cancelled', skipped)}")
        if omitted is not None:
            click.echo(omitted, err=True)
    else:
        say("No runs match." if omitted is None else f"No listed runs match. {omitted}")
