"""The `duecourse` command. Subcommands are imported when they are called, so that each starts quickly."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from duecourse.cli.terminal import Group, InterruptedCliError

COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "accounts": ("duecourse.cli.commands.accounts", "accounts", "Create, list and delete service accounts."),
    "alarms": ("duecourse.cli.commands.alarms", "alarms", "Test whether an alarm reaches a person."),
    "apply": ("duecourse.cli.commands.apply", "apply", "Create, change and remove jobs from files."),
    "calendars": ("duecourse.cli.commands.calendars", "calendars", "Write and import calendars of excluded days."),
    "completion": ("duecourse.cli.commands.completion", "completion", "Print the completion script for a shell."),
    "dead-letters": ("duecourse.cli.commands.dead_letters", "dead_letters", "List, redrive and discard dead runs."),
    "demo": ("duecourse.cli.commands.local", "demo", "Run a two-minute demonstration on this machine."),
    "deploy": ("duecourse.cli.commands.deploy", "deploy", "Deploy the stage of a release without a checkout."),
    "doctor": ("duecourse.cli.commands.doctor", "doctor", "Check the health of a stage in detail."),
    "explain": ("duecourse.cli.commands.explain", "explain", "Explain why a job ran or did not run at a time."),
    "failover": ("duecourse.cli.commands.failover", "failover", "Let the other region of a stage work."),
    "fields": ("duecourse.cli.commands.fields", "fields", "Describe the fields of jobs and workflows."),
    "health": ("duecourse.cli.commands.stage", "health", "Show whether the stage responds and its ticks run."),
    "import": (
        "duecourse.cli.commands.import_",
        "import_",
        "Import jobs from a crontab or another scheduler.",
    ),
    "jobs": ("duecourse.cli.commands.jobs", "jobs", "Create, show, list, run, pause and delete jobs."),
    "keys": ("duecourse.cli.commands.keys", "keys", "Create and revoke API keys and trigger URLs."),
    "limits": ("duecourse.cli.commands.limits", "limits", "Show and set the limits of concurrency keys."),
    "local": ("duecourse.cli.commands.local", "local", "Run the complete system on this machine until Ctrl-C."),
    "login": ("duecourse.cli.commands.login", "login", "Log in at the issuer of a profile."),
    "logout": ("duecourse.cli.commands.login", "logout", "Delete the token of a profile."),
    "mcp": ("duecourse.cli.commands.mcp", "mcp", "Serve tools for an assistant (Model Context Protocol)."),
    "next": (
        "duecourse.cli.commands.next",
        "next_command",
        "Show the next occurrences of a schedule; does not use AWS.",
    ),
    "operations": (
        "duecourse.cli.commands.operations",
        "operations",
        "Follow and cancel redrives, discards and cancellations of many runs.",
    ),
    "profile": ("duecourse.cli.commands.profile", "profile", "List, add, choose and remove profiles."),
    "rehearse": (
        "duecourse.cli.commands.rehearse",
        "rehearse_command",
        "Run a job in memory over days with outages.",
    ),
    "restore-table": (
        "duecourse.cli.commands.restore_table",
        "restore_table",
        "Copy a restored table to the table of a stage.",
    ),
    "runs": ("duecourse.cli.commands.runs", "runs", "List, show, follow, cancel, redrive and discard runs."),
    "secrets": ("duecourse.cli.commands.secrets", "secrets", "Write, list and delete the secrets of jobs."),
    "shadow": ("duecourse.cli.commands.shadow", "shadow", "Compare jobs with another scheduler before the switch."),
    "simulate": ("duecourse.cli.commands.simulate", "simulate", "Simulate a stage, and recommend settings."),
    "stats": ("duecourse.cli.commands.stage", "stats", "Show counts, limits and load of the stage."),
    "tenants": ("duecourse.cli.commands.tenants", "tenants", "List, suspend, export and erase tenants."),
    "tzdata-report": (
        "duecourse.cli.commands.tzdata_report",
        "tzdata_report",
        "List the jobs that new time zone data change.",
    ),
    "upcoming": ("duecourse.cli.commands.upcoming", "upcoming", "Show the number of upcoming runs per hour."),
    "work": ("duecourse.cli.commands.work", "work", "Run jobs' shell commands on this machine."),
    "workers": ("duecourse.cli.commands.workers", "workers", "List the pull workers and their last reports."),
    "workflows": ("duecourse.cli.commands.workflows", "workflows", "Create, show, watch and delete workflows."),
}


SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Jobs": (
        *("jobs", "workflows", "apply", "import", "shadow", "calendars", "limits", "fields", "next", "upcoming"),
        "rehearse",
    ),
    "Runs": ("runs", "dead-letters", "operations", "explain", "work", "workers"),
    "Access": ("login", "logout", "profile", "accounts", "keys", "secrets"),
    "Stage": (
        *("deploy", "health", "stats", "doctor", "alarms", "simulate", "tenants", "restore-table", "failover"),
        "tzdata-report",
    ),
    "This machine": ("demo", "local", "mcp", "completion"),
}
"""The commands in the order of the help."""


class LazyGroup(Group):
    """A group that imports only the called command."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Raises InterruptedCliError after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedCliError("interrupted") from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands without importing them."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help without importing them."""
        del ctx
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name][2]) for name in names])


@click.group(
    "duecourse", cls=LazyGroup, example="duecourse demo", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="duecourse", message="duecourse %(version)s")
def main() -> None:
    """Duecourse: a job scheduler on AWS serverless services.

    The API is the one of --api or DUECOURSE_API (the output ApiUrl of the stack), of a profile (DUECOURSE_PROFILE, or
    the default profile), or else the local stack that runs here. Requests have a token (DUECOURSE_TOKEN, which is safer
    than --token) or an API key (DUECOURSE_API_KEY), or are signed with AWS credentials if the address is API Gateway's
    own.
    """
