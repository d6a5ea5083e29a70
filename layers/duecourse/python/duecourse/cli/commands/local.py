"""`duecourse local` and `duecourse demo`: the whole system on this machine, with its data kept or for two minutes."""

from __future__ import annotations

from pathlib import Path

import click

from duecourse.cli.terminal import CliError, Command, Group


@click.group(cls=Group, invoke_without_command=True, example="duecourse local --port 4599")
@click.option("--port", type=click.IntRange(1024, 65535), help="Port of the emulator; a free one if left out.")
@click.option("--fresh", is_flag=True, help="Forget the kept data first.")
@click.pass_context
def local(context: click.Context, port: int | None, fresh: bool) -> None:
    """Deploy the stack to an emulator on this machine and stay until Ctrl-C.

    The data stay in .duecourse/local and are there again at the next start.
    """
    if context.invoked_subcommand is not None:
        return
    from duecourse.cli.commands.guard import guarded
    from duecourse.cli.local.demo.console import Screen
    from duecourse.cli.local.local import run_local
    from duecourse.cli.local.project import find_project

    with guarded(stopping_is_normal=True):
        run_local(find_project(Path.cwd()), Screen(), port=port, fresh=fresh)


@local.command(cls=Command, example="duecourse local logs execute --lines 50")
@click.argument("function", default="")
@click.option("--lines", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many lines.")
def logs(function: str, lines: int) -> None:
    """Print what the functions of the running local stack have logged; FUNCTION is a part of their name."""
    from duecourse.cli.local.emulator.aws import logged
    from duecourse.cli.local.local import running_endpoint
    from duecourse.cli.terminal import say

    if (endpoint := running_endpoint()) is None:
        raise CliError("no local stack is running here: start it with `duecourse local`")
    for line in logged(endpoint, function, lines):
        say(line)


@click.command(cls=Command, example="duecourse demo --seconds 120")
@click.option(
    "--seconds", type=click.IntRange(75, 3600), default=90, show_default=True, help="How long the jobs are watched."
)
def demo(seconds: int) -> None:
    """Deploy the stack to an emulator on this machine, post four jobs and show each run.

    Ends after about two minutes, with status 0 only if every run was seen in time. Leaves nothing behind.
    """
    from duecourse.cli.commands.guard import guarded
    from duecourse.cli.local.demo.console import Screen
    from duecourse.cli.local.demo.demo import run_demo
    from duecourse.cli.local.project import find_project

    with guarded():
        passed = run_demo(find_project(Path.cwd()), Screen(), seconds)
    raise SystemExit(0 if passed else 1)
