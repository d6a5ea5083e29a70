"""`duecourse runs`: list, show, tail, cancel, redrive and rerun."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Literal, get_args

import click
from rich.console import Console

from duecourse.cli.commands.listing import instant_option, output_option, print_page, unlisted
from duecourse.cli.commands.options import answer_options, connected, page_options
from duecourse.cli.commands.runs_cancel import cancel
from duecourse.cli.commands.runs_tail import tail
from duecourse.cli.due_runs import due_runs, last_due_run
from duecourse.cli.newest_runs import SEARCHED_AT_ONCE, newest_runs
from duecourse.cli.output.documents import ShownRun
from duecourse.cli.output.runs import print_ahead, print_found_runs, print_run
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import CliError, Command, Group, plain, say
from duecourse.cli.when import moment, zone_of, zoned
from duecourse.client import ApiError, Client, Page
from duecourse.client.models import Job, Run, RunPayload

State = Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]
FAILED: tuple[State, ...] = ("DEAD", "RETRYING")
ACTIVE: tuple[State, ...] = ("RUNNING", "WAITING", "QUEUED")


@click.group(cls=Group, example="duecourse runs list --failed --since today")
def runs() -> None:
    """List, show, follow, cancel and redrive runs."""


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
@page_options("runs")
@output_option
@answer_options
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
    limit: int,
    cursor: str | None,
    output: str,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """List the runs of a job, newest first, or the unsuccessful runs of all jobs.

    Without JOB the list has the runs that are dead, retrying, cancelled or skipped; with JOB it has the runs in all
    states. With --state SUCCEEDED and without JOB, the runs of all jobs are searched, newest occurrence first.
    Enqueued runs of JOB are summarized in one line, unless --state selects them. Without JOB, --active lists runs that
    wait and runs whose call has lasted longer than ten seconds.
    """
    wanted = tuple(dict.fromkeys((*states, *(FAILED if failed else ()), *(ACTIVE if active else ()))))
    chosen = [("since", since), ("until", until), ("tag", tag), ("error", error)]
    first, end = instant_option("since", since), instant_option("until", until)

    def read(size: int, at: str | None) -> Page[Run]:
        if job_id is not None and not wanted and not caught_up and not any(text for _, text in chosen):
            return client.list_runs(job_id, limit=size, cursor=at)
        selected = wanted or (None if job_id is None else get_args(State))
        return client.find_runs(
            job=job_id,
            state=selected,
            since=first,
            until=end,
            tag=tag,
            error=error,
            caught_up=caught_up or None,
            limit=size,
            cursor=at,
        )

    ahead: Sequence[Run] = ()
    with connected(api, sign) as client:
        if job_id is None and "SUCCEEDED" in (wanted or ("SUCCEEDED",) * caught_up):
            page = newest_runs(read(max(limit, SEARCHED_AT_ONCE), cursor), limit)
        elif job_id is None or wanted or caught_up or as_json:
            page = read(limit, cursor)
        else:
            found = due_runs(read, limit=limit, cursor=cursor, now=datetime.now(UTC))
            page, ahead = Page(found.due, found.next_cursor), found.ahead

    def table(items: Sequence[Run]) -> None:
        if items:
            print_found_runs(items, wide=output == "wide", coverage=caught_up)
        elif not ahead:
            say(_none(page, complete=omitted is None))

    omitted = unlisted(wanted, job_id)
    print_ahead(ahead, err=output == "name")
    again = ["duecourse", "runs", "list", *filter(None, [job_id])]
    again += [word for state in wanted for word in ("--state", state)]
    again += [word for name, text in chosen if text for word in (f"--{name}", text)] + ["--caught-up"] * caught_up
    print_page(
        page,
        as_json=as_json,
        output=output,
        name="id",
        table=table,
        more=shlex.join(again),
    )
    if omitted is not None:
        click.echo(omitted, err=True)
    if failed and page.items and not as_json and output == "table" and Console().is_terminal:
        click.echo("details: duecourse runs show RUN, or JOB for its last run", err=True)


def _none(page: Page[Run], *, complete: bool) -> str:
    if page.next_cursor:
        return "No runs on this page match."
    return "No runs match." if complete else "No listed runs match."


def zone_of_job(client: Client, job_id: str) -> tzinfo:
    """Return the time zone of a job, or UTC if the job was deleted."""
    job = _job_of(client, job_id)
    return UTC if job is None else zone_of(job.timezone)


def _job_of(client: Client, job_id: str) -> Job | None:
    """Return a job, or None if it was deleted."""
    try:
        return client.get_job(job_id)
    except ApiError as error:
        if error.status == 404:
            return None
        raise


@runs.command(cls=Command, example="duecourse runs show nightly.20261121T030000Z --json")
@click.argument("run_id", metavar="RUN|JOB")
@answer_options
def show(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show a run with its attempts and its result, or the address of a large result. For a job, show its last run."""
    with connected(api, sign) as client:
        name, job_id = run_id if "." in run_id else _last(client, run_id), run_id.partition(".")[0]
        found, sent = client.get_run(name), _sent(client, name)
        job = None if as_json else _job_of(client, job_id)
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
        if found.workflow == job_id:
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
@click.argument("run_id", metavar="RUN")
@answer_options
def redrive(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Redrive a dead run: start it again with a new set of attempts."""
    with connected(api, sign) as client:
        asked = client.redrive_run(run_id)
    _told(asked.run, "it is redriven", as_json)


@runs.command(cls=Command, example="duecourse runs rerun nightly.20261121T020000Z --from load-eu")
@click.argument("run_id", metavar="RUN")
@click.option(
    "--from", "jobs", metavar="JOB", multiple=True, required=True, help="A step to start with; can be repeated."
)
@click.option("--key", help="An idempotency key: a repeated request with the same key returns the same run.")
@answer_options
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
        say(f"{made.id} is {made.state}; follow it: duecourse workflows watch {made.id}")


def _told(asked: Run, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(asked)
    else:
        say(f"{asked.id} was {asked.state}; {sentence}")


runs.add_command(cancel)
runs.add_command(tail)
