"""`duecourse run`: one run, by its id."""

from __future__ import annotations

import click

from duecourse_cli.commands.connection import api_options, connected
from duecourse_cli.commands.jobs import json_option
from duecourse_cli.examples import Command, Group
from duecourse_cli.models import Run
from duecourse_cli.output import print_json, print_run
from duecourse_cli.plain import say


@click.group(cls=Group, example="duecourse run show nightly.20261121T030000Z")
def run() -> None:
    """Show, cancel or redrive one run; `duecourse runs JOB` lists a job's runs."""


@run.command(cls=Command, example="duecourse run show nightly.20261121T030000Z --json")
@click.argument("run_id", metavar="RUN")
@api_options
@json_option
def show(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show a run, with its result or the address of a large one."""
    with connected(api, sign) as client:
        found = client.run(run_id)
    if as_json:
        print_json(found.document)
    else:
        print_run(found)


@run.command(cls=Command, example="duecourse run cancel nightly.20261121T030000Z")
@click.argument("run_id", metavar="RUN")
@api_options
@json_option
def cancel(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Cancel a run; a program that works on it learns this at its next heartbeat."""
    with connected(api, sign) as client:
        asked = client.cancel(run_id)
    _told(asked, "its end is asked for", as_json)


@run.command(cls=Command, example="duecourse run redrive nightly.20261121T030000Z")
@click.argument("run_id", metavar="RUN")
@api_options
@json_option
def redrive(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Give a dead run a fresh allowance of attempts."""
    with connected(api, sign) as client:
        asked = client.redrive(run_id)
    _told(asked, "it will be tried again", as_json)


def _told(asked: Run, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(asked.document)
    else:
        say(f"{asked.id} was {asked.state}; {sentence}")
