"""`duecourse demo`: the whole system at work on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from duecourse_cli.examples import Command


@click.command(cls=Command, example="duecourse demo --seconds 120")
@click.option(
    "--seconds", type=click.IntRange(75, 3600), default=90, show_default=True, help="How long the jobs are watched."
)
def demo(seconds: int) -> None:
    """Deploy the stack to an emulator on this machine, post four jobs and show each run.

    Ends after about two minutes, with status 0 only if every run was seen in time. Leaves nothing behind.
    """
    from duecourse_cli.commands.guard import guarded
    from duecourse_cli.local.demo.console import Screen
    from duecourse_cli.local.demo.demo import run_demo
    from duecourse_cli.local.project import find_project

    with guarded():
        passed = run_demo(find_project(Path.cwd()), Screen(), seconds)
    raise SystemExit(0 if passed else 1)
