"""`duecourse runs`: list, show, logs, tail, cancel, redrive, discard and rerun."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Literal, get_args

import click
from rich.console import Console

from duecourse.cli.commands.dead_letters import handle_many, many_options, note_option
from duecourse.cli.commands.listing import ChosenRuns, instant_option, print_page, run_filter, unlisted
from duecourse.cli.commands.options import (
    connected,
    list_options,
    named_options,
    page_options,
    yes_option,
)
from duecourse.cli.commands.runs_cancel import cancel, each_run, requested
from duecourse.cli.commands.runs_logs import logs
from duecourse.cli.commands.runs_reschedule import reschedule
from duecourse.cli.commands.runs_tail import tail
from duecourse.cli.commands.watch import job_of, watch
from duecourse.cli.due_runs import MAX_PER_PAGE, due_runs, last_due_run
from duecourse.cli.output.documents import RunGroups, ShownRun
from duecourse.cli.output.runs import (
    discard_text,
    print_ahead,
    print_found_runs,
    print_run,
    print_run_groups,
    run_groups,
)
from duecourse.cli.output.values import print_json
from duecourse.cli.run_watcher import State
from duecourse.cli.terminal import CliError, Command, Group, UsageError, plain, say
from duecourse.cli.when import moment, zone_of, zoned
from duecourse.client import ApiError, Client, Page
from duecourse.client.models import Run, RunPayload

FAILED: tuple[State, ...] = ("DEAD", "RETRYING")
ACTIVE: tuple[State, ...] = ("RUNNING", "WAITING", "QUEUED")

COUNTED = 1_000
"""The maximum number of runs that `--by` counts, in ten requests or more."""


@click.group(cls=Group, example="duecourse runs list --failed --since today")
def runs() -> None:
    """List, show, follow, cancel, redrive and discard runs."""


@runs.command("list", cls=Command, example="duecourse runs list --failed --since today --tag billing")
@click.argument("job_id", metavar="[JOB]", required=False)
@click.option("--failed", is_flag=True, help="Dead and failing runs: --state DEAD --state RETRYING.")
@click.option("--active", is_flag=True, help="Runs in progress: --state RUNNING --state WAITING --state QUEUED.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(get_args(State)),
    help="Only runs in this state; can be repeated.",
)
@click.option(
    "--since", metavar="TIME", help="Only runs at or after this time: today, 3h, 02:30, 2026-11-21, ISO-8601."
)
@click.option("--until", metavar="TIME", help="Only runs before this time.")
@click.option("--tag", help="Only runs of jobs with this tag.")
@click.option("--error", metavar="TEXT", help="Only runs with this text in the error.")
@click.option(
    "--caught-up",
    is_flag=True,
    help="Only catch-up runs (after an outage or a resume), with the occurrences that they cover.",
)
@click.option("--discarded", is_flag=True, help="Only discarded runs. By default, they are excluded.")
@click.option("--worker", metavar="NAME", help="Only runs for which this pull worker reported.")
@click.option(
    "--by", type=click.Choice(["job", "error"]), help=f"Count the newest runs, up to {COUNTED:,}, by job or by error."
)
@page_options("runs")
@list_options
def list_runs(
    job_id: str | None,
    failed: bool,
    active: bool,
    states: tuple[State, ...],
    since: str | None,
    until: str | None,
    tag: str | None,
    error: str | None,
    caught_up: bool,
    discarded: bool,
    worker: str | None,
    by: Literal["job", "error"] | None,
    limit: int,
    cursor: str | None,
    output: str,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """List the runs of a job, or of all jobs, newest first.

    Without JOB, the run whose state changed last is first. Enqueued runs of JOB are summarized in one line, unless
    --state selects them. Without JOB, the list has only those runs in progress that wait, or whose call has lasted
    longer than ten seconds. With --state QUEUED, the delayed runs follow them, the next one first.
    """
    wanted = tuple(dict.fromkeys((*states, *(FAILED if failed else ()), *(ACTIVE if active else ()))))
    first, end = instant_option("since", since), instant_option("until", until)

    def read(size: int, at: str | None) -> Page[Run]:
        sifted = caught_up or discarded or any((since, until, tag, error, worker))
        if job_id is not None and not wanted and not sifted:
            return client.list_runs(job_id, limit=size, cursor=at)
        selected = wanted or (None if job_id is None or discarded else get_args(State))
        return client.find_runs(
            job=job_id,
            state=selected,
            since=first,
            until=end,
            tag=tag,
            error=error,
            caught_up=caught_up or None,
            discarded=discarded or None,
            worker=worker,
            limit=size,
            cursor=at,
        )

    ahead: Sequence[Run] = ()
    with connected(api, sign) as client:
        if by is not None:
            newest = list(islice(read(MAX_PER_PAGE, cursor), COUNTED + 1))
            _print_groups(newest, by, wide=output == "wide", as_json=as_json)
            return
        if job_id is None or wanted or caught_up or discarded or as_json:
            page = read(limit, cursor)
        else:
            found = due_runs(read, limit=limit, cursor=cursor, now=datetime.now(UTC))
            page, ahead = Page(found.due, found.next_cursor), found.ahead

    omitted = unlisted(wanted, job_id)
    print_ahead(ahead, err=output == "name")
    print_page(
        page,
        "" if ahead else "runs" if omitted is None else "listed runs",
        as_json=as_json,
        output=output,
        name="id",
        table=lambda items: print_found_runs(items, wide=output == "wide", coverage=caught_up),
    )
    if omitted is not None:
        click.echo(omitted, err=True)
    if failed and page.items and not as_json and output == "table" and Console().is_terminal:
        click.echo("details: duecourse runs show RUN, or JOB for its last run", err=True)


def _print_groups(runs: Sequence[Run], by: Literal["job", "error"], *, wide: bool, as_json: bool) -> None:
    groups, complete = run_groups(runs[:COUNTED], by), len(runs) <= COUNTED
    if as_json:
        print_json(RunGroups(items=groups, complete=complete))
        return
    print_run_groups(groups, by, wide=wide)
    if not complete:
        say(f"Only the newest {COUNTED:,} runs were counted; use --since and --until for others.")


@runs.command(cls=Command, example="duecourse runs show nightly.20261121T030000Z --json")
@click.argument("run_id", metavar="RUN|JOB")
@named_options
def show(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show a run with its attempts and its result, or the address of a large result. For a job, show its last run."""
    with connected(api, sign) as client:
        name, job_id = run_id if "." in run_id else _last(client, run_id), run_id.partition(".")[0]
        found, sent = client.get_run(name), _sent(client, name)
        job = None if as_json else job_of(client, job_id)
        zone = UTC if job is None else zone_of(job.timezone)
        skipped = found.state == "SKIPPED" and not as_json
        why = client.explain_job(job_id, at=found.occurrence).sentence if skipped else None
    if as_json:
        print_json(found, None if sent is None else ShownRun(payload=sent.payload))
    else:
        print_run(
            found,
            sent=sent,
            zone=zone,
            now=datetime.now(UTC),
            target=None if job is None else job.target,
            why=why and zoned(why, zone),
        )
        if why:
            click.echo()
            say(f"duecourse explain {job_id} --at {moment(found.occurrence).replace(' ', 'T')}")
        if found.workflow == job_id or (job is not None and job.target.get("type") == "workflow"):
            click.echo()
            say(f"its steps: duecourse workflows show {found.id}")


def _last(client: Client, job_id: str) -> str:
    """Return the id of the job's last run that is due. Raises CliError if there is none."""
    last = last_due_run(client, job_id, datetime.now(UTC))
    if last is None:
        remedy = f"see its next occurrences with duecourse jobs get {job_id}"
        raise CliError(plain(f"no run of {job_id} is due yet; {remedy}"))
    return last.id


def _sent(client: Client, run_id: str) -> RunPayload | None:
    """Return the payload of a run; None if it is not known because the job was deleted."""
    try:
        return client.get_run_payload(run_id)
    except ApiError as error:
        if error.status in (404, 409):
            return None
        raise


@runs.command(cls=Command, example="duecourse runs redrive nightly.20261121T030000Z")
@click.argument("names", metavar="[RUN|JOB]...", nargs=-1)
@click.option(
    "--state", type=click.Choice(["DEAD"], case_sensitive=False), help="All dead runs that the other options select."
)
@run_filter("died")
@many_options("redrive")
@yes_option
@named_options
def redrive(
    names: tuple[str, ...],
    state: str | None,
    limit: int | None,
    pace: str | None,
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
    **chosen: str | None,
) -> None:
    """Redrive dead runs: start them again with a new set of attempts. For a job, redrive the run that died last.

    The options select many dead runs, as those of duecourse dead-letters redrive.
    """
    asked = ChosenRuns(**chosen)
    given = [*asked.options(), *(["--state"] if state else [])]
    if names and (given or limit or pace or dry_run):
        raise UsageError(
            f"RUN cannot be combined with {(*given, '--limit, --pace or --dry-run')[0]}; remove one of them"
        )
    if not names and not given:
        raise UsageError("there is no run to redrive; name a RUN, or select dead runs with --job, --tag or --state")
    if not names:
        handle_many("redrive", asked, limit, pace, dry_run=dry_run, yes=yes, api=api, sign=sign, as_json=as_json)
        return
    with connected(api, sign) as client:
        run_ids = [name if "." in name else _died_last(client, name) for name in names]
        each_run(run_ids, lambda run_id: client.redrive_run(run_id).run, requested("its redrive"), as_json=as_json)


@runs.command(cls=Command, example="duecourse runs discard nightly.20261121T030000Z --note 'sent again'")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@note_option
@named_options
def discard(run_ids: tuple[str, ...], note: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Discard dead runs: they need no further attention, and are no longer listed.

    They stay dead, and can still be redriven. duecourse dead-letters discard selects many runs.
    """
    with connected(api, sign) as client:
        each_run(run_ids, lambda run_id: client.discard_run(run_id, note=note), _discarded, as_json=as_json)


def _discarded(run: Run) -> str:
    """Return the discard of a run as it is stored: an earlier one remains."""
    return f"{run.id} is discarded" if run.discarded is None else f"{run.id} is discarded {discard_text(run.discarded)}"


@runs.command(
    "mark-succeeded",
    cls=Command,
    example="duecourse runs mark-succeeded nightly.20261121T030000Z --reason 'the report arrived'",
)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", required=True, help="Why: at most 500 characters.")
@named_options
def mark_succeeded(run_ids: tuple[str, ...], reason: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Mark runs that wait for their callback as succeeded, for example if the callback was lost."""
    with connected(api, sign) as client:
        each_run(
            run_ids,
            lambda run_id: client.mark_run_succeeded(run_id, reason=reason).run,
            requested("its success"),
            as_json=as_json,
        )


def _died_last(client: Client, job_id: str) -> str:
    found = list(islice(client.list_dead_runs(job_id=job_id, limit=2), 2))
    if not found:
        raise CliError(plain(f"no run of {job_id} is dead; see duecourse runs list {job_id}"))
    if len(found) > 1:
        click.echo(plain(f"more runs of {job_id} are dead: duecourse dead-letters redrive --job {job_id}"), err=True)
    return found[0].id


@runs.command(cls=Command, example="duecourse runs rerun nightly.20261121T020000Z --from load-eu")
@click.argument("run_id", metavar="RUN")
@click.option(
    "--from", "jobs", metavar="JOB", multiple=True, required=True, help="A step to start with; can be repeated."
)
@click.option("--key", help="An idempotency key: a repeated request with the same key returns the same run.")
@named_options
def rerun(
    run_id: str, jobs: tuple[str, ...], key: str | None, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Rerun some steps of a workflow's run, and all steps after them.

    The other steps keep their outcomes and results. The original run does not change.
    """
    with connected(api, sign) as client:
        made = client.rerun(run_id, jobs, idempotency_key=key)
    if as_json:
        print_json(made)
    else:
        say(f"{made.id} is {made.state}; follow it: duecourse runs watch {made.id}")


runs.add_command(cancel)
runs.add_command(reschedule)
runs.add_command(logs)
runs.add_command(tail)
runs.add_command(watch)
