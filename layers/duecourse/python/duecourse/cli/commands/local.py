"""`duecourse local` and `duecourse demo`: the whole system on this machine, with persistent data or for two minutes."""

from __future__ import annotations

from pathlib import Path

import click

from duecourse.cli.terminal import CliError, Command, Group


@click.group(cls=Group, invoke_without_command=True, example="duecourse local --port 4599")
@click.option("--port", type=click.IntRange(1024, 65535), help="Port of the emulator.  [default: a free port]")
@click.option("--fresh", is_flag=True, help="Delete the stored data first.")
@click.option(
    "--auth", is_flag=True, help="Require tokens (issued by the local stack), and keep its data in a separate folder."
)
@click.pass_context
def local(context: click.Context, port: int | None, fresh: bool, auth: bool) -> None:
    """Deploy the stack to an emulator on this machine and run it until Ctrl-C.

    The data is kept in .duecourse/local and is available at the next start.
    """
    if context.invoked_subcommand is not None:
        return
    from duecourse.cli.commands.guard import guarded
    from duecourse.cli.local.demo.console import Screen
    from duecourse.cli.local.local import run_local
    from duecourse.cli.local.project import find_project

    with guarded(stopping_is_normal=True):
        run_local(find_project(Path.cwd()), Screen(), port=port, fresh=fresh, auth=auth)


@local.command(cls=Command, example="duecourse local logs execute --lines 50")
@click.argument("function", default="")
@click.option("--lines", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The number of lines.")
def logs(function: str, lines: int) -> None:
    """Print the logs of the functions of the running local stack; FUNCTION is a part of the function name."""
    from duecourse.cli.local.emulator.aws import logged
    from duecourse.cli.local.local import running_endpoint
    from duecourse.cli.terminal import say

    if (endpoint := running_endpoint()) is None:
        raise CliError("no local stack is running here; start it with `duecourse local`")
    for line in logged(endpoint, function, lines):
        say(line)


@local.command(cls=Command, example='duecourse local token acme --scope "jobs:read:tag=billing"')
@click.argument("tenant", metavar="TENANT")
@click.option("--scope", default="jobs:read jobs:write ops", show_default=True, help="Scopes, separated by spaces.")
def token(tenant: str, scope: str) -> None:
    """Print a token of a tenant, for a local stack with authentication (`duecourse local --auth`)."""
    from duecourse.cli.local.local import AUTH_FOLDER, issuer_of
    from duecourse.cli.local.project import find_root
    from duecourse.cli.local.settings import Settings

    folder = find_root(Path.cwd()) / AUTH_FOLDER
    if (settings := Settings.read(folder)) is None:
        raise CliError(
            "no local stack with authentication was started in this project; start one with `duecourse local --auth`"
        )
    click.echo(issuer_of(folder, settings).token(tenant, scope))


@click.command(cls=Command, example="duecourse demo --seconds 120")
@click.option(
    "--seconds",
    type=click.IntRange(75, 3600),
    default=90,
    show_default=True,
    help="The time for which the jobs are observed.",
)
def demo(seconds: int) -> None:
    """Deploy the stack to an emulator on this machine, post four jobs and show each run.

    Ends after about two minutes, with exit code 0 only if every run was observed in time. All data is removed.
    """
    from duecourse.cli.commands.guard import guarded
    from duecourse.cli.local.demo.console import Screen
    from duecourse.cli.local.demo.demo import run_demo
    from duecourse.cli.local.project import find_project

    with guarded():
        passed = run_demo(find_project(Path.cwd()), Screen(), seconds)
    raise SystemExit(0 if passed else 1)
