"""`duecourse tenants`: list, suspend, resume, export and erase the tenants of a stage, for its operator."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from duecourse.cli.commands.accounts import operated, stage_option
from duecourse.cli.commands.options import confirm, yes_option
from duecourse.cli.output.documents import Document, MetObjective, ShownTenant, Tenant, Tenants, TenantToErase, utc
from duecourse.cli.terminal import Command, Group, UsageError, outputs, say

if TYPE_CHECKING:
    from duecourse.cli.doctor.stage import Stage
    from duecourse.cli.tenants.place import Place

UNFINISHED = 3
"""The exit code of an erasure that has to be repeated later."""


@click.group(cls=Group, example="duecourse tenants suspend acme --note 'unpaid invoice' --stage prod")
def tenants() -> None:
    """List, suspend, resume, export and erase the tenants of a stage. Requires AWS credentials."""


@tenants.command("list", cls=Command, example="duecourse tenants list --cost --stage prod")
@click.option(
    "--cost", is_flag=True, help="Search the logs for the runs of the last 24 hours, and estimate their cost."
)
@stage_option
@outputs()
def list_tenants(cost: bool, stage: str, as_json: bool) -> None:
    """List all tenants, and how far the objectives of the stage were met in the last 24 hours.

    Shows jobs, paused jobs, use of the quota, runs in progress and the oldest waiting run. Reads the whole jobs table.
    """
    from duecourse.cli.output.table import print_table
    from duecourse.cli.output.values import print_json
    from duecourse.cli.tenants.listing import objectives_of, tenants_of

    with operated(stage) as found:
        rows = tenants_of(found, cost=cost, progress=_progress)
        met = objectives_of(found)
    _clear()
    if as_json:
        shares = [MetObjective(name=each.name, target=each.target, share=each.share) for each in met]
        print_json(Tenants(items=rows, next_cursor=None, objectives=shares))
        return
    columns = ("tenant", "state", "jobs", "paused", "quota used", "running", "waiting", "oldest", "runs/day", "$/day")
    print_table(columns, [_cells(row) for row in rows])
    for each in met:
        share = "no data" if each.share is None else f"{each.share:.3%}, {each.budget_used:.0%} of the budget used"
        say(f"{each.name}: objective {each.target:.1%}, last 24 hours {share}")


def _cells(row: Tenant) -> list[str | None]:
    oldest = None if row.oldest_waiting_seconds is None else f"{row.oldest_waiting_seconds} s"
    numbers = (row.jobs, row.paused, row.quota_used, row.running, row.waiting)
    runs = None if row.runs is None else str(row.runs)
    dollars = None if row.dollars is None else f"{row.dollars:.4f}"
    return [row.tenant, row.state, *map(str, numbers), oldest, runs, dollars]


@tenants.command(cls=Command, example="duecourse tenants show acme --stage prod")
@click.argument("tenant")
@stage_option
@outputs()
def show(tenant: str, stage: str, as_json: bool) -> None:
    """Show whether a tenant is active, suspended or erased."""
    with _tenant(tenant, stage) as place:
        closed = place.closed()
        if closed is None:
            _check_jobs(place)
    found: ShownTenant = {"tenant": tenant, "state": "active"}
    if closed is not None:
        found = {"tenant": tenant, "state": closed.state, "since": utc(closed.since), "note": closed.note}
        if closed.until is not None:
            found["until"] = utc(closed.until)
    _print(found, as_json)


@tenants.command(cls=Command, example="duecourse tenants suspend acme --note 'unpaid invoice' --stage prod")
@click.argument("tenant")
@click.option("--note", metavar="TEXT", help="The reason; it is shown to the tenant's callers.")
@yes_option
@stage_option
@outputs()
def suspend(tenant: str, note: str | None, yes: bool, stage: str, as_json: bool) -> None:
    """Suspend a tenant: its requests are rejected and no run starts.

    Runs in progress continue, and their callbacks are accepted. The command takes a minute. Repeat it if it was
    interrupted.
    """
    from duecourse.cli.tenants.suspending import suspend as act

    with _tenant(tenant, stage) as place:
        _check_jobs(place)
        if not yes:
            confirm(f"Suspend the tenant {tenant} of {place.stage.stack}?")
        report = act(place, by=_caller(place.stage), note=note)
    _print(report, as_json)


@tenants.command(cls=Command, example="duecourse tenants resume acme --stage prod")
@click.argument("tenant")
@stage_option
@outputs()
def resume(tenant: str, stage: str, as_json: bool) -> None:
    """Resume a suspended tenant.

    Each job's policy handles the occurrences that it has missed. Runs that were waiting start within 15 minutes.
    """
    from duecourse.cli.tenants.suspending import resume as act

    with _tenant(tenant, stage) as place:
        report = act(place)
    _print(report, as_json)


@tenants.command(cls=Command, example="duecourse tenants export acme --to acme-export --stage prod")
@click.argument("tenant")
@click.option("--to", "folder", required=True, metavar="FOLDER", type=click.Path(path_type=Path), help="A new folder.")
@stage_option
@outputs()
def export(tenant: str, folder: Path, stage: str, as_json: bool) -> None:
    """Export all data of a tenant to files.

    Jobs, workflows, runs, changes and archived runs are JSON documents, one per line; large results and the logs of
    runs are files. Secrets are listed without their values. Suspend the tenant first, so that nothing changes during
    the export.
    """
    from duecourse.cli.tenants.exporting import export as act

    with _tenant(tenant, stage) as place:
        _check_jobs(place)
        report = act(place, folder)
    _print(report, as_json, secrets=", ".join(report["secrets"]) or None)


@tenants.command(cls=Command, example="duecourse tenants erase acme --confirm acme --stage prod")
@click.argument("tenant")
@click.option(
    "--confirm",
    "confirmed",
    metavar="TENANT",
    help="The tenant's id, to confirm. Without this option, nothing is changed.",
)
@click.option(
    "--no-wait", is_flag=True, help=f"If the last pass must begin later, do not wait: end with exit code {UNFINISHED}."
)
@stage_option
@outputs()
def erase(tenant: str, confirmed: str | None, no_wait: bool, stage: str, as_json: bool) -> None:
    """Erase all data of a tenant. This cannot be undone.

    Without --confirm, the command counts what would be erased. The last pass begins when no worker can write any
    longer: 20 minutes after the first pass, or after the tenant was suspended. Repeat the command if it was
    interrupted. The tenant stays closed for 15 more days, because messages in the queues may refer to its jobs.
    """
    from duecourse.cli.tenants.erasing import counted, left
    from duecourse.cli.tenants.erasing import erase as act

    if confirmed is not None and confirmed != tenant:
        raise UsageError(f"--confirm must repeat the tenant, {tenant}; nothing was changed")
    with _tenant(tenant, stage) as place:
        if confirmed is None:
            found, remaining = dict(counted(place)), left(place)
            document = TenantToErase(tenant=tenant, state="counted", would_erase=found, left=remaining)
            _print(document, as_json, left="; ".join(remaining))
            if not as_json:
                say(f"nothing was changed; erase with: duecourse tenants erase {tenant} --confirm {tenant}")
            return
        report = act(place, by=_caller(place.stage), wait=not no_wait)
    _print(report, as_json, left="; ".join(report["left"]))
    if report["state"] != "erased":
        raise SystemExit(UNFINISHED)


def _print(found: Document, as_json: bool, **texts: str | None) -> None:
    """Print a document; without JSON, with these texts in place of lists."""
    from duecourse.cli.output.values import print_fields, print_json

    print_json(found) if as_json else print_fields({**found, **texts})


def _caller(stage: Stage) -> str:
    """Return the ARN of the operator, for the record."""
    return str(stage.clients("sts").get_caller_identity()["Arn"])


def _check_jobs(place: Place) -> None:
    """Print a warning if the tenant has no jobs: its id may be misspelled."""
    if not any(place.job_ids()):
        click.echo(f"the tenant {place.tenant} has no jobs; check its id with duecourse tenants list", err=True)


@contextmanager
def _tenant(tenant: str, stage: str) -> Iterator[Place]:
    """Yield a tenant of a stage, and show progress on a terminal."""
    from duecourse.cli.tenants.place import placed

    with operated(stage) as found:
        yield placed(found, tenant, progress=_progress)
    _clear()


def _clear() -> None:
    """Remove the line of progress."""
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)


BAR = 30


def _progress(step: str, done: int, of: int | None) -> None:
    """Show one line that is rewritten: `items of runs [=====     ] 1,200 of 2,400`."""
    if not sys.stderr.isatty():
        return
    share = min(done / of, 1.0) if of else 0.0
    bar = f"[{'=' * int(BAR * share):<{BAR}}] " if of else ""
    number = f"{done:,} of {max(of, done):,}" if of else f"{done:,}"
    click.echo(f"\r\033[K{step} {bar}{number}", nl=False, err=True)
