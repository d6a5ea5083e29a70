"""`duecourse jobs`: create, get, list and delete."""

from __future__ import annotations

import json
from typing import IO, Any

import click

from duecourse_cli.commands.connection import api_options, connected
from duecourse_cli.errors import UsageError
from duecourse_cli.examples import Command, Group
from duecourse_cli.output import print_jobs, print_json

CREATE_EXAMPLE = """\
echo '{"id": "hello", "schedule": "rate(10 seconds)",
       "target": {"type": "http", "url": "https://example.com/hook"}}' | duecourse jobs create"""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@click.group(cls=Group, example='duecourse jobs list --api "$DUECOURSE_API"')
def jobs() -> None:
    """Create, show, list and delete jobs."""


def _read(document: IO[str]) -> dict[str, Any]:
    try:
        job = json.load(document)
    except ValueError as error:
        raise UsageError(f"{document.name}: this is not JSON ({error})") from error
    if not isinstance(job, dict):
        raise UsageError(f"{document.name}: a job is a JSON object")
    return job


@jobs.command(cls=Command, example=CREATE_EXAMPLE)
@click.argument("document", type=click.File("r", encoding="utf-8"), default="-")
@api_options
@json_option
def create(document: IO[str], api: str | None, sign: bool | None, as_json: bool) -> None:
    """Create a job from a JSON file, or from standard input."""
    job = _read(document)
    with connected(api, sign) as client:
        created = client.create_job(job)
    if as_json:
        print_json(created.document)
    else:
        print_jobs([created])


@jobs.command(cls=Command, example="duecourse jobs get nightly --json")
@click.argument("job_id", metavar="JOB")
@api_options
@json_option
def get(job_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show one job."""
    with connected(api, sign) as client:
        job = client.get_job(job_id)
    if as_json:
        print_json(job.document)
    else:
        print_jobs([job])


@jobs.command("list", cls=Command, example="duecourse jobs list --json")
@api_options
@json_option
def list_jobs(api: str | None, sign: bool | None, as_json: bool) -> None:
    """List all jobs."""
    with connected(api, sign) as client:
        found = list(client.all_jobs())
    if as_json:
        print_json([job.document for job in found])
    else:
        print_jobs(found)


@jobs.command(cls=Command, example="duecourse jobs delete nightly")
@click.argument("job_id", metavar="JOB")
@api_options
def delete(job_id: str, api: str | None, sign: bool | None) -> None:
    """Delete a job; its runs that have not started will not."""
    with connected(api, sign) as client:
        client.delete_job(job_id)
    click.echo(f"{job_id} is deleted")
