"""`duecourse runs tail`: print runs as they change, one line each."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import click

from duecourse.cli.commands.options import connected, named_options
from duecourse.cli.due_runs import is_ahead
from duecourse.cli.output.runs import print_ahead
from duecourse.cli.output.values import print_json
from duecourse.cli.run_watcher import ListedRuns, RunWatcher, State
from duecourse.cli.terminal import CliError, Command, escaped, form, plain
from duecourse.cli.when import local_zone, moment
from duecourse.client.models import Run

UNSUCCESSFUL: Sequence[State] = ("DEAD", "RETRYING", "CANCELLED", "SKIPPED")


@click.command(cls=Command, example="duecourse runs tail nightly hourly")
@click.argument("job_ids", metavar="[JOB]...", nargs=-1)
@click.option(
    "--every", type=click.FloatRange(0.2, 60), default=2.0, show_default=True, help="Seconds between requests."
)
@click.option("--seconds", type=click.FloatRange(0), help="Stop after this number of seconds.  [default: until Ctrl-C]")
@named_options
def tail(
    job_ids: tuple[str, ...], every: float, seconds: float | None, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Follow the runs of jobs. Without JOB, follow all unsuccessful runs. Press Ctrl-C to stop.

    Existing runs are not shown. With --json each line is a run; with -o yaml, each document.
    """
    begin = datetime.now(UTC)
    followed = ", ".join(job_ids) or "the unsuccessful runs of all jobs"
    with connected(api, sign) as client:
        source = client if job_ids else ListedRuns(client, begin, UNSUCCESSFUL)
        watcher = RunWatcher(source, _trouble, job_ids or ("",))
        watcher.poll()
        if unknown := ", ".join(job_id for job_id in job_ids if job_id not in watcher.job_ids):
            raise CliError(plain(f"there is no job {unknown}; list the jobs with duecourse jobs list"))
        if not as_json:
            click.echo(plain(f"following {followed}; Ctrl-C stops"), err=True)
        ends = None if seconds is None else time.monotonic() + seconds
        with suppress(KeyboardInterrupt):  # Ctrl-C ends the command
            while ends is None or time.monotonic() < ends:
                time.sleep(every)
                _print([change.run for change in watcher.poll()], as_json=as_json)


def _print(runs: Sequence[Run], *, as_json: bool) -> None:
    """Print a line for each run, and one for all that are queued for later."""
    if as_json:
        for run in runs:
            if form() == "json":
                click.echo(escaped(json.dumps(run.document)))
                continue
            if form() == "yaml":
                click.echo("---")
            print_json(run)
        return
    now = datetime.now(UTC)
    ahead = [run for run in runs if is_ahead(run, now)]
    for run in runs:
        if run not in ahead:
            click.echo(_line(run))
    print_ahead(ahead)


def _line(run: Run) -> str:
    """Return the line of a run: `04:00:01+01:00  nightly.20261121T030000Z  RETRYING 1/4  http.503: ...`."""
    said = f"{run.state} {run.attempts}/{run.max_attempts}" + (f" ({run.reason})" if run.reason else "")
    now = moment(datetime.now(UTC), local_zone()).partition(" ")[2]
    return plain(f"{now}  {run.id}  {said}  {run.error or ''}".rstrip())


def _trouble(job_id: str, error: Exception) -> None:
    click.echo(plain(f"{job_id or 'runs'}: {error}"), err=True)
