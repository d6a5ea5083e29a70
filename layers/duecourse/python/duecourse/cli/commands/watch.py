"""`duecourse runs watch`, `workflows watch` and `jobs run --wait`: follow a run or a backfill until it ends."""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import get_args

import click
from rich.console import Console
from rich.live import Live

from duecourse.cli.backfills import check_backfill, follow_backfill, suffix_of
from duecourse.cli.commands.options import connected, named_options
from duecourse.cli.output.documents import WatchedBackfill
from duecourse.cli.output.runs import coming_of, print_run
from duecourse.cli.output.values import print_json
from duecourse.cli.output.workflows import print_workflow_run, workflow_run_text
from duecourse.cli.run_watcher import State
from duecourse.cli.terminal import CliError, Command, InterruptedCliError, WaitTimeoutError, plain, say
from duecourse.cli.when import local_zone, moment, zone_of
from duecourse.client import ApiError, Client
from duecourse.client.models import Job, SingleRun, WorkflowRun

POLL_SECONDS = 1.0
MIN_SECONDS = 2.0
"""The minimum number of seconds between two requests for all runs of a backfill."""

NEWEST = 20
"""The number of runs among which the one that has started last is searched."""

_BEGUN = tuple(state for state in get_args(State) if state not in ("QUEUED", "SKIPPED"))

timeout_option = click.option(
    "--timeout", type=click.FloatRange(0), help="Stop waiting after this number of seconds (exit code 124)."
)


@click.command(cls=Command, example="duecourse runs watch nightly")
@click.argument("name", metavar="RUN|JOB|BACKFILL")
@click.option(
    "--every", type=click.FloatRange(0.2, 60), default=POLL_SECONDS, show_default=True, help="Seconds between requests."
)
@timeout_option
@named_options
def watch(name: str, every: float, timeout: float | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Follow a run until it ends; wait for its start if it is queued. For a job or a workflow, follow its newest run.
    For a backfill (nightly.b3fa85f64), follow all its runs.

    The exit code is 0 if the run succeeded, otherwise 1. Ctrl-C stops the command (exit code 130); the run continues.
    """
    job_id, suffix = name.partition(".")[0], suffix_of(name)
    with connected(api, sign) as client:
        if suffix is not None:
            done = follow_backfill(client, job_id, suffix, max(every, MIN_SECONDS), timeout, quiet=as_json)
            counts = WatchedBackfill(id=name, runs=done.count, ended=done.ended, states=dict(done.states))
            print_json(counts) if as_json else say(str(done))
            check_backfill(done, job_id, suffix, timeout)
            return
        ended = followed(client, name if "." in name else _newest(client, name), every, timeout, quiet=as_json)
        finish(client, ended, timeout, as_json=as_json)


FORECAST_SECONDS = 60
"""How often the forecast of a workflow's run is read. It costs more reads than the states of the steps."""


def followed(
    client: Client, run_id: str, every: float, timeout: float | None, *, quiet: bool
) -> SingleRun | WorkflowRun:
    """Return the run when it has ended or the timeout has expired (both in seconds). Show its progress unless `quiet`:
    the steps of a workflow (on a terminal), or a line for each change. Raises InterruptedCliError after Ctrl-C.
    """
    ends = None if timeout is None else time.monotonic() + timeout
    said: str | None = None
    forecast, forecast_at = None, time.monotonic()
    console = Console(highlight=False, quiet=quiet)
    try:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while True:
                wanted = console.is_terminal and not quiet and time.monotonic() >= forecast_at
                run = _read(client, run_id, forecast=wanted)
                if isinstance(run, WorkflowRun):
                    if run.forecast is not None:
                        forecast, forecast_at = run.forecast, time.monotonic() + FORECAST_SECONDS
                    if console.is_terminal and not run.is_final:
                        shown = workflow_run_text(run, console.width, console.height, forecast)
                        live.update(shown, refresh=True)
                elif (now := _progress(run)) != said and not quiet:
                    say(f"{moment(datetime.now(UTC), local_zone())}  {now}")
                    said = now
                left = every if ends is None else ends - time.monotonic()
                if run.is_final or left <= 0:
                    return run
                time.sleep(min(left, every))
    except KeyboardInterrupt:
        raise InterruptedCliError(plain(f"{run_id} continues; follow it with duecourse runs watch {run_id}")) from None


def finish(client: Client, run: SingleRun | WorkflowRun, timeout: float | None, *, as_json: bool) -> None:
    """Print a run after a wait. Raises WaitTimeoutError for an unfinished run, and CliError for a failed one."""
    run_id = run.run if isinstance(run, WorkflowRun) else run.id
    if as_json:
        print_json(run)
    elif isinstance(run, WorkflowRun):
        print_workflow_run(run)
    else:
        print_run(run, zone=zone_of_job(client, run.job_id), now=datetime.now(UTC))
    if not run.is_final:
        remedy = f"it continues: follow it with duecourse runs watch {run_id}"
        raise WaitTimeoutError(plain(f"{run_id} is {run.state} after {timeout:g} s; {remedy}"))
    if run.state != "SUCCEEDED":
        raise CliError(plain(f"{run_id} is {run.state}{f': {run.error}' if run.error else ''}"))


def _read(client: Client, run_id: str, *, forecast: bool) -> SingleRun | WorkflowRun:
    """Return a run, with the steps of a workflow that has started."""
    run = client.get_run(run_id)
    if run.workflow == run.job_id and run.started_at is not None:
        return run_of(client, run_id, forecast=forecast and not run.is_final)
    return run


def run_of(client: Client, run_id: str, *, forecast: bool = False) -> WorkflowRun:
    """Return a workflow's run by its id."""
    workflow_id, _, instant = run_id.partition(".")
    return client.get_workflow_run(workflow_id, instant, forecast=forecast)


def _progress(run: SingleRun) -> str:
    failed = run.error if run.state == "RETRYING" else None
    return "  ".join(filter(None, [f"{run.state} {run.attempts}/{run.max_attempts}", coming_of(run), failed]))


def _newest(client: Client, job_id: str) -> str:
    """Return the id of the run that has started last; a rerun has an older occurrence. Raises CliError if there is
    none.
    """
    newest = client.list_runs(job_id, limit=NEWEST)
    begun = [run for run in newest.items if run.state in _BEGUN]
    if not begun and newest.next_cursor is not None:  # behind the queued runs of a frequent job
        begun = list(islice(client.list_runs(job_id, state=_BEGUN, limit=NEWEST), NEWEST))
    if not begun:
        remedy = f"start one with duecourse jobs run {job_id}, or watch a new one by its id"
        raise CliError(plain(f"no run of {job_id} has started yet; {remedy}"))
    return max(begun, key=lambda run: run.started_at or run.due).id


def zone_of_job(client: Client, job_id: str) -> tzinfo:
    """Return the time zone of a job, or UTC if the job was deleted."""
    job = job_of(client, job_id)
    return UTC if job is None else zone_of(job.timezone)


def job_of(client: Client, job_id: str) -> Job | None:
    """Return a job, or None if it was deleted."""
    try:
        return client.get_job(job_id)
    except ApiError as error:
        if error.status == 404:
            return None
        raise
